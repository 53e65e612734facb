//! The Codex app-server as a text model: `codex app-server`, spoken to over its standard input and output.
//!
//! Each turn is a thread of its own, which is given the whole history and thrown away. Codex's own tools,
//! prompts and files are switched off. What it cannot do, and is therefore never asked: temperature, `top_p`,
//! a limit on the tokens of an answer, a choice among tools. What is lost on the way: keywords of a tool's
//! schema such as `pattern`, the words of a refusal, and reasoning that is not a summary. What comes in
//! uninvited: an `AGENTS.md` in codex's home, which nothing switches off; a home of its own helps.

mod alias;
mod catalogue;
mod failure;
mod items;
mod launcher;
mod lease;
mod link;
mod notice;
mod pool;
mod prepare;
mod process;
mod progress;
mod queue;
mod quiet;
mod server;
mod settings;
mod stream;
#[cfg(test)]
mod tests;
mod thread;
mod wire;

use std::sync::{Arc, OnceLock};

use serde_json::json;
use tokio::sync::OnceCell;

use self::launcher::Launcher;
use self::lease::Lease;
use self::pool::Pool;
use self::process::Launch;
use self::thread::Terms;
use self::wire::Models;
use crate::{BackendError, BoxFuture, Capabilities, ErrorKind, ModelInfo, TextModel, Turn, TurnStream};

pub use settings::{CodexSettings, Limits, ModelList, PoolSettings, ToolMode};

/// Pages of models that are asked for at most.
const MAX_PAGES: usize = 20;

/// Codex app-servers behind one face. Processes are started when the first turn needs one.
pub struct Codex {
    settings: CodexSettings,
    pool: Arc<Pool>,
    has_native_tools: OnceCell<bool>,
    name: OnceLock<String>,
}

impl Codex {
    pub fn new(settings: CodexSettings) -> Codex {
        let launcher = Launcher::new(settings.clone());
        Codex::launched_by(Box::new(launcher), settings)
    }

    fn launched_by(launch: Box<dyn Launch>, settings: CodexSettings) -> Codex {
        let pool = Pool::new(launch, settings.pool.clone(), settings.limits);
        Codex { settings, pool, has_native_tools: OnceCell::new(), name: OnceLock::new() }
    }

    fn terms(&self) -> Terms {
        let PoolSettings { waiting_bytes, back_off, .. } = self.settings.pool;
        Terms { limits: self.settings.limits, waiting_bytes, first_pause: back_off.0 }
    }

    async fn lease(&self) -> Result<Lease, BackendError> {
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
        let params = prepare::probe(&self.settings);
        match thread::start(lease.server(), params, self.terms()).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::BadRequest => {
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
            let page = lease.server().link.ask("model/list", params, self.settings.limits.request).await?;
            let page: Models = page.map_err(|error| failure::refused("model/list", &error))?;
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

    async fn begin(&self, turn: Turn) -> Result<TurnStream, BackendError> {
        if !turn.tools.is_empty() && !self.has_native_tools().await? {
            let message = "this codex takes no tools; they must be described in the instructions";
            return Err(BackendError::new(ErrorKind::BadRequest, message));
        }
        let prepared = prepare::prepared(turn, &self.settings)?;
        let lease = self.lease().await?;
        // A task of its own: when whoever asked goes away on the way, the turn that it asked for must still be
        // interrupted, and its id is known only later.
        let begun = tokio::spawn(thread::begin(lease, prepared, self.terms()));
        begun.await.unwrap_or_else(|error| {
            Err(BackendError::new(ErrorKind::Protocol, format!("the turn could not be started: {error}")))
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

    fn start(&self, turn: Turn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        Box::pin(self.begin(turn))
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.pool.shut_down())
    }
}
