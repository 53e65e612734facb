//! The process of an app-server: its environment, its end and its standard error.
//!
//! It never outlives us: it ends when we close its input, and it is killed if that takes too long or if its owner is
//! dropped.

use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};

use super::launch_arguments;
use super::rpc_client::{ServerInput, ServerOutput};
use super::settings::CodexSettings;
use crate::{BackendError, BackendErrorKind, BoxFuture, platform};

/// Longest line of standard error that is read at once.
const STDERR_LINE_BYTES: u64 = 2 * 1024;

/// Starts app-servers. The tests implement it without a process.
pub(super) trait LaunchServer: Send + Sync {
    fn launch(&self) -> BoxFuture<'_, Result<LaunchedServer, BackendError>>;
}

/// An app-server that has been started and not yet greeted.
pub(super) struct LaunchedServer {
    pub(super) input: ServerInput,
    pub(super) output: ServerOutput,
    pub(super) body: Box<dyn AppServerProcess>,
    /// Models that it lists take tools as they are given; see [`CodexModelList`](super::settings::CodexModelList).
    pub(super) models_are_plain: bool,
}

/// Lifetime and memory of an app-server.
pub(super) trait AppServerProcess: Send {
    /// Waits until it has ended.
    fn ended(&mut self) -> BoxFuture<'_, ()>;

    fn kill(&mut self);

    /// Returns a function that reads its memory, to be called while `ended` is being awaited.
    fn memory(&self) -> Box<dyn Fn() -> Option<u64> + Send + Sync>;
}

/// A real process with everything that it started.
struct ChildProcess {
    child: Child,
    group: Option<Pid>,
}

/// Starts the program, with a list of plain models if there is one.
#[allow(
    clippy::disallowed_methods,
    reason = "the environment is the one of the settings, and its end is seen to"
)]
pub(super) fn spawn(settings: &CodexSettings, list: Option<&str>) -> Result<LaunchedServer, BackendError> {
    let mut command = Command::new(&settings.program);
    command
        .args(launch_arguments::arguments(settings, list))
        .current_dir(&settings.folder)
        .env_clear()
        .envs(settings.environment.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: Ctrl-C at the terminal is for us, and we let turns end before it.
        .process_group(0)
        .kill_on_drop(true);
    if let Some(home) = &settings.home {
        command.env("CODEX_HOME", home);
    }
    let mut child = command.spawn().map_err(|error| cannot_start(&settings.program, &error))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(BackendError::new(BackendErrorKind::Unavailable, "codex was started without its pipes"));
    };
    if let Some(stderr) = child.stderr.take() {
        tokio::spawn(log(stderr));
    }
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let body = ChildProcess { child, group };
    Ok(LaunchedServer {
        input: Box::new(input),
        output: Box::new(output),
        body: Box::new(body),
        models_are_plain: list.is_some(),
    })
}

pub(super) fn cannot_start(program: &Path, error: &std::io::Error) -> BackendError {
    let message = format!(
        "`{}` cannot be started: {error}. Install it with `npm install -g @openai/codex`, or set its path",
        program.display()
    );
    BackendError::new(BackendErrorKind::Unavailable, message)
}

/// Logs that it wrote to standard error, but not the text, which can quote a turn. Reads to the end so that the process
/// never blocks.
async fn log(stderr: ChildStderr) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stderr).take(STDERR_LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => tracing::debug!(target: "codex", bytes = line.len(), "a line on stderr"),
        }
    }
}

impl AppServerProcess for ChildProcess {
    fn ended(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // An error would mean that it is not ours to wait for, so it is gone as well.
            let _status = self.child.wait().await;
            // The number is free for others from here on.
            self.group = None;
        })
    }

    fn kill(&mut self) {
        if let Some(group) = self.group {
            // It may have ended already.
            let _gone = kill_process_group(group, Signal::KILL);
        }
    }

    fn memory(&self) -> Box<dyn Fn() -> Option<u64> + Send + Sync> {
        let leader = self.group;
        Box::new(move || leader.and_then(|pid| platform::memory_of(pid.as_raw_nonzero().get())))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use expect_test::expect;
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

    use super::{LaunchedServer, spawn};
    use crate::codex::CodexSettings;

    /// A script in the place of codex.
    fn started(folder: &std::path::Path, script: &str) -> LaunchedServer {
        let mut settings = CodexSettings::new(folder.to_owned());
        settings.program = PathBuf::from("/bin/sh");
        settings.arguments = vec!["-c".to_owned(), script.to_owned()];
        settings.home = Some(PathBuf::from("/srv/home"));
        settings.environment = vec![("PATH".into(), "/usr/bin:/bin".into()), ("LANG".into(), "C".into())];
        spawn(&settings, None).unwrap()
    }

    #[tokio::test]
    async fn a_process_has_the_environment_of_its_settings_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut launched = started(folder.path(), "tr '\\0' '\\n' < /proc/$$/environ");
        let mut environment = String::new();
        launched.output.read_to_string(&mut environment).await.unwrap();
        let mut lines: Vec<&str> = environment.lines().collect();
        lines.sort_unstable();
        expect![[r#"
            CODEX_HOME=/srv/home
            LANG=C
            PATH=/usr/bin:/bin"#]]
        .assert_eq(&lines.join("\n"));
        launched.body.ended().await;
    }

    #[tokio::test]
    async fn a_process_is_weighed_and_killed_with_everything_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mut launched = started(folder.path(), "trap '' TERM; sleep 1000 & echo ready; wait");
        let mut output = BufReader::new(&mut launched.output);
        let mut line = String::new();
        output.read_line(&mut line).await.unwrap();
        assert_eq!(line, "ready\n");
        assert!(launched.body.memory()().is_some_and(|bytes| bytes > 100_000));
        launched.body.kill();
        launched.body.ended().await;
        // The pipe ends when the last one that could write to it is gone.
        let mut rest = String::new();
        output.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "");
    }
}
