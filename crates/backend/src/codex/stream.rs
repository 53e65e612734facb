//! The events of a turn as its reader sees them, with the limits on silence.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::link::died;
use super::queue::{Delivery, Receiver};
use super::settings::Limits;
use super::thread::Running;
use crate::{BackendError, ErrorKind, TurnEvent};

pub(super) struct Events {
    queue: Receiver,
    running: Running,
    limits: Limits,
    /// When the last sign of the model was taken; `None` before the first.
    heard: Option<Instant>,
    /// Set again only when it has run out, and not at each event.
    silence: Pin<Box<Sleep>>,
    over: bool,
}

impl Events {
    pub(super) fn new(queue: Receiver, running: Running, limits: Limits) -> Events {
        let silence = Box::pin(sleep_until(Instant::now() + limits.first_event));
        Events { queue, running, limits, heard: None, silence, over: false }
    }

    fn end(
        &mut self,
        last: Result<TurnEvent, BackendError>,
    ) -> Poll<Option<Result<TurnEvent, BackendError>>> {
        self.over = true;
        Poll::Ready(Some(last))
    }

    /// Whether the model has been silent for too long. Asks to be woken when it could be.
    fn is_too_quiet(&mut self, context: &mut Context<'_>) -> bool {
        while self.silence.as_mut().poll(context).is_ready() {
            match self.heard {
                Some(heard) if heard + self.limits.idle > Instant::now() => {
                    self.silence.as_mut().reset(heard + self.limits.idle);
                }
                Some(_) | None => return true,
            }
        }
        false
    }
}

/// A turn that has ended while nobody looked needs no interrupt.
impl Drop for Events {
    fn drop(&mut self) {
        if self.queue.last_word().is_some_and(|end| !end.still_running) {
            self.running.over();
        }
    }
}

impl Stream for Events {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.over {
            return Poll::Ready(None);
        }
        loop {
            match this.queue.poll(context) {
                Poll::Ready(Some(Delivery::Event(event))) => {
                    this.heard = Some(Instant::now());
                    return Poll::Ready(Some(Ok(event)));
                }
                Poll::Ready(Some(Delivery::SignOfLife)) => this.heard = Some(Instant::now()),
                Poll::Ready(Some(Delivery::End(end))) => {
                    if end.still_running {
                        this.running.interrupt();
                    } else {
                        this.running.over();
                    }
                    return this.end(end.outcome.map(TurnEvent::Done));
                }
                Poll::Ready(None) => return this.end(Err(died())),
                Poll::Pending if this.is_too_quiet(context) => {
                    this.running.interrupt();
                    let limit = if this.heard.is_some() { this.limits.idle } else { this.limits.first_event };
                    let message = format!("the model was silent for {limit:?}");
                    return this.end(Err(BackendError::new(ErrorKind::Timeout, message)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
