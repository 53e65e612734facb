//! The hidden subcommand: our own binary, between the start of a process and the start of the command.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, ioctl_tiocsctty, set_parent_process_death_signal, setsid};

use super::first::first;
use super::spec::{Role, Spec};
use super::stat::Stat;
use super::supervise::supervise;
use super::threshold::Held;
use super::trial::trial;
use super::{Wall, cgroup, environment, file_rules, limits, privileges, syscalls};

/// The word that makes our binary a launcher. It stands before all other arguments.
pub const LAUNCH: &str = "__launch";

/// What the launcher ends with when it could not do its part; the command was not started then.
const NOT_BUILT: u8 = 125;

/// The number of the first process in a table of processes.
const FIRST: i32 = 1;
/// Some ten seconds: it has a handful of calls to make until then, on a machine that may be busy.
const LOOKS: u32 = 50_000;
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// Plays the part that the words name. They are what follows [`LAUNCH`].
pub fn launcher_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(role) = args.next().and_then(|word| Role::parse(word.to_str()?)) else {
        return failed("this subcommand is for tollgate itself");
    };
    let told = match role {
        Role::Trial => return trial(args),
        Role::Tether => return tether(args).map_or_else(|why| failed(&why), ExitCode::from),
        Role::Supervise | Role::First | Role::Inner => Spec::parse(args),
    };
    let outcome = told.and_then(|(spec, argv)| match role {
        Role::Supervise => supervise(&spec, &argv),
        Role::First => first(&spec, &argv),
        Role::Inner | Role::Trial | Role::Tether => {
            let bell = spec.bell.map(Held::take).transpose().map_err(|error| format!("bell: {error}"))?;
            close_inherited(bell.as_ref()).map_err(|error| format!("inherited files: {error}"))?;
            if spec.wall == Wall::Bubblewrap {
                first_is_at_its_post()?;
            }
            close_in(&spec)?;
            bell.map_or(Ok(()), Held::ring).map_err(|error| format!("bell: {error}"))?;
            Ok(become_command(&spec, &argv))
        }
    });
    outcome.map_or_else(|why| failed(&why), ExitCode::from)
}

/// Becomes the program that follows, tied to the process that asked for it: its number, the control group to join or
/// nothing, then the words.
///
/// Bubblewrap ties itself, but only a moment after it was started. Whoever is killed in that moment would leave it
/// running; this tie is made first, survives the change of programs, and looks whether the moment has passed already.
#[allow(clippy::disallowed_methods, reason = "the environment is the one that was built")]
fn tether(mut args: impl Iterator<Item = OsString>) -> Result<u8, String> {
    let parent = args.next().and_then(|word| word.to_str()?.parse().ok()).ok_or("whose end is meant?")?;
    let group = args.next().ok_or("in which group?")?;
    let program = args.next().ok_or("there is no program")?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    if getppid().map(Pid::as_raw_pid) != Some(parent) {
        return Err("whoever asked for it is gone".to_owned());
    }
    if !group.is_empty() {
        cgroup::join(Path::new(&group)).map_err(|error| format!("control group: {error}"))?;
    }
    Err(Command::new(program).args(args).exec().to_string())
}

/// Closes what is open beyond input, output and error. Whoever started tollgate may have left a folder or a
/// socket open for it, and what is open already is looked at by no wall.
///
/// Nothing of ours is open yet, except the bell, and the list that is read here, which closes when it has been read.
fn close_inherited(bell: Option<&Held>) -> std::io::Result<()> {
    let names: Vec<OsString> = std::fs::read_dir("/proc/self/fd")?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    let numbers = names.iter().filter_map(|name| name.to_str()?.parse::<i32>().ok());
    let kept = bell.map(Held::number);
    for number in numbers.filter(|number| *number > 2 && Some(*number) != kept) {
        let _the_list = nix::unistd::close(number);
    }
    Ok(())
}

/// Waits until the first process behind bubblewrap would end with bubblewrap, and everyone else with it.
///
/// It ties itself to bubblewrap only after it has started us, and a tollgate that is killed before that would leave the
/// command running for ever. From then on it sleeps until a child of it ends; before, it has nothing to wait for. If
/// tollgate was gone by then already, the bell finds out, which is rung later and heard by nobody.
fn first_is_at_its_post() -> Result<(), String> {
    for _ in 0..LOOKS {
        if Stat::of(FIRST).is_some_and(|first| first.asleep) {
            return Ok(());
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Err("the first process behind bubblewrap does not come to rest".to_owned())
}

/// Takes away everything that the command must not have.
fn close_in(spec: &Spec) -> Result<(), String> {
    let failed = |what: &str, why: String| format!("{what}: {why}");
    if spec.wall != Wall::Open {
        privileges::drop_all().map_err(|error| failed("privileges", error.to_string()))?;
    }
    terminal(spec).map_err(|error| failed("terminal", error.to_string()))?;
    // Behind bubblewrap the process table ends with the wall; elsewhere this is for a supervisor that is killed.
    if spec.wall != Wall::Bubblewrap {
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|error| failed("end", error.to_string()))?;
    }
    limits::apply(&spec.reach.limits, spec.tasks).map_err(|error| failed("limits", error.to_string()))?;
    file_rules::apply(spec).map_err(|why| failed("landlock", why))?;
    syscalls::apply(spec).map_err(|why| failed("seccomp", why))
}

/// A session of its own: without a terminal there is none to type into, with one it is the command's.
fn terminal(spec: &Spec) -> rustix::io::Result<()> {
    setsid()?;
    if spec.tty { ioctl_tiocsctty(std::io::stdin()) } else { Ok(()) }
}

/// Only comes back when the command could not be started.
#[allow(clippy::disallowed_methods, reason = "the environment is built, and the wall sees to the end")]
fn become_command(spec: &Spec, argv: &[OsString]) -> u8 {
    let Some((program, arguments)) = argv.split_first() else { return NOT_BUILT };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment::unpacked(std::env::vars_os()));
    if let Some(private) = &spec.private {
        command.env("HOME", &private.home).env("TMPDIR", &private.temporary);
    }
    let error = command.exec();
    complain(&format!("`{}` cannot be started: {error}", program.to_string_lossy()));
    // As a shell says it, so that a caller needs to know one convention only.
    if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
}

fn failed(why: &str) -> ExitCode {
    complain(&format!("the sandbox was not built: {why}"));
    ExitCode::from(NOT_BUILT)
}

/// Standard error is the command's by now, and the only place where someone looks.
pub(super) fn complain(what: &str) {
    // In one piece: whoever reads along sees all of it or nothing.
    let _unread = std::io::stderr().write_all(format!("tollgate: {what}\n").as_bytes());
}
