//! Reads one turn of the model: sends text on to the client as it comes, and collects calls.

use backend::{BackendError, TurnEvent, TurnStream};
use futures_util::FutureExt;

use super::event_stream::{ReceiverGone, send};
use super::turn_reader::{TurnOutcome, TurnReader};
use super::writer::{AnswerWriter, EndReason};
use crate::error::ApiError;
use crate::object::IncompleteReason;

/// Events that are ready together go out in one write, up to about so many bytes.
const WRITE_BYTES: usize = 16 * 1024;

impl AnswerWriter<'_> {
    /// Reads until the turn ends, has nothing more that is wanted, or the answer must end. Returns the outcome so far in
    /// any case.
    pub(super) async fn read_turn(&mut self, stream: TurnStream) -> (TurnOutcome, Option<EndReason>) {
        let mut turn_reader = TurnReader::new(self.tools.clone(), self.mode, self.turn_options());
        let cut = self.read_events(&mut turn_reader, stream).await.err();
        if cut.is_some() {
            turn_reader.end_of_text(&mut self.emitter);
        }
        (turn_reader.finish(), cut)
    }

    async fn read_events(
        &mut self,
        turn_reader: &mut TurnReader,
        mut stream: TurnStream,
    ) -> Result<(), EndReason> {
        self.deadlines.note_event();
        loop {
            let may_wait = (1..WRITE_BYTES).contains(&self.emitter.pending_bytes());
            let ready = if may_wait { stream.next().now_or_never() } else { None };
            let event = match ready {
                Some(event) => event,
                None => {
                    self.flush().await?;
                    self.next_event(&mut stream).await?
                }
            };
            self.deadlines.note_event();
            if self.take_event(turn_reader, event)? {
                return Ok(self.flush().await?);
            }
            self.stop.check()?;
            self.deadlines.check_whole(&self.responder.parts.settings)?;
        }
    }

    /// Waits for the next event, until a deadline or a cancellation.
    async fn next_event(
        &mut self,
        stream: &mut TurnStream,
    ) -> Result<Option<Result<TurnEvent, BackendError>>, EndReason> {
        loop {
            tokio::select! {
                biased;
                event = stream.next() => return Ok(event),
                cause = self.stop.stopped() => return Err(cause.into()),
                () = self.deadlines.due() => self.check_deadlines().await?,
            }
        }
    }

    /// Returns whether the turn is over.
    fn take_event(
        &mut self,
        turn_reader: &mut TurnReader,
        event: Option<Result<TurnEvent, BackendError>>,
    ) -> Result<bool, EndReason> {
        match event {
            Some(Ok(event)) => {
                self.totals.output_bytes += output_bytes(&event);
                let over = turn_reader.read(event, &mut self.emitter);
                if !over && self.totals.output_tokens() > self.most_tokens() {
                    return Err(EndReason::Incomplete(IncompleteReason::MaxOutputTokens));
                }
                Ok(over)
            }
            Some(Err(error)) => {
                self.responder.count_failure(error.kind);
                Err(EndReason::Failed(error.into()))
            }
            None => Err(EndReason::Failed(ApiError::server(
                502,
                "backend_protocol",
                "the model's answer stopped without an end",
            ))),
        }
    }

    /// The limit of tokens that is enforced here. A backend with sampling enforces the client's own limit.
    fn most_tokens(&self) -> u64 {
        let requested = self.request.max_output_tokens.filter(|_| !self.capabilities.sampling);
        requested.unwrap_or(u64::MAX).min(self.responder.parts.settings.max_answer_tokens)
    }

    /// Called when the timer fires: fails if a deadline has passed, and keeps the connection alive.
    pub(super) async fn check_deadlines(&mut self) -> Result<(), EndReason> {
        if self.deadlines.check(&self.responder.parts.settings)? {
            self.emitter.keep_alive();
            self.flush().await?;
        }
        self.deadlines.restart_timer(&self.responder.parts.settings);
        Ok(())
    }

    pub(super) async fn flush(&mut self) -> Result<(), ReceiverGone> {
        let bytes = self.emitter.take();
        if !bytes.is_empty() {
            self.deadlines.note_sent();
        }
        send(&self.out, bytes).await
    }
}

/// Returns how many bytes of output an event has.
fn output_bytes(event: &TurnEvent) -> u64 {
    let bytes = match event {
        TurnEvent::Text(text) | TurnEvent::Reasoning { text, .. } | TurnEvent::Refusal(text) => text.len(),
        TurnEvent::Call(call) => call.arguments.len(),
        TurnEvent::NextMessage | TurnEvent::SealedReasoning(_) | TurnEvent::Usage(_) | TurnEvent::Done(_) => {
            0
        }
    };
    bytes as u64
}
