//! Carries a run on a tokio runtime and ends it when the person says so.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::RunCancel;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;
use crate::screen;
use crate::stop::Stop;

/// Ctrl-C, as the parts of one command see it. All clones are the same.
#[derive(Clone)]
pub(crate) struct Interrupts {
    run: RunCancel,
    heard: Arc<AtomicBool>,
    /// Whether the last word has to be JSON.
    json: bool,
}

impl Interrupts {
    pub(crate) fn new(json: bool) -> Interrupts {
        Interrupts { run: RunCancel::new(), heard: Arc::default(), json }
    }

    /// What ends the run they belong to.
    pub(crate) fn cancel(&self) -> RunCancel {
        self.run.clone()
    }

    /// Whether the person has asked for the end.
    pub(crate) fn were_heard(&self) -> bool {
        self.heard.load(Ordering::SeqCst)
    }
}

/// How many threads share the async work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workers {
    /// As many as the machine has cores.
    All,
    /// Half as many: a server mostly hands things on, which costs more than it gains when another core takes over in
    /// mid-request, and the other half is for the model, the commands and whatever else waits for an answer.
    Half,
    One,
}

/// Runs async work to its end. Ctrl-C cancels it cleanly; a second one ends the process at once.
pub(crate) fn to_end<T>(interrupts: &Interrupts, work: impl Future<Output = T>) -> Result<T, Stop> {
    to_end_with(interrupts, Workers::All, work)
}

/// The same with so many workers. What blocks has threads of its own either way.
pub(crate) fn to_end_with<T>(
    interrupts: &Interrupts,
    workers: Workers,
    work: impl Future<Output = T>,
) -> Result<T, Stop> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    match workers {
        Workers::All => {}
        Workers::Half => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            runtime.worker_threads((cores / 2).max(1));
        }
        Workers::One => {
            runtime.worker_threads(1);
        }
    }
    let runtime = runtime.enable_all().build().map_err(|error| Stop::io("start the runtime", error))?;
    let done = runtime.block_on(async {
        let _heard = outlive_file_limit();
        tokio::spawn(obey_signals(interrupts.clone()));
        work.await
    });
    // A question that nobody answered may still be waiting for the terminal.
    runtime.shutdown_background();
    Ok(done)
}

/// A write past the limit on the size of files (`ulimit -f`) sends a signal that ends the process, whatever is
/// open. Once somebody listens for it, that write fails like any other instead, and the run ends as on a full
/// disk. Programs that we start do not inherit this.
fn outlive_file_limit() -> Option<Signal> {
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).ok()
}

#[allow(clippy::exit, reason = "the second Ctrl-C means now, whatever is open")]
async fn obey_signals(interrupts: Interrupts) {
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        return;
    };
    loop {
        tokio::select! {
            heard = interrupt.recv() => if heard.is_none() { return },
            heard = terminate.recv() => if heard.is_none() { return },
            // The terminal is gone.
            heard = hangup.recv() => if heard.is_none() { return },
        }
        if interrupts.heard.swap(true, Ordering::SeqCst) {
            let stop = Stop::new(
                Exit::Cancelled,
                "cancelled",
                "stopped at once; what was under way has no result yet",
            )
            .hint("`tollgate resume last` finds out what became of it and goes on");
            stop.show(interrupts.json);
            std::process::exit(i32::from(stop.exit.code()));
        }
        screen::note(
            "\nCancelling: calls that are under way are being ended. Press Ctrl-C again to stop at once.",
        );
        interrupts.run.cancel();
    }
}
