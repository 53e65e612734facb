//! What connects a command to us: pipes, or a terminal.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::input::Input;
use super::pty::{self, Window};
use super::spawner::ChildEnds;
use super::system;

/// The size of a pipe, if the system grants it: the larger, the less often two sides wait for each other.
pub(super) const PIPE_BYTES: usize = 1 << 20;

/// Our ends. None of them ever makes us wait.
#[derive(Debug)]
pub(super) struct OurEnds {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    /// None for a terminal, where both streams are one.
    pub(super) stderr: Option<OwnedFd>,
}

pub(super) fn connect(input: &Input, terminal: Option<Window>) -> io::Result<(OurEnds, ChildEnds)> {
    let (ours, theirs) = match terminal {
        Some(window) => terminal_ends(window)?,
        None => pipe_ends(input)?,
    };
    for end in [Some(&ours.stdout), ours.stderr.as_ref(), ours.stdin.as_ref()].into_iter().flatten() {
        fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
    }
    Ok((ours, theirs))
}

fn terminal_ends(window: Window) -> io::Result<(OurEnds, ChildEnds)> {
    let (ours, theirs) = pty::open(window)?;
    let ends = ChildEnds { stdin: theirs.try_clone()?.into(), stdout: theirs.try_clone()?, stderr: theirs };
    Ok((OurEnds { stdin: Some(ours.try_clone()?), stdout: ours, stderr: None }, ends))
}

fn pipe_ends(input: &Input) -> io::Result<(OurEnds, ChildEnds)> {
    let (out, their_out) = output_pipe()?;
    let (err, their_err) = output_pipe()?;
    let (stdin, their_in) = match input {
        Input::Nothing => (None, Stdio::null()),
        Input::Text(_) | Input::Open(_) => {
            let (theirs, ours) = system::pipe()?;
            (Some(ours), theirs.into())
        }
    };
    let ends = ChildEnds { stdin: their_in, stdout: their_out, stderr: their_err };
    Ok((OurEnds { stdin, stdout: out, stderr: Some(err) }, ends))
}

fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = system::pipe()?;
    // Beyond what one user may have, the pipe stays as large as it is.
    system::widen(&ours, PIPE_BYTES);
    Ok((ours, theirs))
}
