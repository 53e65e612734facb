//! One answer: from a parsed request to the last event.
//!
//! ```text
//! prepare: references -> conversation -> tools -> the first turn is started   (an error here is an HTTP error)
//! write:   turn by turn: read, check, repair once, run server-side tools      (an error here ends the answer)
//! ```
//!
//! The answer is a future that the reader of its events polls. No task is spawned for it: a client that does not read
//! holds its own answer back, and one that disconnects drops it, which interrupts the turn.

mod cancellation;
mod call_history;
mod compact;
mod conversation;
mod deadlines;
mod end;
mod event_stream;
mod resolve;
mod server_tools;
mod settings;
mod structured_output;
#[cfg(test)]
mod telemetry_tests;
#[cfg(test)]
mod tests;
mod tool_set;
mod toolbox;
mod totals;
mod turn_loop;
mod turn_reader;
mod warm_up;
mod writer;

use std::sync::Arc;

use backend::{Capabilities, TextModel, TurnStream};
use engine::Clock;
use envelope::SessionId;
use serde_json::Value;
use tokio::time::Instant;

use self::cancellation::RunningAnswers;
use self::conversation::AnswerConversation;
use self::deadlines::backend_timeout;
use self::tool_set::ToolSet;
use super::emitter::{FinishedResponse, response_id};
use super::error::ApiError;
use super::event::EventFraming;
use super::item::ConversationItem;
use super::prompt::{self, ToolPromptMode};
use super::request::{self, Request, SchemaCache};
use super::store::ResponseStore;
use http_edge::metrics::Metrics;

pub use self::call_history::CallOutcome;
pub use self::event_stream::{EventSender, event_channel, event_stream};
pub use self::resolve::unknown_response;
pub use self::settings::AnswerSettings;
pub use self::toolbox::{ServerCall, ServerResult, Toolbox, ToolboxRun};

/// Answers requests. Shared by all of them.
pub struct Responder {
    pub(super) parts: ResponderParts,
    schemas: SchemaCache,
    running: RunningAnswers,
}

/// The parts of a responder.
pub struct ResponderParts {
    pub model: Arc<dyn TextModel>,
    pub store: Arc<ResponseStore>,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<dyn Clock>,
    /// Generates the unique part of the ids of one answer: letters and digits, never the same twice.
    pub unique: Arc<dyn Fn() -> String + Send + Sync>,
    pub settings: AnswerSettings,
    /// Tollgate's own tools, if they may be offered.
    pub toolbox: Option<Arc<dyn Toolbox>>,
}

/// A request whose first turn was started. It is large and passes through several futures, so it is boxed.
pub struct PreparedAnswer {
    request: Box<Request>,
    conversation: AnswerConversation,
    unique: String,
    /// Seconds of the clock when the model was asked.
    created_at: u64,
    started: Instant,
    mode: ToolPromptMode,
    capabilities: Capabilities,
    tools: ToolSet,
    stream: TurnStream,
    /// The session of the conversation, if calls of it were recorded before.
    session: Option<SessionId>,
}

impl PreparedAnswer {
    /// Returns the id of the response.
    pub fn id(&self) -> String {
        response_id(&self.unique)
    }

    /// Returns the names of the options that cannot be honoured.
    pub fn ignored(&self) -> &[String] {
        &self.request.ignored
    }
}

/// An answer that was written to its end.
pub struct FinishedAnswer {
    pub response: FinishedResponse,
    /// Set when the answer failed: the reply to a client that did not ask for a stream.
    pub error: Option<ApiError>,
}

impl Responder {
    pub fn new(parts: ResponderParts) -> Responder {
        Responder { parts, schemas: SchemaCache::default(), running: RunningAnswers::default() }
    }

    /// Parses the body of a request.
    pub fn parse(&self, body: &[u8]) -> Result<Box<Request>, ApiError> {
        request::parse(body, &self.schemas)
    }

    /// Parses a request that is JSON already.
    pub fn parse_value(&self, value: Value) -> Result<Box<Request>, ApiError> {
        request::parse_value(value, &self.schemas)
    }

    pub fn store(&self) -> &Arc<ResponseStore> {
        &self.parts.store
    }

    pub fn model(&self) -> &Arc<dyn TextModel> {
        &self.parts.model
    }

    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.parts.metrics
    }

    /// Checks everything about a request that can be checked before the answer starts, and starts the first turn. `also`
    /// holds answers that only this connection knows.
    pub async fn prepare(
        &self,
        mut request: Box<Request>,
        also: Option<&ResponseStore>,
    ) -> Result<Box<PreparedAnswer>, ApiError> {
        let started = Instant::now();
        resolve::continue_response_of_calls(&mut request, &self.parts.store, also);
        let earlier = resolve::earlier_conversation(&request, &self.parts.store, also)?;
        let session = resolve::earlier_session(&request, &self.parts.store, also);
        let earlier_items = earlier.len();
        let input = std::mem::take(&mut request.input);
        let echoed =
            input.iter().filter(|item| matches!(item, ConversationItem::FunctionCall { .. })).count();
        let items = resolve::resolve_references(earlier, input, &self.parts.store, also)?;
        let from_request = items.len() - earlier_items;
        let conversation = AnswerConversation::new(items, from_request, echoed as u64);
        let capabilities =
            self.parts.model.capabilities().await.inspect_err(|error| self.count_failure(error.kind))?;
        let tools = ToolSet::new(&mut request, self.parts.toolbox.as_deref(), &self.parts.settings)?;
        settings::ignore_unsupported(&mut request, capabilities);
        let mode = if capabilities.native_tools && !tools.is_empty() {
            ToolPromptMode::Native
        } else {
            ToolPromptMode::Sentinel
        };
        let turn = prompt::build_turn(&request, conversation.items(), mode, capabilities)?;
        let limit = self.parts.settings.start_limit;
        let created_at = self.seconds();
        let started_turn = tokio::select! {
            biased;
            () = self.running.stopping() => return Err(server_stopping()),
            started_turn = tokio::time::timeout(limit, self.parts.model.start(turn)) => started_turn,
        };
        let stream = match started_turn {
            Ok(stream) => stream.inspect_err(|error| self.count_failure(error.kind))?,
            Err(_elapsed) => return Err(backend_timeout("did not begin to answer")),
        };
        let unique = (self.parts.unique)();
        Ok(Box::new(PreparedAnswer {
            request,
            conversation,
            unique,
            started,
            created_at,
            mode,
            capabilities,
            tools,
            stream,
            session,
        }))
    }

    /// Ends all answers as incomplete, because the server is stopping. Requests that come later are refused.
    pub fn stop_answers(&self) {
        self.running.stop_all();
    }

    /// Writes the answer to its end; returns `None` if its reader was dropped. Dropping the future ends the turn.
    pub async fn write(
        &self,
        prepared: Box<PreparedAnswer>,
        framing: EventFraming,
        out: EventSender,
        also: Option<&ResponseStore>,
    ) -> Option<FinishedAnswer> {
        let registration = self.running.register(&prepared.id());
        let writer =
            Box::new(writer::AnswerWriter::new(self, *prepared, framing, out, registration.signal()));
        let answered = Box::pin(writer.write(also)).await;
        registration.finish(answered.as_ref());
        answered
    }

    /// Cancels an answer that is being written, and returns its object once it has ended.
    pub async fn cancel(&self, id: &str) -> Result<String, ApiError> {
        match self.running.cancel(id).await {
            Some(Ok(object)) => Ok(object),
            Some(Err(_timeout)) => Err(ApiError::server(
                503,
                "still_ending",
                format!("response `{id}` was cancelled and waits for its reader; look again in a moment"),
            )),
            None if self.parts.store.get(id).is_some() => Err(ApiError::invalid(
                "response_id",
                "response_not_running",
                format!("response `{id}` is complete; there is nothing to cancel"),
            )),
            None => Err(resolve::unknown_response(id)),
        }
    }

    fn seconds(&self) -> u64 {
        u64::try_from(self.parts.clock.now().as_second()).unwrap_or(0)
    }

    fn count_failure(&self, kind: backend::BackendErrorKind) {
        self.parts.metrics.backend_failed(kind);
    }
}

fn server_stopping() -> ApiError {
    ApiError::server(
        503,
        "server_stopping",
        "the server is being stopped; try again when it has started again",
    )
}
