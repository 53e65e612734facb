//! The standard streams of a command: pipes, or a terminal.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::command_input::CommandInput;
use super::spawner::ChildStdio;
use super::terminal::{self, TerminalSize};
use crate::platform;

/// Requested size of a pipe: a larger one makes both sides wait less often.
pub(super) const PIPE_BYTES: usize = 1 << 20;

/// Our ends. None of them ever blocks.
#[derive(Debug)]
pub(super) struct ParentStdio {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    /// `None` for a terminal, where both streams are one.
    pub(super) stderr: Option<OwnedFd>,
}

pub(super) fn connect(
    input: &CommandInput,
    terminal: Option<TerminalSize>,
) -> io::Result<(ParentStdio, ChildStdio)> {
    let (ours, theirs) = match terminal {
        Some(window) => terminal_ends(window)?,
        None => pipe_ends(input)?,
    };
    for end in [Some(&ours.stdout), ours.stderr.as_ref(), ours.stdin.as_ref()].into_iter().flatten() {
        fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
    }
    Ok((ours, theirs))
}

fn terminal_ends(window: TerminalSize) -> io::Result<(ParentStdio, ChildStdio)> {
    let (ours, theirs) = terminal::open(window)?;
    let ends = ChildStdio { stdin: theirs.try_clone()?.into(), stdout: theirs.try_clone()?, stderr: theirs };
    Ok((ParentStdio { stdin: Some(ours.try_clone()?), stdout: ours, stderr: None }, ends))
}

fn pipe_ends(input: &CommandInput) -> io::Result<(ParentStdio, ChildStdio)> {
    let (out, their_out) = output_pipe()?;
    let (err, their_err) = output_pipe()?;
    let (stdin, their_in) = match input {
        CommandInput::Nothing => (None, Stdio::null()),
        CommandInput::Text(_) | CommandInput::Open(_) => {
            let (theirs, ours) = platform::pipe()?;
            (Some(ours), theirs.into())
        }
    };
    let ends = ChildStdio { stdin: their_in, stdout: their_out, stderr: their_err };
    Ok((ParentStdio { stdin, stdout: out, stderr: Some(err) }, ends))
}

fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = platform::pipe()?;
    // The system limits the memory of one user's pipes. Beyond that the size stays as it is.
    platform::set_pipe_size(&ours, PIPE_BYTES);
    Ok((ours, theirs))
}

/// Our ends of the three streams of a server process. None of them ever blocks.
#[derive(Debug)]
pub struct StdioPipes {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// Makes three pipes for a server process.
pub(super) fn server_pipes() -> io::Result<(StdioPipes, ChildStdio)> {
    let (their_in, stdin) = platform::pipe()?;
    let (stdout, their_out) = platform::pipe()?;
    let (stderr, their_err) = platform::pipe()?;
    for end in [&stdin, &stdout, &stderr] {
        fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
    }
    let theirs = ChildStdio { stdin: their_in.into(), stdout: their_out, stderr: their_err };
    Ok((StdioPipes { stdin, stdout, stderr }, theirs))
}
