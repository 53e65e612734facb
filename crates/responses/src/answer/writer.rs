//! Writes an answer turn by turn, until it is complete.

use std::sync::Arc;

use backend::{Capabilities, FinishReason, HistoryEntry, MessagePart, ModelTurn, TurnStream};
use envelope::SessionId;
use serde_json::Map;

use super::call_history::CallHistory;
use super::cancellation::{StopCause, StopSignal};
use super::conversation::AnswerConversation;
use super::deadlines::{AnswerDeadlines, backend_timeout};
use super::end::InterruptionGuard;
use super::event_stream::{EventSender, ReceiverGone};
use super::tool_set::ToolSet;
use super::toolbox::ToolboxRun;
use super::totals::AnswerTotals;
use super::turn_reader::{ToolRequest, TurnFailure, TurnOptions, TurnOutcome};
use super::{FinishedAnswer, PreparedAnswer, Responder, structured_output};
use crate::emitter::{AnswerEmitter, response_id};
use crate::error::ApiError;
use crate::event::EventFraming;
use crate::object::IncompleteReason;
use crate::prompt::{self, RepairReason, ToolPromptMode};
use crate::request::Request;
use crate::store::ResponseStore;
use http_edge::metrics::OutputEvent;

/// Added to a repair prompt after a part of the answer was sent.
const DELIVERED: &str = "What you said before was delivered and the calls that stand in the conversation were made: \
                         do not repeat them. Send only what is missing.";

/// Writes one answer.
pub(super) struct AnswerWriter<'r> {
    pub(super) responder: &'r Responder,
    pub(super) request: Box<Request>,
    pub(super) conversation: AnswerConversation,
    pub(super) mode: ToolPromptMode,
    pub(super) capabilities: Capabilities,
    pub(super) tools: Arc<ToolSet>,
    pub(super) emitter: AnswerEmitter,
    pub(super) out: EventSender,
    pub(super) stop: StopSignal,
    stream: Option<TurnStream>,
    pub(super) unique: String,
    pub(super) deadlines: AnswerDeadlines,
    pub(super) totals: AnswerTotals,
    /// Whether the model was asked once more. It is not asked a third time.
    pub(super) repaired: bool,
    /// Calls that were made before the repair. The model may repeat them; they are not made again.
    made_before: Vec<ToolRequest>,
    pub(super) run: Option<Arc<dyn ToolboxRun>>,
    /// The session of the runs of this conversation; `None` until a call is made.
    pub(super) session: Option<SessionId>,
    /// The first lines of the receipts of calls that changed something.
    pub(super) changes: Vec<String>,
    pub(super) call_history: CallHistory,
    pub(super) interruption: InterruptionGuard,
}

/// Why an answer ends before the model is done.
pub(super) enum EndReason {
    Failed(ApiError),
    Incomplete(IncompleteReason),
    Stopped(StopCause),
    /// The reader of the events was dropped.
    Gone,
}

impl EndReason {
    /// Returns the reason for the run record.
    fn message(&self) -> String {
        match self {
            EndReason::Failed(error) => format!("the answer failed: {}", error.code),
            EndReason::Incomplete(IncompleteReason::MaxTurns) => {
                "the model used tools in every turn of the answer".to_owned()
            }
            EndReason::Incomplete(
                IncompleteReason::MaxOutputTokens
                | IncompleteReason::ContentFilter
                | IncompleteReason::Cancelled
                | IncompleteReason::ServerStopping,
            ) => "the answer was cut off".to_owned(),
            EndReason::Stopped(StopCause::Cancelled) => "the answer was cancelled".to_owned(),
            EndReason::Stopped(StopCause::ServerStopping) => "the server was stopped".to_owned(),
            EndReason::Gone => "the client went away".to_owned(),
        }
    }
}

impl From<ReceiverGone> for EndReason {
    fn from(_: ReceiverGone) -> EndReason {
        EndReason::Gone
    }
}

impl From<StopCause> for EndReason {
    fn from(cause: StopCause) -> EndReason {
        EndReason::Stopped(cause)
    }
}

impl From<ApiError> for EndReason {
    fn from(error: ApiError) -> EndReason {
        EndReason::Failed(error)
    }
}

impl<'r> AnswerWriter<'r> {
    pub(super) fn new(
        responder: &'r Responder,
        prepared: PreparedAnswer,
        framing: EventFraming,
        out: EventSender,
        stop: StopSignal,
    ) -> AnswerWriter<'r> {
        let PreparedAnswer {
            mut request,
            conversation,
            unique,
            started,
            created_at,
            mode,
            capabilities,
            tools,
            stream,
            session,
        } = prepared;
        let emitter = AnswerEmitter::new(&request, &unique, created_at, framing);
        // The emitter has them now, and thousands of streams may be open.
        request.repeated = Map::new();
        request.echoed_tools = Vec::new();
        AnswerWriter {
            responder,
            request,
            conversation,
            mode,
            capabilities,
            tools: Arc::new(tools),
            emitter,
            out,
            stop,
            stream: Some(stream),
            unique,
            deadlines: AnswerDeadlines::new(started, responder.parts.settings.keep_alive),
            totals: AnswerTotals::default(),
            repaired: false,
            made_before: Vec::new(),
            run: None,
            session,
            changes: Vec::new(),
            call_history: CallHistory::default(),
            interruption: InterruptionGuard::new(responder.parts.metrics.clone(), started),
        }
    }

    /// Writes the answer; returns `None` if its reader was dropped.
    pub(super) async fn write(mut self: Box<Self>, also: Option<&ResponseStore>) -> Option<FinishedAnswer> {
        self.emitter.start();
        let cut = self.all_turns().await.err();
        if let Some(run) = self.run.take() {
            run.close(cut.as_ref().map(EndReason::message)).await;
        }
        self.end(cut, also).await
    }

    async fn all_turns(&mut self) -> Result<(), EndReason> {
        while let Some(stream) = self.stream.take() {
            self.totals.turns += 1;
            let (outcome, cut) = self.read_turn(stream).await;
            self.totals.add(&outcome);
            if let Some(cut) = cut {
                self.send_withheld(&outcome);
                return Err(cut);
            }
            let next = match self.check_outcome(&outcome)? {
                Some(turn) => Some(turn),
                None if outcome.server_calls.is_empty() && outcome.failure.is_none() => None,
                // Boxed: an answer waits for events nearly all of its life, and this future is large.
                None => Box::pin(self.run_calls(outcome)).await?,
            };
            self.stream = match next {
                Some(turn) => Some(Box::pin(self.start(turn)).await?),
                None => None,
            };
        }
        Ok(())
    }

    /// Returns a repair turn if the outcome lacks something that the request requires. Fails if the model was cut off.
    fn check_outcome(&mut self, outcome: &TurnOutcome) -> Result<Option<ModelTurn>, EndReason> {
        let reason = match outcome.finish {
            Some(FinishReason::Length) => Some(IncompleteReason::MaxOutputTokens),
            Some(FinishReason::ContentFilter) => Some(IncompleteReason::ContentFilter),
            Some(FinishReason::Stop) | None => None,
        };
        if let Some(reason) = reason {
            // A partial answer cannot meet the requirements of a whole one.
            self.send_withheld(outcome);
            return Err(EndReason::Incomplete(reason));
        }
        let called = self.totals.calls + outcome.server_calls.len() as u64;
        if outcome.failure.is_none()
            && self.request.choice.requires_a_call()
            && called == 0
            && !outcome.refused
        {
            return self.repair_missing_call(outcome).map(Some);
        }
        if outcome.failure.is_none()
            && let Some(turn) = self.check_format(outcome)?
        {
            return Ok(Some(turn));
        }
        Ok(None)
    }

    /// Runs server-side calls and repairs a failed call. Returns the next turn, if there is one.
    async fn run_calls(&mut self, outcome: TurnOutcome) -> Result<Option<ModelTurn>, EndReason> {
        self.keep_sent_items();
        let TurnOutcome { server_calls, failure, sent_calls, client_calls, text, .. } = outcome;
        let ran_calls = !server_calls.is_empty();
        let mut denied = None;
        for call in server_calls {
            self.totals.calls += 1;
            denied = self.run_server_call(call, denied).await?;
        }
        if let Some(failure) = failure {
            self.made_before.extend(sent_calls);
            return self.repair_call(&text, failure).map(Some);
        }
        if !ran_calls {
            return Ok(None);
        }
        if client_calls > 0 {
            // The client answers its calls first; the next answer knows the server-side ones.
            return Ok(None);
        }
        let most = self.responder.parts.settings.max_turns;
        if self.totals.turns >= most {
            if !structured_output::is_requested(&self.request) {
                let text = self.turn_limit_text(most);
                self.emitter.text(&text);
            }
            return Err(EndReason::Incomplete(IncompleteReason::MaxTurns));
        }
        // The required call was made.
        self.request.choice = std::mem::take(&mut self.request.choice).without_requirement();
        self.next_turn().map(Some)
    }

    /// Adds the items that were sent to the conversation.
    fn keep_sent_items(&mut self) {
        self.conversation.add_sent(self.emitter.close_item());
    }

    fn next_turn(&mut self) -> Result<ModelTurn, EndReason> {
        let budget = self.responder.parts.settings.tool_history_tokens;
        for (call, output) in self.call_history.shortened(budget) {
            self.conversation.replace_output(call, output);
        }
        let conversation = self.conversation.all_items();
        Ok(prompt::build_turn(&self.request, &conversation, self.mode, self.capabilities)?)
    }

    /// Sends the withheld text of a turn that was cut off.
    fn send_withheld(&mut self, outcome: &TurnOutcome) {
        if structured_output::is_requested(&self.request) && !outcome.text.is_empty() {
            self.emitter.text(&outcome.text);
        }
        if let Some(failure) = &outcome.failure
            && self.mode == ToolPromptMode::Sentinel
        {
            self.emitter.text(&failure.raw);
        }
    }

    /// Returns one repair turn for the answer; fails with `failed` the second time. The conversation contains what the
    /// client has already, so the model need not repeat it.
    fn repair_turn(
        &mut self,
        rejected: &str,
        problem: &RepairReason<'_>,
        failed: ApiError,
    ) -> Result<ModelTurn, EndReason> {
        if std::mem::replace(&mut self.repaired, true) {
            self.responder.parts.metrics.model_output(OutputEvent::StrictFailure, 1);
            return Err(EndReason::Failed(failed));
        }
        tracing::info!(response = %response_id(&self.unique), code = failed.code, "asking the model once more");
        self.keep_sent_items();
        let mut turn = self.next_turn()?;
        turn.history.extend(prompt::repair_entries(&self.request, self.mode, rejected, problem));
        if self.conversation.has_added_items()
            && let Some(HistoryEntry::Message { parts, .. }) = turn.history.last_mut()
        {
            parts.push(MessagePart::Text(DELIVERED.to_owned()));
        }
        Ok(turn)
    }

    fn repair_call(&mut self, text: &str, failure: TurnFailure) -> Result<ModelTurn, EndReason> {
        let TurnFailure { name, raw, reason } = failure;
        let named = name.as_deref().map_or("a tool".to_owned(), |name| format!("`{name}`"));
        let failed = ApiError::server(
            502,
            "invalid_function_call",
            format!("the model called {named} in a way that its schema does not allow, twice: {reason}"),
        );
        let rejected =
            if structured_output::is_requested(&self.request) { format!("{text}{raw}") } else { raw };
        self.repair_turn(&rejected, &RepairReason::BadCall { name: name.as_deref(), reason: &reason }, failed)
    }

    fn repair_missing_call(&mut self, outcome: &TurnOutcome) -> Result<ModelTurn, EndReason> {
        let failed = ApiError::server(
            502,
            "function_call_missing",
            "a tool call is required and the model made none, even when it was asked again",
        );
        let rejected =
            if structured_output::is_requested(&self.request) { outcome.text.as_str() } else { "" };
        self.repair_turn(rejected, &RepairReason::NoCall, failed)
    }

    /// Sends withheld text if it has the requested format. Otherwise returns a repair turn.
    fn check_format(&mut self, outcome: &TurnOutcome) -> Result<Option<ModelTurn>, EndReason> {
        let calls = outcome.client_calls > 0 || !outcome.server_calls.is_empty();
        if !structured_output::is_requested(&self.request)
            || outcome.refused
            || (calls && outcome.text.trim().is_empty())
        {
            return Ok(None);
        }
        match structured_output::check_format(&outcome.text, &self.request.format) {
            Ok(text) => {
                self.send_earlier_messages(outcome);
                self.emitter.text(text);
                Ok(None)
            }
            // Text around a call is not the answer, but the client gets all of it.
            Err(_) if calls => {
                self.send_earlier_messages(outcome);
                self.emitter.text(&outcome.text);
                Ok(None)
            }
            Err(reason) => {
                let failed = ApiError::server(
                    502,
                    "invalid_output_format",
                    format!("the model's answer has not the format that was asked for, twice: {reason}"),
                );
                self.repair_turn(&outcome.text, &RepairReason::BadForm { reason: &reason }, failed).map(Some)
            }
        }
    }

    /// Sends the messages before the one whose format was checked.
    fn send_earlier_messages(&mut self, outcome: &TurnOutcome) {
        for message in &outcome.earlier_messages {
            self.emitter.text(message);
            self.emitter.end_message();
        }
    }

    async fn start(&mut self, turn: ModelTurn) -> Result<TurnStream, EndReason> {
        let responder = self.responder;
        let limit = responder.parts.settings.start_limit;
        let started = tokio::time::timeout(limit, responder.parts.model.start(turn));
        match self.wait_for(started).await? {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => {
                responder.count_failure(error.kind);
                Err(EndReason::Failed(error.into()))
            }
            Err(_elapsed) => Err(EndReason::Failed(backend_timeout("did not begin to answer"))),
        }
    }

    pub(super) fn turn_options(&mut self) -> TurnOptions {
        let collects = self.tools.any_strict()
            || self.tools.any_on_server()
            || self.mode == ToolPromptMode::Native
            || self.request.choice.requires_a_call();
        TurnOptions {
            withheld: structured_output::is_requested(&self.request),
            collects,
            parallel: self.request.parallel_tool_calls,
            made_before: std::mem::take(&mut self.made_before),
        }
    }
}
