//! Turns a handler's panic into a value, so that it ends one answer and not the server.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// The handler panicked. What it said may hold anything, so it is not kept.
pub(super) struct Panicked;

/// Waits for a future; its panic ends it instead of the task that polls it.
pub(super) async fn catch_panic<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = pin!(future);
    // The future is never polled again after a panic, so a half-changed state is never seen.
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(polled) => polled.map(Ok),
        Err(_said) => Poll::Ready(Err(Panicked)),
    })
    .await
}
