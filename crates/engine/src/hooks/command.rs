//! A hook that is a program: JSON on its standard input, JSON on its standard output.

use std::path::PathBuf;
use std::time::Duration;

use envelope::ToolName;
use globset::{GlobBuilder, GlobMatcher};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolkit::BoxFuture;

use super::pinned_file::PinnedFile;
use super::process::run_hook_process;
use super::{AfterCall, AfterReply, BeforeCall, BeforeReply, Hook, HookError, HookWhen};

/// An external hook as the settings file declares it.
pub struct CommandHook {
    name: String,
    argv: Vec<String>,
    when: HookWhen,
    limit: Duration,
    tools: Vec<GlobMatcher>,
    cwd: PathBuf,
    pinned: Vec<PinnedFile>,
}

impl CommandHook {
    /// Creates a hook that runs `argv` without a shell in the folder `cwd`, so that relative arguments do not depend on
    /// our own working folder. Returns an error for a bad name, an empty command or a bad glob.
    pub fn new(
        name: impl Into<String>,
        argv: Vec<String>,
        when: HookWhen,
        limit: Duration,
        tools: &[String],
        cwd: PathBuf,
    ) -> Result<CommandHook, HookError> {
        let name = name.into();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(HookError(format!("a hook is named {name:?}; give it a name of one line")));
        }
        if argv.is_empty() {
            return Err(HookError(format!("hook `{name}` has an empty command")));
        }
        let tools = tools
            .iter()
            .map(|pattern| {
                GlobBuilder::new(pattern)
                    .literal_separator(true)
                    .build()
                    .map(|glob| glob.compile_matcher())
                    .map_err(|error| {
                        HookError(format!("hook `{name}`: `{pattern}` is not a glob: {}", error.kind()))
                    })
            })
            .collect::<Result<_, _>>()?;
        Ok(CommandHook { name, argv, when, limit, tools, cwd, pinned: Vec::new() })
    }

    /// Sets the files that are checked before each start: if one of them has changed, the hook is not run.
    #[must_use]
    pub fn pinned(mut self, files: Vec<PinnedFile>) -> CommandHook {
        self.pinned = files;
        self
    }

    async fn check_pinned(&self) -> Result<(), HookError> {
        if self.pinned.is_empty() {
            return Ok(());
        }
        let files = self.pinned.clone();
        let checking = tokio::task::spawn_blocking(move || files.iter().try_for_each(PinnedFile::check));
        checking.await.unwrap_or_else(|_crashed| Err(HookError("its files cannot be checked".to_owned())))
    }

    async fn ask<T: DeserializeOwned + Default>(
        &self,
        event: &str,
        call: &impl Serialize,
    ) -> Result<T, HookError> {
        #[derive(Serialize)]
        struct HookMessage<'a, C: Serialize> {
            event: &'a str,
            #[serde(flatten)]
            call: &'a C,
        }
        let message =
            serde_json::to_vec(&HookMessage { event, call }).map_err(|error| HookError(error.to_string()))?;
        self.check_pinned().await?;
        let reply = run_hook_process(&self.argv, &self.cwd, message).await?;
        if reply.trim_ascii().is_empty() {
            return Ok(T::default());
        }
        serde_json::from_slice(&reply)
            .map_err(|error| HookError(format!("its answer is not what a hook answers: {error}")))
    }
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn limit(&self) -> Duration {
        self.limit
    }

    fn when(&self) -> HookWhen {
        self.when
    }

    fn watches(&self, tool: &ToolName) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|glob| glob.is_match(tool.as_str()))
    }

    fn before<'a>(&'a self, call: &'a BeforeCall<'a>) -> BoxFuture<'a, Result<BeforeReply, HookError>> {
        Box::pin(self.ask("before", call))
    }

    fn after<'a>(&'a self, call: &'a AfterCall<'a>) -> BoxFuture<'a, Result<AfterReply, HookError>> {
        Box::pin(self.ask("after", call))
    }
}
