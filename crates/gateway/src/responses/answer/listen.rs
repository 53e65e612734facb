//! Listens to one turn of the model: text goes on to the client as it comes, calls are told apart from it.

use std::task::Poll;

use backend::{BackendError, TurnEvent, TurnStream};
use tokio::time::Instant;

use super::ear::{Ear, Heard};
use super::out::Gone;
use super::write::{Cut, Writer};
use crate::responses::error::ApiError;
use crate::responses::object::Reason;

/// What goes out in one write at most, when the model is faster than the client.
const EVENTS_A_WRITE: usize = 64;
/// An event may hold all words that came in one piece. Once so many bytes were said they go out.
const BYTES_A_WRITE: u64 = 16 * 1024;
/// A token is about this many bytes.
pub(super) const BYTES_A_TOKEN: u64 = 4;

impl Writer<'_> {
    /// Listens until the turn ends, nothing more is wanted of it, or the answer has to end. What was heard is given in
    /// any case.
    pub(super) async fn listen(&mut self, stream: TurnStream) -> (Heard, Option<Cut>) {
        let mut ear = Ear::new(self.tools.clone(), self.mode, self.habits());
        let cut = self.hear_out(&mut ear, stream).await.err();
        if cut.is_some() {
            ear.end_of_text(&mut self.emitter);
        }
        (ear.finish(), cut)
    }

    async fn hear_out(&mut self, ear: &mut Ear, mut stream: TurnStream) -> Result<(), Cut> {
        self.last_heard = Instant::now();
        let mut just_begun = false;
        // Nothing was there a moment ago. Asking again would drive the backend's connection once more for each event.
        let mut drained = false;
        loop {
            let there = if drained { None } else { ready(&mut stream).await };
            let event = match there {
                Some(event) => {
                    if just_begun {
                        self.out.let_out().await;
                    }
                    event
                }
                None => {
                    self.flush().await?;
                    self.next_event(&mut stream).await?
                }
            };
            self.last_heard = Instant::now();
            // The beginning of the answer goes out with the first words, before more is asked for.
            just_begun = !std::mem::replace(&mut self.begun, true);
            let enough = self.said_bytes + BYTES_A_WRITE;
            let mut over = self.take(ear, event)?;
            drained = false;
            // Whatever else is there already goes out in the same write.
            for _ in 0..if just_begun { 0 } else { EVENTS_A_WRITE } {
                if over || self.said_bytes >= enough {
                    break;
                }
                let Some(event) = ready(&mut stream).await else {
                    drained = true;
                    break;
                };
                over = self.take(ear, event)?;
            }
            self.flush().await?;
            if over {
                return Ok(());
            }
            // A model that never pauses leaves the clock no turn.
            if self.cancelled.is_said() {
                return Err(Cut::Cancelled);
            }
            if self.last_heard.duration_since(self.began) >= self.responder.parts.settings.answer_limit {
                return Err(Cut::Failed(too_slow("did not come to an end")));
            }
        }
    }

    /// Waits for the next event, as long as there may be one.
    async fn next_event(
        &mut self,
        stream: &mut TurnStream,
    ) -> Result<Option<Result<TurnEvent, BackendError>>, Cut> {
        loop {
            tokio::select! {
                biased;
                event = stream.next() => return Ok(event),
                () = self.cancelled.said() => return Err(Cut::Cancelled),
                () = self.pulse.as_mut() => self.beat().await?,
            }
        }
    }

    fn take(&mut self, ear: &mut Ear, event: Option<Result<TurnEvent, BackendError>>) -> Result<bool, Cut> {
        match event {
            Some(Ok(event)) => {
                self.said_bytes += weight(&event);
                let over = ear.hear(event, &mut self.emitter);
                if !over && self.said_bytes / BYTES_A_TOKEN > self.most_tokens() {
                    return Err(Cut::Incomplete(Reason::MaxOutputTokens));
                }
                Ok(over)
            }
            Some(Err(error)) => {
                self.responder.note(error.kind);
                Err(Cut::Failed(error.into()))
            }
            None => Err(Cut::Failed(ApiError::server(
                502,
                "backend_protocol",
                "the model's answer stopped without an end",
            ))),
        }
    }

    /// How many tokens the model may say before it is stopped from here.
    fn most_tokens(&self) -> u64 {
        let asked = self.request.max_output_tokens.filter(|_| !self.can.sampling);
        asked.unwrap_or(u64::MAX).min(self.responder.parts.settings.max_answer_tokens)
    }

    /// Time has passed: ends what takes too long, and tells a waiting client that the connection lives.
    pub(super) async fn beat(&mut self) -> Result<(), Cut> {
        let settings = &self.responder.parts.settings;
        let (silence, whole) = (settings.silence_limit, settings.answer_limit);
        if self.last_heard.elapsed() >= silence {
            return Err(Cut::Failed(too_slow("said nothing for too long")));
        }
        if self.began.elapsed() >= whole {
            return Err(Cut::Failed(too_slow("did not come to an end")));
        }
        if !self.sent_since_beat {
            self.emitter.keep_alive();
            self.flush().await?;
        }
        self.sent_since_beat = false;
        let next = settings.keep_alive.min(silence).min(whole);
        self.pulse.as_mut().reset(Instant::now() + next);
        Ok(())
    }

    pub(super) async fn flush(&mut self) -> Result<(), Gone> {
        let bytes = self.emitter.take();
        self.sent_since_beat |= !bytes.is_empty();
        self.out.send(bytes).await
    }
}

/// The bytes that a model said with an event.
fn weight(event: &TurnEvent) -> u64 {
    let bytes = match event {
        TurnEvent::Text(text) | TurnEvent::Reasoning { text, .. } | TurnEvent::Refusal(text) => text.len(),
        TurnEvent::Call(call) => call.arguments.len(),
        TurnEvent::NextMessage | TurnEvent::SealedReasoning(_) | TurnEvent::Usage(_) | TurnEvent::Done(_) => {
            0
        }
    };
    bytes as u64
}

/// The next event if it is there already.
async fn ready(stream: &mut TurnStream) -> Option<Option<Result<TurnEvent, BackendError>>> {
    let mut next = std::pin::pin!(stream.next());
    std::future::poll_fn(|cx| match next.as_mut().poll(cx) {
        Poll::Ready(event) => Poll::Ready(Some(event)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

pub(super) fn too_slow(what: &str) -> ApiError {
    ApiError::server(504, "backend_timeout", format!("the model {what}; try again, or ask for less at once"))
}
