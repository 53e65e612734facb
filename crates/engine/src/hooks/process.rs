//! Runs the program of a hook: a message in, an answer out, and its process group ended.
//!
//! Deliberately omitted: a timeout. The caller has one, and dropping the future kills the process group of the program. A
//! process that left the group is not found.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr};

use super::HookError;
use crate::call_inputs::visible_text;

/// Largest answer. A hook that prints without end must not fill our memory.
const MAX_REPLY_BYTES: u64 = 4 * 1024 * 1024;

/// Bytes of standard error that are kept: the end, where programs report their errors.
const STDERR_TAIL_BYTES: usize = 2 * 1024;

/// How long standard error is read after the hook has ended; only a process that left its group can still hold the pipe
/// open.
const STDERR_WAIT: Duration = Duration::from_millis(200);

/// How often the start of a program that is still open for writing is tried again, and the wait between two tries.
const BUSY_TRIES: u32 = 20;
const BUSY_WAIT: Duration = Duration::from_millis(10);

/// Runs the program in the folder `cwd` with the message on standard input, and returns its standard output. Returns an
/// error if it cannot be started or does not end with success.
#[allow(
    clippy::disallowed_methods,
    reason = "a hook is a program of the vault's owner, run with a built environment"
)]
pub(super) async fn run_hook_process(
    argv: &[String],
    cwd: &Path,
    message: Vec<u8>,
) -> Result<Vec<u8>, HookError> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(HookError("its command is empty".to_owned()));
    };
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .current_dir(cwd)
        // A hook must not see secrets of our environment.
        .env_clear()
        .envs(std::env::vars_os().filter(|(key, _)| key == "PATH" || key == "HOME" || key == "LANG"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A process group of its own: Ctrl-C at the terminal is for us, and the hook's own processes end with the
        // group.
        .process_group(0)
        .kill_on_drop(true);
    let mut child = spawn(&mut command)
        .await
        .map_err(|error| HookError(format!("`{program}` cannot be started: {error}")))?;
    let mut stderr = HookStderr { pipe: child.stderr.take(), end: Vec::new() };
    // Declared after the child, so dropped before it: the group ends before its leader can be reaped.
    let mut group = HookProcessGroup::led_by(&child);
    let settled = tokio::select! {
        biased;
        settled = talk_to_hook(&mut child, &mut group, message) => settled,
        never = stderr.drain_forever() => match never {},
    };
    let error = match settled {
        Ok((status, reply)) if status.success() => return Ok(reply),
        Ok((status, _)) => HookError(format!("`{program}` ended with {status}")),
        Err(error) => error,
    };
    group.end();
    let _held_open = tokio::time::timeout(STDERR_WAIT, stderr.drain()).await;
    Err(stderr.append_to(error))
}

/// Starts the program. A file that was just written can be open for writing for a moment longer, in a process that
/// another thread is starting; until then the system refuses to run it.
async fn spawn(command: &mut tokio::process::Command) -> io::Result<Child> {
    for _try in 0..BUSY_TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                tokio::time::sleep(BUSY_WAIT).await;
            }
            started => return started,
        }
    }
    command.spawn()
}

async fn talk_to_hook(
    child: &mut Child,
    group: &mut HookProcessGroup,
    message: Vec<u8>,
) -> Result<(ExitStatus, Vec<u8>), HookError> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let feed = async move {
        if let Some(mut stdin) = stdin {
            // A hook is free not to read its input and to close the pipe.
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
    group.leader_ended().await;
    group.end();
    let status = child.wait().await.map_err(|error| HookError(error.to_string()))?;
    Ok((status, reply))
}

/// The process group of a hook. Dropping it ends every process of the group.
///
/// The number of the group is the leader's, and can be reused once the leader is reaped. So the group is ended while
/// the leader is still in the process table, and never after.
struct HookProcessGroup(Option<Pid>);

impl HookProcessGroup {
    fn led_by(child: &Child) -> HookProcessGroup {
        HookProcessGroup(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// Waits until the leader has ended, without reaping it.
    async fn leader_ended(&self) {
        if let Some(leader) = self.0 {
            let wait = move || {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(leader), options) {}
            };
            // A blocking thread, since no other call waits for an end without reaping. It cannot outlive the hook:
            // dropping the future drops the group, which ends the leader.
            let _ended = tokio::task::spawn_blocking(wait).await;
        }
    }

    fn end(&mut self) {
        if let Some(leader) = self.0.take() {
            // An error means that the group has ended already.
            let _gone = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for HookProcessGroup {
    fn drop(&mut self) {
        self.end();
    }
}

/// The end of a hook's standard error.
struct HookStderr {
    pipe: Option<ChildStderr>,
    end: Vec<u8>,
}

impl HookStderr {
    /// Reads until the end, so that a full pipe never blocks the hook.
    async fn drain(&mut self) {
        let mut piece = [0; 1024];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut piece).await {
                Ok(0) | Err(_) => self.pipe = None,
                Ok(read) => {
                    self.end.extend_from_slice(piece.get(..read).unwrap_or_default());
                    let surplus = self.end.len().saturating_sub(STDERR_TAIL_BYTES);
                    self.end.drain(..surplus);
                }
            }
        }
    }

    async fn drain_forever(&mut self) -> Infallible {
        self.drain().await;
        std::future::pending().await
    }

    /// Appends the last line, where programs report their errors, to the error.
    fn append_to(&self, error: HookError) -> HookError {
        let text = String::from_utf8_lossy(&self.end);
        match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(last) => HookError(format!("{}: {}", error.0, visible_text(last))),
            None => error,
        }
    }
}
