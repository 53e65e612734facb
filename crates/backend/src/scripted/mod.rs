//! A model that reads its answers from a file, for demos and tests. It says so wherever it is named.
//!
//! It keeps no state: which line answers follows from the history alone, so that any number of conversations
//! can use one script at the same time and each gets the same answers every time.

mod script_stream;
mod script;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

pub use script::{Script, ScriptError};
use script_stream::ScriptStream;

use crate::{
    BackendError, BackendErrorKind, BoxFuture, Capabilities, ModelInfo, ModelTurn, TextModel, TurnStream,
};

/// The one model of every script.
pub const MODEL: &str = "scripted";

/// Plays a [`Script`].
pub struct ScriptedModel {
    /// Where the script came from, for people.
    source: String,
    script: Arc<Script>,
}

impl ScriptedModel {
    pub fn new(source: impl Into<String>, script: Script) -> ScriptedModel {
        ScriptedModel { source: source.into(), script: Arc::new(script) }
    }

    pub fn open(file: &Path) -> Result<ScriptedModel, ScriptError> {
        let text = std::fs::read_to_string(file).map_err(|error| ScriptError::Unreadable {
            file: file.display().to_string(),
            error: error.to_string(),
        })?;
        Ok(ScriptedModel::new(file.display().to_string(), Script::parse(&text)?))
    }
}

impl TextModel for ScriptedModel {
    fn describe(&self) -> String {
        format!("scripted answers from {}; no model is behind them", self.source)
    }

    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>> {
        let capabilities = Capabilities {
            native_tools: false,
            images: true,
            sampling: false,
            output_schema: false,
            // Only a script with reasoning can be asked for it.
            reasoning: self.script.answers.iter().any(|answer| !answer.reasoning.is_empty()),
            verbosity: false,
        };
        Box::pin(async move { Ok(capabilities) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>> {
        let model = ModelInfo { id: MODEL.to_owned(), owned_by: "tollgate-scripted".to_owned() };
        Box::pin(async move { Ok(vec![model]) })
    }

    fn start(&self, turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        let script = self.script.clone();
        let found = script.answer_to(&turn).ok_or_else(|| {
            BackendError::new(
                BackendErrorKind::BadRequest,
                "the script has no answer to this; add a line without `match` as the last one to answer everything else",
            )
        });
        Box::pin(async move { Ok(TurnStream::new(ScriptStream::new(script, found?))) })
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
