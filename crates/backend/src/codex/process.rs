//! The process of an app-server: its environment, its end, and what it complains about.
//!
//! It never outlives us. Its input is a pipe of ours, and it ends when the pipe does; it is killed when it
//! takes too long about that, and when whoever keeps it is gone.

use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};

use super::link::{Input, Output};
use super::quiet;
use super::settings::CodexSettings;
use crate::{BackendError, BoxFuture, ErrorKind};

/// Bytes of a complaint that are kept in the log.
const COMPLAINT_BYTES: u64 = 2 * 1024;

/// What starts app-servers. The tests have one without a process.
pub(super) trait Launch: Send + Sync {
    fn launch(&self) -> BoxFuture<'_, Result<Launched, BackendError>>;
}

/// An app-server that has been started and not yet greeted.
pub(super) struct Launched {
    pub(super) input: Input,
    pub(super) output: Output,
    pub(super) body: Box<dyn Body>,
    /// Models that it lists take tools as they are given; see [`ModelList`](super::settings::ModelList).
    pub(super) models_are_plain: bool,
}

/// The part of an app-server that lives and dies.
pub(super) trait Body: Send {
    /// Waits until it has ended.
    fn ended(&mut self) -> BoxFuture<'_, ()>;

    fn kill(&mut self);

    /// How much memory it holds is asked while somebody else waits for its end.
    fn memory(&self) -> Box<dyn Fn() -> Option<u64> + Send + Sync>;
}

/// A real process with everything that it started.
struct Process {
    child: Child,
    group: Option<Pid>,
}

/// Starts the program, with a list of plain models if there is one.
#[allow(
    clippy::disallowed_methods,
    reason = "the environment is the one of the settings, and its end is seen to"
)]
pub(super) fn spawn(settings: &CodexSettings, list: Option<&str>) -> Result<Launched, BackendError> {
    let mut command = Command::new(&settings.program);
    command
        .args(quiet::arguments(settings, list))
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
        return Err(BackendError::new(ErrorKind::Unavailable, "codex was started without its pipes"));
    };
    if let Some(complaints) = child.stderr.take() {
        tokio::spawn(log(complaints));
    }
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let body = Process { child, group };
    Ok(Launched {
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
    BackendError::new(ErrorKind::Unavailable, message)
}

/// That it complains is for the log, line by line, and read to the end so that it never waits for us. Its words
/// are not: they can quote what was said in a turn.
async fn log(complaints: ChildStderr) {
    let mut complaints = BufReader::new(complaints);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut complaints).take(COMPLAINT_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => tracing::debug!(target: "codex", bytes = line.len(), "a complaint"),
        }
    }
}

impl Body for Process {
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
            // One that is gone already is what we want.
            let _gone = kill_process_group(group, Signal::KILL);
        }
    }

    fn memory(&self) -> Box<dyn Fn() -> Option<u64> + Send + Sync> {
        let leader = self.group;
        Box::new(move || leader.and_then(|pid| memory_of(pid.as_raw_nonzero().get(), 0)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Bytes that a process and its children hold: the installed program is a script around the real one.
fn memory_of(pid: i32, depth: u8) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let mut bytes = pages.saturating_mul(u64::try_from(rustix::param::page_size()).unwrap_or(4096));
    if depth < 3 {
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let children = children.split_ascii_whitespace().filter_map(|child| child.parse().ok());
        bytes += children.filter_map(|child| memory_of(child, depth + 1)).sum::<u64>();
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use expect_test::expect;
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

    use super::{Launched, spawn};
    use crate::codex::CodexSettings;

    /// A script in the place of codex.
    fn started(folder: &std::path::Path, script: &str) -> Launched {
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
