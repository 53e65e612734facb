//! The deadlines of an answer, and the timer that checks them.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::settings::AnswerSettings;
use crate::error::ApiError;

/// The deadlines of one answer. They count from its start and from the last event of the model.
pub(super) struct AnswerDeadlines {
    started: Instant,
    last_event: Instant,
    /// Fires when the deadlines are checked.
    timer: Pin<Box<Sleep>>,
    /// Whether the client was sent something since the timer was set.
    sent_since_timer: bool,
}

impl AnswerDeadlines {
    pub(super) fn new(started: Instant, keep_alive: Duration) -> AnswerDeadlines {
        AnswerDeadlines {
            started,
            last_event: Instant::now(),
            timer: Box::pin(sleep(keep_alive)),
            sent_since_timer: false,
        }
    }

    /// Waits until the deadlines are to be checked.
    pub(super) async fn due(&mut self) {
        self.timer.as_mut().await;
    }

    /// Call this when the model has made progress.
    pub(super) fn note_event(&mut self) {
        self.last_event = Instant::now();
    }

    /// Call this when the client was sent something.
    pub(super) fn note_sent(&mut self) {
        self.sent_since_timer = true;
    }

    /// Returns whether nothing was sent since the timer was set, so that the client needs a sign of life. Fails if the
    /// model was silent for too long, or if the answer takes too long.
    pub(super) fn check(&self, settings: &AnswerSettings) -> Result<bool, ApiError> {
        if self.last_event.elapsed() >= settings.silence_limit {
            return Err(backend_timeout("said nothing for too long"));
        }
        if self.started.elapsed() >= settings.answer_limit {
            return Err(backend_timeout("did not come to an end"));
        }
        Ok(!self.sent_since_timer)
    }

    /// Sets the timer for the next check.
    pub(super) fn restart_timer(&mut self, settings: &AnswerSettings) {
        self.sent_since_timer = false;
        let next = settings.keep_alive.min(settings.silence_limit).min(settings.answer_limit);
        self.timer.as_mut().reset(Instant::now() + next);
    }

    /// Returns an error if the answer took too long when the last event came. It needs no timer: a stream that is always
    /// ready leaves the timer no turn.
    pub(super) fn check_whole(&self, settings: &AnswerSettings) -> Result<(), ApiError> {
        if self.last_event.duration_since(self.started) >= settings.answer_limit {
            return Err(backend_timeout("did not come to an end"));
        }
        Ok(())
    }

    /// Returns the milliseconds since the start.
    pub(super) fn millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

pub(super) fn backend_timeout(what: &str) -> ApiError {
    ApiError::server(504, "backend_timeout", format!("the model {what}; try again, or ask for less at once"))
}
