//! Carries a run on a tokio runtime and ends it when the person says so.

use std::future::Future;

use engine::RunCancel;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Exit;
use crate::screen;
use crate::stop::Stop;

/// Runs async work to its end. Ctrl-C cancels it cleanly; a second one ends the process at once.
pub(crate) fn to_end<T>(cancel: RunCancel, work: impl Future<Output = T>) -> Result<T, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::io("start the runtime", error))?;
    let done = runtime.block_on(async {
        tokio::spawn(obey_signals(cancel));
        work.await
    });
    // A question that nobody answered may still be waiting for the terminal.
    runtime.shutdown_background();
    Ok(done)
}

#[allow(clippy::exit, reason = "the second Ctrl-C means now, whatever is open")]
async fn obey_signals(cancel: RunCancel) {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    let mut asked = false;
    loop {
        tokio::select! {
            heard = interrupt.recv() => if heard.is_none() { return },
            heard = terminate.recv() => if heard.is_none() { return },
        }
        if asked {
            std::process::exit(i32::from(Exit::Cancelled.code()));
        }
        asked = true;
        screen::note(
            "\nCancelling: calls that are under way are being ended. Press Ctrl-C again to stop at once.",
        );
        cancel.cancel();
    }
}
