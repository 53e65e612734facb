//! Starts the real program, with its list of models made plain first.

use std::path::PathBuf;
use std::process::{Output, Stdio};

use tokio::process::Command;
use tokio::sync::OnceCell;

use super::model_catalog;
use super::process::{LaunchServer, LaunchedServer, cannot_start, spawn};
use super::settings::{CodexModelList, CodexSettings};
use crate::{BackendError, BoxFuture};

/// The name of the rewritten list in our folder.
const LIST: &str = "codex-models.json";

pub(super) struct CodexLauncher {
    settings: CodexSettings,
    /// Path of the rewritten list; `None` inside without a list.
    list: OnceCell<Option<String>>,
}

impl CodexLauncher {
    pub(super) fn new(settings: CodexSettings) -> CodexLauncher {
        CodexLauncher { settings, list: OnceCell::new() }
    }

    async fn list(&self) -> Result<Option<String>, BackendError> {
        match self.settings.models {
            CodexModelList::AsItIs => Ok(None),
            CodexModelList::Plain => {
                let list = self.plain_list().await?;
                if list.is_none() {
                    tracing::warn!(
                        "codex's list of models is left as it is; they may bring tools of codex's own"
                    );
                }
                Ok(list)
            }
        }
    }

    /// Without a list the program is started as it is: a model that codex does not list needs none.
    async fn plain_list(&self) -> Result<Option<String>, BackendError> {
        let printed = self.run(&["debug", "models", "--bundled"]).await?;
        let Some(list) = model_catalog::made_plain(&printed.stdout) else { return Ok(None) };
        let path: PathBuf = self.settings.folder.join(LIST);
        #[allow(
            clippy::disallowed_methods,
            reason = "a file in a folder of ours, of which a vault knows nothing"
        )]
        if let Err(error) = std::fs::write(&path, list) {
            tracing::warn!(%error, path = %path.display(), "the list of models cannot be written");
            return Ok(None);
        }
        let Some(path) = path.to_str() else { return Ok(None) };
        // A release that does not understand the list would not start with it.
        let setting = model_catalog::setting(path);
        let read = self.run(&["debug", "models", "-c", &setting]).await?;
        Ok(read.status.success().then(|| path.to_owned()))
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "the environment is the one of the settings, and it ends with us"
    )]
    async fn run(&self, arguments: &[&str]) -> Result<Output, BackendError> {
        let mut command = Command::new(&self.settings.program);
        command
            .args(&self.settings.arguments)
            .args(arguments)
            .current_dir(&self.settings.folder)
            .env_clear()
            .envs(self.settings.environment.iter().cloned())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if let Some(home) = &self.settings.home {
            command.env("CODEX_HOME", home);
        }
        command.output().await.map_err(|error| cannot_start(&self.settings.program, &error))
    }
}

impl LaunchServer for CodexLauncher {
    fn launch(&self) -> BoxFuture<'_, Result<LaunchedServer, BackendError>> {
        Box::pin(async {
            let list = self.list.get_or_try_init(|| self.list()).await?;
            spawn(&self.settings, list.as_deref())
        })
    }
}
