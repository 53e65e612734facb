//! Starts the real program, with its list of models made plain first.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::Command;
use tokio::sync::OnceCell;

use super::process::{Launch, Launched, cannot_start, spawn};
use super::settings::{CodexSettings, ModelList};
use super::{catalogue, quiet};
use crate::{BackendError, BoxFuture};

/// The name of the rewritten list in our folder.
const LIST: &str = "codex-models.json";

pub(super) struct Launcher {
    settings: CodexSettings,
    /// Where the rewritten list is; `None` inside when there is none.
    list: OnceCell<Option<PathBuf>>,
}

impl Launcher {
    pub(super) fn new(settings: CodexSettings) -> Launcher {
        Launcher { settings, list: OnceCell::new() }
    }

    /// Without a list the program is started as it is: a model that codex does not list needs none.
    async fn plain_list(&self) -> Result<Option<PathBuf>, BackendError> {
        match self.settings.models {
            ModelList::AsItIs => return Ok(None),
            ModelList::Plain => {}
        }
        let printed = self.printed_list().await?;
        let Some(list) = catalogue::made_plain(&printed) else {
            tracing::warn!(
                "codex does not print its list of models; models in it may bring tools of codex's own"
            );
            return Ok(None);
        };
        let path = self.settings.folder.join(LIST);
        #[allow(
            clippy::disallowed_methods,
            reason = "a file in a folder of ours, of which a vault knows nothing"
        )]
        let written = std::fs::write(&path, list);
        match written {
            Ok(()) => Ok(Some(path)),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the list of models cannot be written");
                Ok(None)
            }
        }
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "the environment is the one of the settings, and it ends with us"
    )]
    async fn printed_list(&self) -> Result<Vec<u8>, BackendError> {
        let mut command = Command::new(&self.settings.program);
        command
            .args(&self.settings.arguments)
            .args(["debug", "models", "--bundled"])
            .current_dir(&self.settings.folder)
            .env_clear()
            .envs(self.settings.environment.iter().cloned())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if let Some(home) = &self.settings.home {
            command.env("CODEX_HOME", home);
        }
        let output = command.output().await.map_err(|error| cannot_start(&self.settings.program, &error))?;
        Ok(output.stdout)
    }
}

impl Launch for Launcher {
    fn launch(&self) -> BoxFuture<'_, Result<Launched, BackendError>> {
        Box::pin(async {
            let list = self.list.get_or_try_init(|| self.plain_list()).await?;
            let list = list.as_deref().and_then(|path| path.to_str());
            spawn(&self.settings, &quiet::arguments(&self.settings, list))
        })
    }
}
