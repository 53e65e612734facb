//! One answer: from a request that makes sense to the last event.
//!
//! ```text
//! prepare: references -> conversation -> tools -> the first turn is started   (an error here is an HTTP error)
//! write:   turn by turn: listen, judge, repair once, run server-side tools    (an error here ends the answer)
//! ```
//!
//! The answer is a future that whoever serves the connection polls. Nothing is spawned for it: a client that does
//! not read holds its own answer back, and one that goes away drops it, which interrupts the turn.

mod compact;
mod ear;
mod end;
mod here;
mod listen;
mod out;
mod resolve;
mod running;
mod settings;
mod shape;
#[cfg(test)]
mod telemetry_tests;
#[cfg(test)]
mod tests;
mod toolbox;
mod tools;
mod warm_up;
mod watch;
mod write;

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use backend::{Capabilities, TextModel, TurnStream};
use engine::Clock;
use tokio::time::Instant;

use self::running::Running;
use self::tools::Tools;
use super::emitter::{Ended, response_id};
use super::error::ApiError;
use super::event::Framing;
use super::item::Item;
use super::object::Shell;
use super::prompt::{self, Mode};
use super::request::Request;
use super::store::Store;
use crate::metrics::Metrics;

pub use self::out::{Out, Outlet, outlet};
pub use self::resolve::unknown_response;
pub use self::settings::AnswerSettings;
pub use self::toolbox::{ServerCall, ServerResult, Toolbox, ToolboxRun};

/// Answers requests. Shared by all of them.
pub struct Responder {
    pub(super) parts: ResponderParts,
    running: Running,
}

/// What a responder is made of.
pub struct ResponderParts {
    pub model: Arc<dyn TextModel>,
    pub store: Arc<Store>,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<dyn Clock>,
    /// Draws what the ids of one answer are made of: letters and digits, never the same twice.
    pub unique: Arc<dyn Fn() -> String + Send + Sync>,
    pub settings: AnswerSettings,
    /// Tollgate's own tools, where they may be offered.
    pub toolbox: Option<Arc<dyn Toolbox>>,
}

/// A request whose first turn has been started. It goes through several futures and is large, so it is handed on in a box.
pub struct Prepared {
    request: Box<Request>,
    /// Everything that was said before, and what the request adds.
    conversation: Vec<Item>,
    /// How much of the conversation came with this request.
    added: usize,
    /// How many calls the client sent back.
    echoed: u64,
    unique: String,
    shell: Shell,
    began: Instant,
    mode: Mode,
    can: Capabilities,
    tools: Tools,
    stream: TurnStream,
}

impl Prepared {
    /// The id that the response will have.
    pub fn id(&self) -> String {
        response_id(&self.unique)
    }

    /// What was asked for and cannot be honoured.
    pub fn ignored(&self) -> &[String] {
        &self.request.ignored
    }
}

/// An answer that could be written to its end.
pub struct Answered {
    pub ended: Ended,
    /// Set when the answer failed: what a client that did not ask for a stream is told instead.
    pub error: Option<ApiError>,
    _spent: end::Spent,
}

impl Responder {
    pub fn new(parts: ResponderParts) -> Responder {
        Responder { parts, running: Running::default() }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.parts.store
    }

    pub fn model(&self) -> &Arc<dyn TextModel> {
        &self.parts.model
    }

    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.parts.metrics
    }

    /// Finds out everything that can be wrong with a request before anything is said, and starts the first turn.
    /// `also` holds answers that only this connection knows.
    pub async fn prepare(
        &self,
        mut request: Box<Request>,
        also: Option<&Store>,
    ) -> Result<Box<Prepared>, ApiError> {
        let began = Instant::now();
        let earlier = resolve::earlier(&request, &self.parts.store, also)?;
        let said = earlier.len();
        let input = std::mem::take(&mut request.input);
        let echoed = input.iter().filter(|item| matches!(item, Item::FunctionCall { .. })).count();
        let conversation = resolve::resolved(earlier, input, &self.parts.store, also)?;
        let added = conversation.len() - said;
        let can = self.parts.model.capabilities().await.inspect_err(|error| self.note(error.kind))?;
        let tools = Tools::of(&mut request, self.parts.toolbox.as_deref(), &self.parts.settings)?;
        settings::note_ignored(&mut request, can);
        let mode = if can.native_tools && !tools.is_empty() { Mode::Native } else { Mode::Sentinel };
        let turn = prompt::turn(&request, &conversation, mode, can)?;
        let limit = self.parts.settings.start_limit;
        let mut started = pin!(tokio::time::timeout(limit, self.parts.model.start(turn)));
        let at_once = std::future::poll_fn(|cx| Poll::Ready(started.as_mut().poll(cx))).await;
        // Over a connection that was open already the model has its question by now. While it thinks, what the answer
        // repeats of the request is written out.
        let unique = (self.parts.unique)();
        let shell = Shell::new(&request, &response_id(&unique), self.seconds());
        // Streams live long, and there are many.
        request.repeated = serde_json::Map::new();
        request.echoed_tools = Arc::default();
        let started = match at_once {
            Poll::Ready(started) => started,
            Poll::Pending => started.await,
        };
        let stream = match started {
            Ok(started) => started.inspect_err(|error| self.note(error.kind))?,
            Err(_elapsed) => return Err(listen::too_slow("did not begin to answer")),
        };
        Ok(Box::new(Prepared {
            request,
            conversation,
            added,
            echoed: echoed as u64,
            unique,
            shell,
            began,
            mode,
            can,
            tools,
            stream,
        }))
    }

    /// Writes the answer to its end. Dropping the future ends the turn.
    pub async fn write(
        &self,
        prepared: Box<Prepared>,
        framing: Framing,
        out: Out,
        also: Option<&Store>,
    ) -> Option<Answered> {
        let stop = self.running.begin(&prepared.id());
        let writer = Box::new(write::Writer::new(self, *prepared, framing, out, stop.heard()));
        let answered = Box::pin(writer.write(also)).await;
        stop.ended(answered.as_ref());
        answered
    }

    /// Ends an answer that is being written; gives its object once it has ended.
    pub async fn cancel(&self, id: &str) -> Result<String, ApiError> {
        match self.running.cancel(id).await {
            Some(Ok(object)) => Ok(object),
            Some(Err(_too_slow)) => Err(ApiError::server(
                503,
                "still_ending",
                format!("response `{id}` was told to end and waits for its reader; look again in a moment"),
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

    fn note(&self, kind: backend::ErrorKind) {
        self.parts.metrics.backend_failed(kind);
    }
}
