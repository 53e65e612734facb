//! Text models behind one trait: a history goes in and a stream of text comes out.
//!
//! A backend does not know what a tool call in text looks like, what a Responses client is, or what the engine
//! does. It may have native tools; then it can be given them and reports their calls, and never runs one.

pub mod codex;
mod error;
mod no_model;
pub mod openai;
mod platform;
pub mod scripted;
mod turn;

pub use futures_core::future::BoxFuture;

pub use error::{BackendError, BackendErrorKind};
pub use no_model::NoModel;
pub use turn::{
    FinishReason, HistoryEntry, MessagePart, MessageRole, ModelTurn, NativeCall, NativeTool, OutputSchema,
    ReasoningSettings, SamplingSettings, TokenUsage, TurnEvent, TurnStream,
};

/// Abilities of a backend. A missing ability is never requested, and no request is silently dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an ability of its own")]
pub struct Capabilities {
    /// Takes [`ModelTurn::tools`] and [`HistoryEntry::Call`], and answers with [`TurnEvent::Call`].
    pub native_tools: bool,
    pub images: bool,
    /// Honours [`ModelTurn::sampling`].
    pub sampling: bool,
    /// Hands [`ModelTurn::output_schema`] on to the model. Whether the answer keeps to it is still to be checked.
    pub output_schema: bool,
    /// Honours [`ModelTurn::reasoning`].
    pub reasoning: bool,
    /// Honours [`ModelTurn::verbosity`].
    pub verbosity: bool,
}

/// A model that a client may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    pub id: String,
    /// Who makes it, for lists.
    pub owned_by: String,
}

/// One text model, or a service that has several. Shared by all requests.
pub trait TextModel: Send + Sync {
    /// A short description for people: `codex app-server 0.166.0`, `scripted (demo.jsonl)`.
    fn describe(&self) -> String;

    /// May wait for the backend to be probed.
    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>>;

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>>;

    /// Starts a turn. Dropping the stream interrupts it.
    fn start(&self, turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>>;

    /// Graceful shutdown: waits for running turns for as long as the caller lets it, then ends the processes.
    fn shut_down(&self) -> BoxFuture<'_, ()>;
}
