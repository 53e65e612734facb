//! The one that stays with a command where no process table of its own ends everything with it.
//!
//! It is handed the orphans of the command, ends whatever is left when the command ends, and ends everything
//! when it is told to, or when the one that asked for the command is gone.

use std::ffi::OsString;
use std::os::unix::process::parent_id;
use std::process::Command;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, wait, waitpid,
};
use tokio::signal::unix::{SignalKind, signal};

use super::first::begins_table;
use super::launcher::complain;
use super::population::Population;
use super::spec::{Role, Spec};
use super::{Wall, cgroup, descendants};

/// How often processes are counted where the kernel does not hold root to a number of them.
const COUNTING: Duration = Duration::from_millis(50);

/// Runs the command to its end. Gives the code to end with.
pub(super) fn supervise(spec: &Spec, argv: &[OsString]) -> Result<u8, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(watch(spec, argv))
}

/// Why the watch is over.
enum End {
    Command(WaitStatus),
    Told(Signal),
    TooMany,
}

async fn watch(spec: &Spec, argv: &[OsString]) -> Result<u8, String> {
    let told = |kind| signal(kind).map_err(|error| error.to_string());
    let mut terminated = told(SignalKind::terminate())?;
    let mut interrupted = told(SignalKind::interrupt())?;
    let mut hung_up = told(SignalKind::hangup())?;
    let mut child_changed = told(SignalKind::child())?;
    bind(spec).map_err(|error| error.to_string())?;
    if let Some(group) = &spec.group {
        cgroup::join(group).map_err(|error| format!("control group: {error}"))?;
    }
    let table = begins_table(spec);
    let command = start(spec, argv, if table { Role::First } else { Role::Inner })?;
    // Behind bubblewrap the wall ends everything; a signal is for the command, which may want to tidy up.
    let heeds = spec.wall != Wall::Bubblewrap;
    let mut population = Population::new(spec);
    let mut count = tokio::time::interval_at(tokio::time::Instant::now() + COUNTING, COUNTING);
    let end = loop {
        tokio::select! {
            biased;
            _ = terminated.recv(), if heeds => break End::Told(Signal::TERM),
            _ = interrupted.recv(), if heeds => break End::Told(Signal::INT),
            _ = hung_up.recv(), if heeds => break End::Told(Signal::HUP),
            _ = child_changed.recv() => if let Some(status) = collect(command) {
                break End::Command(status);
            },
            _ = count.tick(), if spec.counts_processes => if population.is_too_large() {
                break End::TooMany;
            },
        }
    };
    clear(spec, &end, table.then_some(command));
    Ok(code(&end))
}

/// Ends what is left, and takes away what was made for the command.
fn clear(spec: &Spec, end: &End, first: Option<Pid>) {
    match (end, first) {
        (End::Told(_) | End::TooMany, Some(first)) => {
            // Its end is the end of everyone in its table.
            let _gone = kill_process(first, Signal::KILL);
            let _collected = waitpid(Some(first), WaitOptions::empty());
        }
        (End::Told(_) | End::TooMany, None) | (End::Command(_), _) => {}
    }
    // Behind bubblewrap all that is done by the end of its table, which comes with ours.
    if spec.wall != Wall::Bubblewrap {
        descendants::end_all();
    }
    if let End::TooMany = end {
        // Last: whoever floods the pipe would have us wait while they multiply.
        complain(&format!("ended, since it has more than {} processes", spec.reach.limits.processes));
    }
    if let Some(scratch) = &spec.scratch {
        // Whoever made it removes what is left of it, if it still lives.
        let _left = std::fs::remove_dir_all(scratch);
    }
}

/// From now on orphans come to us, and we are told when our own parent ends.
fn bind(spec: &Spec) -> rustix::io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    if spec.parent.is_some_and(|parent| parent != parent_id()) {
        // It ended before we could ask to be told.
        return Err(rustix::io::Errno::SRCH);
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "the environment was built by the one that started us")]
pub(super) fn start(spec: &Spec, argv: &[OsString], role: Role) -> Result<Pid, String> {
    let words = spec.words(role, argv).map_err(|fault| fault.message)?;
    let (program, arguments) = words.split_first().ok_or("there is no command")?;
    let child = Command::new(program).args(arguments).spawn().map_err(|error| error.to_string())?;
    if let Some(bell) = spec.bell {
        // The command may be able to look at what we have open.
        let _not_ours = nix::unistd::close(bell);
    }
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| "it has no number".to_owned())
}

/// Collects everyone who has ended; tells how the command ended, if it is among them.
fn collect(command: Pid) -> Option<WaitStatus> {
    let mut ended = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == command {
            ended = Some(status);
        }
    }
    ended
}

fn code(end: &End) -> u8 {
    match end {
        End::Command(status) => code_of(*status),
        End::Told(number) => code_of_signal(number.as_raw()),
        End::TooMany => code_of_signal(Signal::KILL.as_raw()),
    }
}

/// How a process ended, as a shell tells it.
pub(super) fn code_of(status: WaitStatus) -> u8 {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, Some(number)) => code_of_signal(number),
        (None, None) => u8::MAX,
    }
}

fn code_of_signal(number: i32) -> u8 {
    u8::try_from(128 + number).unwrap_or(u8::MAX)
}
