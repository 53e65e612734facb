//! A hook that is a program: JSON on its standard input, JSON on its standard output.

use std::process::Stdio;
use std::time::Duration;

use envelope::ToolName;
use globset::{GlobBuilder, GlobMatcher};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use toolkit::BoxFuture;

use super::{AfterCall, AfterReply, BeforeCall, BeforeReply, Hook, HookError, HookWhen};

/// More than any reasonable answer; a hook that prints without end must not fill our memory.
const MAX_REPLY_BYTES: u64 = 4 * 1024 * 1024;

/// An external hook as the settings file declares it.
pub struct CommandHook {
    name: String,
    argv: Vec<String>,
    when: HookWhen,
    limit: Duration,
    tools: Vec<GlobMatcher>,
}

impl CommandHook {
    /// `argv` is run as it stands, without a shell.
    pub fn new(
        name: impl Into<String>,
        argv: Vec<String>,
        when: HookWhen,
        limit: Duration,
        tools: &[String],
    ) -> Result<CommandHook, HookError> {
        let name = name.into();
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
        Ok(CommandHook { name, argv, when, limit, tools })
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "a hook is a program of the vault's owner, run with a built environment"
    )]
    async fn ask<T: DeserializeOwned + Default>(
        &self,
        event: &str,
        call: &impl Serialize,
    ) -> Result<T, HookError> {
        #[derive(Serialize)]
        struct Message<'a, C: Serialize> {
            event: &'a str,
            #[serde(flatten)]
            call: &'a C,
        }
        let message =
            serde_json::to_vec(&Message { event, call }).map_err(|error| HookError(error.to_string()))?;
        let program = self.argv.first().map(String::as_str).unwrap_or_default();
        let mut child = tokio::process::Command::new(program)
            .args(self.argv.iter().skip(1))
            // Nothing is inherited: a hook must not see secrets that happen to be in our environment.
            .env_clear()
            .envs(std::env::vars_os().filter(|(key, _)| key == "PATH" || key == "HOME" || key == "LANG"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A group of its own: Ctrl-C at the terminal is for us, and whatever the hook started ends with it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| HookError(format!("`{program}` cannot be started: {error}")))?;
        let _group = Group(child.id());
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let feed = async move {
            if let Some(mut stdin) = stdin {
                // A hook that does not read its input closes the pipe; that is its right.
                let _closed = stdin.write_all(&message).await;
            }
        };
        let read = async move {
            let mut reply = Vec::new();
            match stdout {
                Some(stdout) => stdout.take(MAX_REPLY_BYTES + 1).read_to_end(&mut reply).await.map(|_| reply),
                None => Ok(reply),
            }
        };
        let ((), reply) = tokio::join!(feed, read);
        let reply = reply.map_err(|error| HookError(format!("its answer cannot be read: {error}")))?;
        if reply.len() as u64 > MAX_REPLY_BYTES {
            return Err(HookError("its answer is larger than 4 MiB".to_owned()));
        }
        let status = child.wait().await.map_err(|error| HookError(error.to_string()))?;
        if !status.success() {
            return Err(HookError(format!("`{program}` ended with {status}")));
        }
        if reply.trim_ascii().is_empty() {
            return Ok(T::default());
        }
        serde_json::from_slice(&reply)
            .map_err(|error| HookError(format!("its answer is not what a hook answers: {error}")))
    }
}

/// Ends a hook with everything it started, however the wait for it ends.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let leader = self.0.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(leader) = leader {
            // A group that is gone already is what we want.
            let _gone = kill_process_group(leader, Signal::KILL);
        }
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
