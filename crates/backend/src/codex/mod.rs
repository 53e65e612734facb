//! The Codex app-server as a text model: `codex app-server`, spoken to over its standard input and output.
//!
//! Each turn is a thread of its own that gets the whole history and is then discarded. Codex's own tools, prompts and
//! files are switched off. Not supported: temperature, `top_p`, a limit on output tokens, a choice among tools. Lost on
//! the way: keywords of a tool's schema such as `pattern`, the text of a refusal, and reasoning that is not a summary.
//! An `AGENTS.md` in codex's home goes to the model, too, and nothing switches that off; use a separate home.

mod tool_aliases;
mod model_catalog;
mod error_mapping;
mod history_items;
mod launcher;
mod rpc_client;
mod notification;
mod process_pool;
mod turn_params;
mod process;
mod turn_tracker;
mod event_queue;
mod launch_arguments;
mod app_server;
mod settings;
mod turn_stream;
#[cfg(test)]
mod tests;
mod thread;
mod protocol;

use std::sync::{Arc, OnceLock};

use serde_json::json;
use tokio::sync::OnceCell;

use self::app_server::ServerLease;
use self::launcher::CodexLauncher;
use self::process::LaunchServer;
use self::process_pool::ProcessPool;
use self::protocol::ModelPage;
use self::thread::TurnLimits;
use crate::{
    BackendError, BackendErrorKind, BoxFuture, Capabilities, ModelInfo, ModelTurn, TextModel, TurnStream,
};

pub use settings::{CodexModelList, CodexSettings, CodexTimeouts, PoolSettings, ToolMode};

/// Pages of models that are asked for at most.
const MAX_PAGES: usize = 20;

/// A pool of Codex app-servers. Processes are started when the first turn needs one.
pub struct Codex {
    settings: CodexSettings,
    pool: Arc<ProcessPool>,
    has_native_tools: OnceCell<bool>,
    name: OnceLock<String>,
}

impl Codex {
    pub fn new(settings: CodexSettings) -> Codex {
        let launcher = CodexLauncher::new(settings.clone());
        Codex::launched_by(Box::new(launcher), settings)
    }

    fn launched_by(launch: Box<dyn LaunchServer>, settings: CodexSettings) -> Codex {
        let pool = ProcessPool::new(launch, settings.pool.clone(), settings.limits);
        Codex { settings, pool, has_native_tools: OnceCell::new(), name: OnceLock::new() }
    }

    fn terms(&self) -> TurnLimits {
        let PoolSettings { waiting_bytes, back_off, .. } = self.settings.pool;
        TurnLimits { limits: self.settings.limits, waiting_bytes, first_pause: back_off.0 }
    }

    async fn lease(&self) -> Result<ServerLease, BackendError> {
        let lease = self.pool.lease().await?;
        self.name.get_or_init(|| lease.server().name.clone());
        Ok(lease)
    }

    async fn has_native_tools(&self) -> Result<bool, BackendError> {
        match self.settings.tools {
            ToolMode::Native => Ok(true),
            ToolMode::Sentinel => Ok(false),
            ToolMode::Auto => {
                self.has_native_tools.get_or_try_init(|| self.try_native_tools()).await.copied()
            }
        }
    }

    /// Starts a thread with a tool, which costs nothing: no model is asked.
    async fn try_native_tools(&self) -> Result<bool, BackendError> {
        let lease = self.lease().await?;
        if !lease.server().models_are_plain {
            tracing::info!("codex's models are not plain ones; calls go by text");
            return Ok(false);
        }
        let params = turn_params::probe(&self.settings);
        match thread::start(lease.server(), params, self.terms()).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind == BackendErrorKind::BadRequest => {
                tracing::info!(%error, "this codex takes no tools; calls go by text");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn listed_models(&self) -> Result<Vec<ModelInfo>, BackendError> {
        let own = self.settings.model.iter().map(|id| ModelInfo { id: id.clone(), owned_by: self.owner() });
        let mut models: Vec<ModelInfo> = own.collect();
        // Codex lists the models of its own service, whatever provider it uses; and a fixed model is the only one.
        if self.settings.provider.is_some() || !models.is_empty() {
            return Ok(models);
        }
        let lease = self.lease().await?;
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let params = json!({"cursor": cursor});
            let page = lease.server().rpc.request("model/list", params, self.settings.limits.request).await?;
            let page: ModelPage = page.map_err(|error| error_mapping::refused("model/list", &error))?;
            let shown = page.data.into_iter().filter(|model| !model.hidden);
            models.extend(shown.map(|model| ModelInfo { id: model.id, owned_by: self.owner() }));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(models)
    }

    fn owner(&self) -> String {
        self.settings.provider.clone().unwrap_or_else(|| "openai".to_owned())
    }

    async fn begin(&self, turn: ModelTurn) -> Result<TurnStream, BackendError> {
        if !turn.tools.is_empty() && !self.has_native_tools().await? {
            let message = "this codex takes no tools; they must be described in the instructions";
            return Err(BackendError::new(BackendErrorKind::BadRequest, message));
        }
        let prepared = turn_params::prepared(turn, &self.settings)?;
        let lease = self.lease().await?;
        // A task of its own: if the caller goes away meanwhile, the turn must still be interrupted, and its id is known
        // only later.
        let begun = tokio::spawn(thread::begin(lease, prepared, self.terms()));
        begun.await.unwrap_or_else(|error| {
            Err(BackendError::new(
                BackendErrorKind::Protocol,
                format!("the turn could not be started: {error}"),
            ))
        })
    }
}

impl TextModel for Codex {
    fn describe(&self) -> String {
        self.name.get().cloned().unwrap_or_else(|| "codex app-server".to_owned())
    }

    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>> {
        Box::pin(async {
            let native_tools = self.has_native_tools().await?;
            Ok(Capabilities {
                native_tools,
                images: true,
                sampling: false,
                output_schema: true,
                reasoning: true,
                verbosity: false,
            })
        })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>> {
        Box::pin(self.listed_models())
    }

    fn start(&self, turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        Box::pin(self.begin(turn))
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.pool.shut_down())
    }
}
