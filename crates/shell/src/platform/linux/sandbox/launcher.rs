//! The hidden subcommand `__launch`: our own binary between the start of a process and the start of the command.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, ioctl_tiocsctty, set_parent_process_death_signal, setsid};

use super::launcher_spec::{LauncherRole, LauncherSpec};
use super::namespace_init::run_namespace_init;
use super::probe_command::run_probe_command;
use super::start_signal::InheritedNotifier;
use super::supervisor_process::supervise;
use super::{SandboxKind, capabilities, control_group, environment, landlock_rules, limits, seccomp};
use crate::platform::find_process;

/// The first argument that turns our binary into a launcher.
pub const LAUNCH: &str = "__launch";

/// Exit code if the sandbox could not be built. The command was not started then.
const NOT_BUILT: u8 = 125;

/// Id of the first process in a PID namespace.
const FIRST: i32 = 1;
/// About ten seconds. The process has a handful of calls to make until then, on a machine that may be busy.
const LOOKS: u32 = 50_000;
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// Plays the role that the arguments after [`LAUNCH`] name.
pub fn launcher_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(role) = args.next().and_then(|word| LauncherRole::parse(word.to_str()?)) else {
        return failed("this subcommand is for tollgate itself");
    };
    let spec = match role {
        LauncherRole::ProbeCommand => return run_probe_command(args),
        LauncherRole::Tether => return run_tethered(args).map_or_else(|why| failed(&why), ExitCode::from),
        LauncherRole::Supervise | LauncherRole::NamespaceInit | LauncherRole::Inner => {
            LauncherSpec::parse(args)
        }
    };
    let outcome = spec.and_then(|(spec, argv)| match role {
        LauncherRole::Supervise => supervise(&spec, &argv),
        LauncherRole::NamespaceInit => run_namespace_init(&spec, &argv),
        LauncherRole::Inner | LauncherRole::ProbeCommand | LauncherRole::Tether => {
            let notifier = spec
                .start_notifier
                .map(InheritedNotifier::take)
                .transpose()
                .map_err(|error| format!("start notifier: {error}"))?;
            close_inherited(notifier.as_ref()).map_err(|error| format!("inherited files: {error}"))?;
            if spec.kind == SandboxKind::Bubblewrap {
                wait_for_namespace_init()?;
            }
            apply_restrictions(&spec)?;
            notifier
                .map_or(Ok(()), InheritedNotifier::notify)
                .map_err(|error| format!("start notifier: {error}"))?;
            Ok(exec_command(&spec, &argv))
        }
    });
    outcome.map_or_else(|why| failed(&why), ExitCode::from)
}

/// Becomes another program, tied to the life of the process that asked for it. Arguments: the id of that process, the
/// control group to join or an empty word, the program and its arguments.
///
/// Bubblewrap ties itself to its parent, but only a moment after its start. If the parent is killed in that moment,
/// bubblewrap keeps running. This tie is made before, survives `exec`, and checks whether the parent is gone already.
#[allow(clippy::disallowed_methods, reason = "the environment is the one that was built")]
fn run_tethered(mut args: impl Iterator<Item = OsString>) -> Result<u8, String> {
    let parent =
        args.next().and_then(|word| word.to_str()?.parse().ok()).ok_or("the parent process is missing")?;
    let group = args.next().ok_or("the control group is missing")?;
    let program = args.next().ok_or("there is no program")?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    if getppid().map(Pid::as_raw_pid) != Some(parent) {
        return Err("the parent process is gone".to_owned());
    }
    if !group.is_empty() {
        control_group::join(Path::new(&group)).map_err(|error| format!("control group: {error}"))?;
    }
    Err(Command::new(program).args(args).exec().to_string())
}

/// Closes all descriptors except the standard streams. The process that started tollgate may have left a folder or a
/// socket open, and an open descriptor is not checked by any sandbox.
///
/// We have opened nothing so far except the start notifier, and the directory that is read here, which is closed after
/// it was read.
fn close_inherited(notifier: Option<&InheritedNotifier>) -> std::io::Result<()> {
    let names: Vec<OsString> = std::fs::read_dir("/proc/self/fd")?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    let numbers = names.iter().filter_map(|name| name.to_str()?.parse::<i32>().ok());
    let kept = notifier.map(InheritedNotifier::number);
    for number in numbers.filter(|number| *number > 2 && Some(*number) != kept) {
        let _the_list = nix::unistd::close(number);
    }
    Ok(())
}

/// Waits until the init process of bubblewrap's PID namespace is tied to bubblewrap.
///
/// It ties itself only after it has started us, and if tollgate were killed before that, the command would run for
/// ever. From then on it sleeps until a child ends; before, it does not sleep. If tollgate is gone by then already, the
/// start notifier fails later, because its pipe has no reader.
fn wait_for_namespace_init() -> Result<(), String> {
    for _ in 0..LOOKS {
        if find_process(FIRST).is_some_and(|first| first.asleep) {
            return Ok(());
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Err("the first process behind bubblewrap does not come to rest".to_owned())
}

/// Applies all restrictions of the command.
fn apply_restrictions(spec: &LauncherSpec) -> Result<(), String> {
    let failed = |what: &str, why: String| format!("{what}: {why}");
    if spec.kind != SandboxKind::Unsandboxed {
        capabilities::drop_all().map_err(|error| failed("privileges", error.to_string()))?;
    }
    terminal(spec).map_err(|error| failed("terminal", error.to_string()))?;
    // In bubblewrap the PID namespace ends with the sandbox. Elsewhere this covers a supervisor that is killed.
    if spec.kind != SandboxKind::Bubblewrap {
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|error| failed("end", error.to_string()))?;
    }
    limits::apply(&spec.profile.limits, spec.tasks).map_err(|error| failed("limits", error.to_string()))?;
    landlock_rules::apply(spec).map_err(|why| failed("landlock", why))?;
    seccomp::apply(spec).map_err(|why| failed("seccomp", why))
}

/// Starts a session. Without a terminal the session has none to type into; with one it becomes the command's.
fn terminal(spec: &LauncherSpec) -> rustix::io::Result<()> {
    setsid()?;
    if spec.tty { ioctl_tiocsctty(std::io::stdin()) } else { Ok(()) }
}

/// Returns only if the command could not be started.
#[allow(clippy::disallowed_methods, reason = "the environment is built, and the sandbox ends the process")]
fn exec_command(spec: &LauncherSpec, argv: &[OsString]) -> u8 {
    let Some((program, arguments)) = argv.split_first() else { return NOT_BUILT };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment::unpack_environment(std::env::vars_os()));
    if let Some(private) = &spec.private {
        command.env("HOME", &private.home).env("TMPDIR", &private.temporary);
    }
    let error = command.exec();
    print_error(&format!("`{}` cannot be started: {error}", program.to_string_lossy()));
    // The exit codes of a shell, so that callers need to know one convention only.
    if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
}

fn failed(why: &str) -> ExitCode {
    print_error(&format!("the sandbox was not built: {why}"));
    ExitCode::from(NOT_BUILT)
}

/// Standard error belongs to the command by now, and is the only place for a message.
pub(super) fn print_error(what: &str) {
    // One write, so that a reader sees the whole line or nothing.
    let _unread = std::io::stderr().write_all(format!("tollgate: {what}\n").as_bytes());
}
