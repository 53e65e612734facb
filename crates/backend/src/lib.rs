//! Text models behind one trait: whoever asks sees a history go in and a stream of text come out.
//!
//! A backend does not know what a tool call in text looks like, what a Responses client is, or what the gate
//! does. It may have native tools; then it can be given them and reports their calls, and never runs one.

pub mod codex;
mod error;
pub mod openai;
pub mod scripted;
mod turn;

use std::future::Future;
use std::pin::Pin;

pub use error::{BackendError, ErrorKind};
pub use turn::{
    Entry, Finish, NativeCall, NativeTool, OutputSchema, Part, Reasoning, Role, Sampling, Turn, TurnEvent,
    TurnStream, Usage,
};

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a backend can be asked for. What it cannot do is never asked of it, and never quietly dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an ability of its own")]
pub struct Capabilities {
    /// Takes [`Turn::tools`] and [`Entry::Call`], and answers with [`TurnEvent::Call`].
    pub native_tools: bool,
    pub images: bool,
    /// Honours [`Turn::sampling`].
    pub sampling: bool,
    /// Hands [`Turn::output_schema`] on to the model. Whether the answer keeps to it is still to be checked.
    pub output_schema: bool,
    /// Honours [`Turn::reasoning`].
    pub reasoning: bool,
    /// Honours [`Turn::verbosity`].
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
    /// What it is, in a few words for people: `codex app-server 0.166.0`, `scripted (demo.jsonl)`.
    fn describe(&self) -> String;

    /// May wait for the backend to be probed.
    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>>;

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>>;

    /// Starts a turn. Dropping the stream interrupts it.
    fn start(&self, turn: Turn) -> BoxFuture<'_, Result<TurnStream, BackendError>>;

    /// Waits for turns under way to end, for as long as the caller lets it, then ends what runs.
    fn shut_down(&self) -> BoxFuture<'_, ()>;
}
