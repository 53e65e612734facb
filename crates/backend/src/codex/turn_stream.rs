//! Stream of the events of a turn, with timeouts on silence.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::event_queue::{QueueItem, TurnEventReceiver};
use super::rpc_client::server_died;
use super::settings::CodexTimeouts;
use super::thread::RunningTurn;
use crate::{BackendError, BackendErrorKind, TurnEvent};

pub(super) struct CodexTurnStream {
    queue: TurnEventReceiver,
    running: RunningTurn,
    limits: CodexTimeouts,
    /// Time of the last sign of the model; `None` before the first.
    last_sign: Option<Instant>,
    /// Timer of the silence; reset when it runs out, not at each event.
    silence: Pin<Box<Sleep>>,
    over: bool,
}

impl CodexTurnStream {
    pub(super) fn new(
        queue: TurnEventReceiver,
        running: RunningTurn,
        limits: CodexTimeouts,
    ) -> CodexTurnStream {
        let silence = Box::pin(sleep_until(Instant::now() + limits.first_event));
        CodexTurnStream { queue, running, limits, last_sign: None, silence, over: false }
    }

    fn end(
        &mut self,
        last: Result<TurnEvent, BackendError>,
    ) -> Poll<Option<Result<TurnEvent, BackendError>>> {
        self.over = true;
        Poll::Ready(Some(last))
    }

    /// Whether the model has been silent for too long. Asks to be woken when it could be.
    fn is_timed_out(&mut self, context: &mut Context<'_>) -> bool {
        while self.silence.as_mut().poll(context).is_ready() {
            match self.last_sign {
                Some(last_sign) if last_sign + self.limits.idle > Instant::now() => {
                    self.silence.as_mut().reset(last_sign + self.limits.idle);
                }
                Some(_) | None => return true,
            }
        }
        false
    }
}

/// A turn that ended unread needs no interrupt.
impl Drop for CodexTurnStream {
    fn drop(&mut self) {
        if self.queue.take_end().is_some_and(|end| !end.still_running) {
            self.running.over();
        }
    }
}

impl Stream for CodexTurnStream {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.over {
            return Poll::Ready(None);
        }
        loop {
            match this.queue.poll(context) {
                Poll::Ready(Some(QueueItem::Event(event))) => {
                    this.last_sign = Some(Instant::now());
                    return Poll::Ready(Some(Ok(event)));
                }
                Poll::Ready(Some(QueueItem::SignOfLife)) => this.last_sign = Some(Instant::now()),
                Poll::Ready(Some(QueueItem::End(end))) => {
                    if end.still_running {
                        this.running.interrupt();
                    } else {
                        this.running.over();
                    }
                    return this.end(end.outcome.map(TurnEvent::Done));
                }
                Poll::Ready(None) => return this.end(Err(server_died())),
                Poll::Pending if this.is_timed_out(context) => {
                    this.running.interrupt();
                    let limit =
                        if this.last_sign.is_some() { this.limits.idle } else { this.limits.first_event };
                    let message = format!("the model was silent for {limit:?}");
                    return this.end(Err(BackendError::new(BackendErrorKind::Timeout, message)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
