//! The hidden subcommand: our own binary, between the start of a process and the start of the command.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use super::spec::{Role, Spec};
use super::{environment, limits};

/// The word that makes our binary a launcher. It stands before all other arguments.
pub const LAUNCH: &str = "__launch";

/// What the launcher ends with when it could not do its part; the command was not started then.
const NOT_BUILT: u8 = 125;

/// Plays the part that the words name. They are what follows [`LAUNCH`].
pub fn launcher_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let role = args.next().and_then(|word| Role::parse(word.to_str()?));
    let (role, (spec, argv)) = match (role, Spec::parse(args)) {
        (Some(role), Ok(told)) => (role, told),
        (None, _) => return failed("this subcommand is for tollgate itself"),
        (Some(_), Err(why)) => return failed(&why),
    };
    match role {
        Role::Supervise | Role::Inner => become_command(&spec, &argv),
    }
}

/// Only comes back when the command could not be started.
#[allow(clippy::disallowed_methods, reason = "this is the end of the road that the reason asks for")]
fn become_command(spec: &Spec, argv: &[OsString]) -> ExitCode {
    if let Err(error) = limits::apply(&spec.reach.limits) {
        return failed(&format!("the limits cannot be set: {error}"));
    }
    let Some((program, arguments)) = argv.split_first() else { return failed("there is no command") };
    let env = environment::unpacked(std::env::vars_os());
    let error = Command::new(program).args(arguments).env_clear().envs(env).exec();
    complain(&format!("`{}` cannot be started: {error}", program.to_string_lossy()));
    // As a shell says it, so that a caller needs to know one convention only.
    ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 })
}

fn failed(why: &str) -> ExitCode {
    complain(&format!("the sandbox was not built: {why}"));
    ExitCode::from(NOT_BUILT)
}

/// Standard error is the command's by now, and the only place where someone looks.
fn complain(what: &str) {
    let _unread = writeln!(std::io::stderr(), "tollgate: {what}");
}
