//! The one that stays with a command where no process table of its own ends everything with it.
//!
//! It is handed the orphans of the command, ends whatever is left when the command ends, and ends everything
//! when it is told to, or when the one that asked for the command is gone.

use std::ffi::OsString;
use std::os::unix::process::parent_id;
use std::process::Command;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper, set_parent_process_death_signal, wait,
};
use tokio::signal::unix::{SignalKind, signal};

use super::launcher::complain;
use super::spec::{Role, Spec};
use super::{Wall, descendants};

/// How often processes are counted where the kernel does not hold root to a number of them.
const COUNTING: Duration = Duration::from_millis(200);

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
    let command = start(spec, argv)?;
    // Behind bubblewrap the wall ends everything; a signal is for the command, which may want to tidy up.
    let heeds = spec.wall != Wall::Bubblewrap;
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
            _ = count.tick(), if spec.counts_processes => if too_many(spec) {
                complain(&format!("ended, since it has more than {} processes", spec.reach.limits.processes));
                break End::TooMany;
            },
        }
    };
    descendants::end_all();
    if let Some(scratch) = &spec.scratch {
        // Whoever made it removes what is left of it, if it still lives.
        let _left = std::fs::remove_dir_all(scratch);
    }
    Ok(code(&end))
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
fn start(spec: &Spec, argv: &[OsString]) -> Result<Pid, String> {
    let words = spec.words(Role::Inner, argv).map_err(|fault| fault.message)?;
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

fn too_many(spec: &Spec) -> bool {
    u64::try_from(descendants::living().len()).is_ok_and(|count| count > spec.reach.limits.processes)
}

fn code(end: &End) -> u8 {
    let signal = |number: i32| u8::try_from(128 + number).unwrap_or(u8::MAX);
    match end {
        End::Command(status) => match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
            (None, Some(number)) => signal(number),
            (None, None) => u8::MAX,
        },
        End::Told(number) => signal(number.as_raw()),
        End::TooMany => signal(Signal::KILL.as_raw()),
    }
}
