//! A server without a model: it serves MCP clients, and answers requests for a model with a clear error.

use crate::{
    BackendError, BackendErrorKind, BoxFuture, Capabilities, ModelInfo, ModelTurn, TextModel, TurnStream,
};

/// The backend of a server that was started without one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModel;

impl TextModel for NoModel {
    fn describe(&self) -> String {
        "no model".to_owned()
    }

    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>> {
        Box::pin(async { Err(without_model()) })
    }

    /// Returns no models, so that a client which lists them gets an empty list.
    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn start(&self, _turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        Box::pin(async { Err(without_model()) })
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn without_model() -> BackendError {
    BackendError::new(
        BackendErrorKind::Unavailable,
        "this server was started without a model; start it with `--backend codex` or with the address of a model's \
         server",
    )
}
