//! The supervisor process of a command, where no PID namespace ends everything with it.
//!
//! It adopts the orphans of the command, kills what is left when the command ends, and kills everything on a signal, or
//! when the process that asked for the command is gone.

use std::ffi::OsString;
use std::os::unix::process::parent_id;
use std::process::Command;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, wait, waitpid,
};
use tokio::signal::unix::{SignalKind, signal};

use super::launcher::print_error;
use super::launcher_spec::{LauncherRole, LauncherSpec};
use super::namespace_init::enter_pid_namespace;
use super::process_counter::ProcessCounter;
use super::{SandboxKind, control_group, descendants};

/// Interval for counting processes, where the kernel does not limit root.
const COUNTING: Duration = Duration::from_millis(50);

/// Runs the command to its end. Returns the exit code.
pub(super) fn supervise(spec: &LauncherSpec, argv: &[OsString]) -> Result<u8, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(supervise_command(spec, argv))
}

/// Why supervision ended.
enum SupervisionEnd {
    Command(WaitStatus),
    Signalled(Signal),
    TooManyProcesses,
}

async fn supervise_command(spec: &LauncherSpec, argv: &[OsString]) -> Result<u8, String> {
    let listen = |kind| signal(kind).map_err(|error| error.to_string());
    let mut terminated = listen(SignalKind::terminate())?;
    let mut interrupted = listen(SignalKind::interrupt())?;
    let mut hung_up = listen(SignalKind::hangup())?;
    let mut child_changed = listen(SignalKind::child())?;
    become_subreaper(spec).map_err(|error| error.to_string())?;
    if let Some(group) = &spec.group {
        control_group::join(group).map_err(|error| format!("control group: {error}"))?;
    }
    let table = enter_pid_namespace(spec);
    let command = start(spec, argv, if table { LauncherRole::NamespaceInit } else { LauncherRole::Inner })?;
    // In bubblewrap the sandbox ends everything; a signal is for the command, which may want to clean up.
    let handles_signals = spec.kind != SandboxKind::Bubblewrap;
    let mut counter = ProcessCounter::new(spec);
    let mut count = tokio::time::interval_at(tokio::time::Instant::now() + COUNTING, COUNTING);
    let end = loop {
        tokio::select! {
            biased;
            _ = terminated.recv(), if handles_signals => break SupervisionEnd::Signalled(Signal::TERM),
            _ = interrupted.recv(), if handles_signals => break SupervisionEnd::Signalled(Signal::INT),
            _ = hung_up.recv(), if handles_signals => break SupervisionEnd::Signalled(Signal::HUP),
            _ = child_changed.recv() => if let Some(status) = reap(command) {
                break SupervisionEnd::Command(status);
            },
            _ = count.tick(), if spec.counts_processes => if counter.exceeds_limit() {
                break SupervisionEnd::TooManyProcesses;
            },
        }
    };
    clean_up(spec, &end, table.then_some(command));
    Ok(exit_code(&end))
}

/// Kills what is left, and removes what was made for the command.
fn clean_up(spec: &LauncherSpec, end: &SupervisionEnd, first: Option<Pid>) {
    match (end, first) {
        (SupervisionEnd::Signalled(_) | SupervisionEnd::TooManyProcesses, Some(first)) => {
            // Its end ends the whole namespace.
            let _gone = kill_process(first, Signal::KILL);
            let _collected = waitpid(Some(first), WaitOptions::empty());
        }
        (SupervisionEnd::Signalled(_) | SupervisionEnd::TooManyProcesses, None)
        | (SupervisionEnd::Command(_), _) => {}
    }
    // In bubblewrap the end of the PID namespace does all that, which comes with ours.
    if spec.kind != SandboxKind::Bubblewrap {
        descendants::kill_all();
    }
    if let SupervisionEnd::TooManyProcesses = end {
        // Last: a process that floods the pipe would block us while it multiplies.
        print_error(&format!("ended, since it has more than {} processes", spec.profile.limits.processes));
    }
    if let Some(scratch) = &spec.scratch {
        // The creator removes what is left, if it is still alive.
        let _left = std::fs::remove_dir_all(scratch);
    }
}

/// From now on we adopt orphans, and get a signal when our parent ends.
fn become_subreaper(spec: &LauncherSpec) -> rustix::io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    if spec.parent.is_some_and(|parent| parent != parent_id()) {
        // It ended before we could ask for the signal.
        return Err(rustix::io::Errno::SRCH);
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "the environment was built by the one that started us")]
pub(super) fn start(spec: &LauncherSpec, argv: &[OsString], role: LauncherRole) -> Result<Pid, String> {
    let words = spec.words(role, argv).map_err(|fault| fault.message)?;
    let (program, arguments) = words.split_first().ok_or("there is no command")?;
    let child = Command::new(program).args(arguments).spawn().map_err(|error| error.to_string())?;
    if let Some(notifier) = spec.start_notifier {
        // The command may be able to see our open descriptors.
        let _not_ours = nix::unistd::close(notifier);
    }
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| "it has no number".to_owned())
}

/// Collects all processes that have ended. Returns how the command ended, if it is among them.
fn reap(command: Pid) -> Option<WaitStatus> {
    let mut ended = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == command {
            ended = Some(status);
        }
    }
    ended
}

fn exit_code(end: &SupervisionEnd) -> u8 {
    match end {
        SupervisionEnd::Command(status) => exit_code_of(*status),
        SupervisionEnd::Signalled(number) => code_of_signal(number.as_raw()),
        SupervisionEnd::TooManyProcesses => code_of_signal(Signal::KILL.as_raw()),
    }
}

/// Returns the exit code of a process, as a shell does.
pub(super) fn exit_code_of(status: WaitStatus) -> u8 {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, Some(number)) => code_of_signal(number),
        (None, None) => u8::MAX,
    }
}

fn code_of_signal(number: i32) -> u8 {
    u8::try_from(128 + number).unwrap_or(u8::MAX)
}
