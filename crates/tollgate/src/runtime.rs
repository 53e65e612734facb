//! The tokio runtime of a command, and its shutdown by signals.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::RunCancel;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::screen;

/// The state of Ctrl-C, shared by the parts of one command.
#[derive(Clone)]
pub(crate) struct InterruptSignal {
    run: RunCancel,
    interrupted: Arc<AtomicBool>,
    /// Whether the last message must be JSON.
    json: bool,
    hangup: HangupAction,
}

/// What SIGHUP does, which the system sends when the terminal is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HangupAction {
    /// The same as Ctrl-C: the user who could answer questions is gone.
    Cancel,
    /// Nothing: a server goes on. It reads its settings and tokens again whenever they change.
    Ignore,
}

impl InterruptSignal {
    pub(crate) fn new(json: bool) -> InterruptSignal {
        InterruptSignal {
            run: RunCancel::new(),
            interrupted: Arc::default(),
            json,
            hangup: HangupAction::Cancel,
        }
    }

    /// Chooses what SIGHUP does.
    pub(crate) fn on_hangup(mut self, hangup: HangupAction) -> InterruptSignal {
        self.hangup = hangup;
        self
    }

    /// The cancel signal of the run.
    pub(crate) fn cancel(&self) -> RunCancel {
        self.run.clone()
    }

    /// Returns whether the user has pressed Ctrl-C.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }
}

/// The number of threads that share async work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerCount {
    /// As many as the machine has cores.
    All,
    /// Half as many. A server mostly passes data on, so moving a request to another core costs more than it gains;
    /// the other half is left to the model, the commands and other processes.
    Half,
    One,
}

/// Runs async work to its end. Ctrl-C cancels it cleanly; a second one exits at once.
pub(crate) fn block_on<T>(
    interrupts: &InterruptSignal,
    work: impl Future<Output = T>,
) -> Result<T, CliError> {
    block_on_with(interrupts, WorkerCount::All, work)
}

/// The same with a number of workers. Blocking work has threads of its own.
pub(crate) fn block_on_with<T>(
    interrupts: &InterruptSignal,
    workers: WorkerCount,
    work: impl Future<Output = T>,
) -> Result<T, CliError> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    match workers {
        WorkerCount::All => {}
        WorkerCount::Half => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            runtime.worker_threads((cores / 2).max(1));
        }
        WorkerCount::One => {
            runtime.worker_threads(1);
        }
    }
    let runtime = runtime.enable_all().build().map_err(|error| CliError::io("start the runtime", error))?;
    let done = runtime.block_on(async {
        let _handler = ignore_file_size_signal();
        tokio::spawn(handle_signals(interrupts.clone()));
        work.await
    });
    // A pending question may still wait for the terminal.
    runtime.shutdown_background();
    Ok(done)
}

/// Handles the signal of the file size limit (`ulimit -f`), which ends the process by default. With a handler the write
/// fails like any other, and the run ends as on a full disk. Child processes do not inherit this.
fn ignore_file_size_signal() -> Option<Signal> {
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).ok()
}

#[allow(clippy::exit, reason = "the second Ctrl-C means now, whatever is open")]
async fn handle_signals(interrupts: InterruptSignal) {
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        return;
    };
    loop {
        tokio::select! {
            received = interrupt.recv() => if received.is_none() { return },
            received = terminate.recv() => if received.is_none() { return },
            received = hangup.recv() => match (received, interrupts.hangup) {
                (None, _) => return,
                (Some(()), HangupAction::Cancel) => {}
                (Some(()), HangupAction::Ignore) => {
                    tracing::info!("SIGHUP has no effect: changed settings and tokens are noticed without it");
                    continue;
                }
            },
        }
        if interrupts.interrupted.swap(true, Ordering::SeqCst) {
            let stop = CliError::new(
                Exit::Cancelled,
                "cancelled",
                "stopped at once; what was under way has no result yet",
            )
            .hint("`tollgate resume last` finds out what happened to it and continues");
            stop.show(interrupts.json);
            std::process::exit(i32::from(stop.exit.code()));
        }
        screen::notice(
            "\nCancelling: calls that are under way are being ended. Press Ctrl-C again to stop at once.",
        );
        interrupts.run.cancel();
    }
}
