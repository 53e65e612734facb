//! Runs one program: a message in, an answer out, and nothing of it left running.
//!
//! What is absent on purpose: a time limit. Whoever waits for a hook has one, and giving up the wait ends
//! the program with everything it started.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr};

use super::HookError;
use crate::inputs::visible_text;

/// More than any reasonable answer; a hook that prints without end must not fill our memory.
const MAX_REPLY_BYTES: u64 = 4 * 1024 * 1024;

/// How much of what a hook complains about is kept: the end, where programs say what went wrong.
const COMPLAINT_BYTES: usize = 2 * 1024;

/// How long a complaint is waited for once the hook has ended; only a process that left its group can
/// still hold the pipe open.
const COMPLAINT_WAIT: Duration = Duration::from_millis(200);

/// How often, and after which time, the start of a program is tried again that is still open for writing.
const BUSY_TRIES: u32 = 20;
const BUSY_WAIT: Duration = Duration::from_millis(10);

/// Hands the program its message, in the folder `cwd`, and returns what it answers, if it ends well.
#[allow(
    clippy::disallowed_methods,
    reason = "a hook is a program of the vault's owner, run with a built environment"
)]
pub(super) async fn exchange(argv: &[String], cwd: &Path, message: Vec<u8>) -> Result<Vec<u8>, HookError> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(HookError("its command is empty".to_owned()));
    };
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .current_dir(cwd)
        // Nothing is inherited: a hook must not see secrets that happen to be in our environment.
        .env_clear()
        .envs(std::env::vars_os().filter(|(key, _)| key == "PATH" || key == "HOME" || key == "LANG"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: Ctrl-C at the terminal is for us, and whatever the hook started ends with it.
        .process_group(0)
        .kill_on_drop(true);
    let mut child = spawn(&mut command)
        .await
        .map_err(|error| HookError(format!("`{program}` cannot be started: {error}")))?;
    let mut complaint = Complaint { pipe: child.stderr.take(), end: Vec::new() };
    // Declared after the child, so dropped before it: the group ends before anyone can reap its leader.
    let mut group = Group::led_by(&child);
    let settled = tokio::select! {
        biased;
        settled = converse(&mut child, &mut group, message) => settled,
        never = complaint.listen_on() => match never {},
    };
    let error = match settled {
        Ok((status, reply)) if status.success() => return Ok(reply),
        Ok((status, _)) => HookError(format!("`{program}` ended with {status}")),
        Err(error) => error,
    };
    group.end();
    let _held_open = tokio::time::timeout(COMPLAINT_WAIT, complaint.listen()).await;
    Err(complaint.added_to(error))
}

/// Starts the program. A file that was just written may be open for writing for a moment longer, in a process that
/// another thread is about to start; until then the system refuses to run it.
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

async fn converse(
    child: &mut Child,
    group: &mut Group,
    message: Vec<u8>,
) -> Result<(ExitStatus, Vec<u8>), HookError> {
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
    group.leader_ended().await;
    group.end();
    let status = child.wait().await.map_err(|error| HookError(error.to_string()))?;
    Ok((status, reply))
}

/// A hook with everything it started. Ends all of it, however the wait for it ends.
///
/// The number of the group is the leader's, and is free for others once the leader is reaped. So the group
/// is ended while the leader still stands in the process table, and never after.
struct Group(Option<Pid>);

impl Group {
    fn led_by(child: &Child) -> Group {
        Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// Waits until the leader has ended, and leaves it to be reaped.
    async fn leader_ended(&self) {
        if let Some(leader) = self.0 {
            let wait = move || {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(leader), options) {}
            };
            // A thread of its own, since nothing else tells of an end without reaping. It cannot outlive the
            // hook: giving up the wait drops the group, which ends the leader.
            let _ended = tokio::task::spawn_blocking(wait).await;
        }
    }

    fn end(&mut self) {
        if let Some(leader) = self.0.take() {
            // A group that is gone already is what we want.
            let _gone = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// The end of what a hook wrote to its standard error.
struct Complaint {
    pipe: Option<ChildStderr>,
    end: Vec<u8>,
}

impl Complaint {
    /// Reads on, so that a hook that complains at length is not held up by a full pipe.
    async fn listen(&mut self) {
        let mut piece = [0; 1024];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut piece).await {
                Ok(0) | Err(_) => self.pipe = None,
                Ok(read) => {
                    self.end.extend_from_slice(piece.get(..read).unwrap_or_default());
                    let surplus = self.end.len().saturating_sub(COMPLAINT_BYTES);
                    self.end.drain(..surplus);
                }
            }
        }
    }

    async fn listen_on(&mut self) -> Infallible {
        self.listen().await;
        std::future::pending().await
    }

    /// The last line is where programs say what went wrong.
    fn added_to(&self, error: HookError) -> HookError {
        let text = String::from_utf8_lossy(&self.end);
        match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(last) => HookError(format!("{}: {}", error.0, visible_text(last))),
            None => error,
        }
    }
}
