//! State of a command while it runs, and its result.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use envelope::Fault;
use rustix::process::Pid;

use super::capture_file::CapturedStream;
use super::tail::{StreamDelta, StreamPosition};
use crate::platform;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildExit {
    Code(i32),
    Signal(i32),
}

impl ChildExit {
    /// Collects a child that has ended, and waits for its end if necessary.
    pub(super) fn collect(child: Pid, watched: BorrowedFd<'_>) -> io::Result<Option<ChildExit>> {
        let status = platform::wait_for_exit(child, watched)?;
        Ok(status.and_then(|status| {
            status.exit_status().map(ChildExit::Code).or(status.terminating_signal().map(ChildExit::Signal))
        }))
    }
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    /// It exited.
    Exited,
    /// Its timeout passed.
    TimedOut,
    /// The call that started it was cancelled.
    Cancelled,
    /// It was stopped as a task.
    Stopped,
    /// It exceeded its output limit.
    OutputLimit,
}

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedCommand {
    pub cause: EndCause,
    /// `None` if even a kill did not end it.
    pub exit: Option<ChildExit>,
    /// For a terminal, both streams.
    pub stdout: CapturedStream,
    /// `None` for a terminal.
    pub stderr: Option<CapturedStream>,
    /// Processes that could not be killed.
    pub survivors: Vec<i32>,
    /// Warnings for the user about its effects, one sentence each.
    pub warnings: Vec<String>,
}

impl FinishedCommand {
    /// Returns the result without its output.
    pub(super) fn without_output(self) -> FinishedCommand {
        FinishedCommand {
            stdout: CapturedStream::empty(),
            stderr: self.stderr.map(|_| CapturedStream::empty()),
            ..self
        }
    }

    /// Returns what it printed on standard error, or at its terminal, if that is short.
    pub(super) fn error_text(&self) -> &[u8] {
        self.stderr.as_ref().unwrap_or(&self.stdout).text.as_deref().unwrap_or_default()
    }
}

/// How it ended: a result, or the reason why it is missing.
pub type CommandEnd = Arc<Result<FinishedCommand, Fault>>;

/// A position in the output of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutputCursor {
    pub(super) stdout: StreamPosition,
    pub(super) stderr: StreamPosition,
}

/// Output since a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewOutput {
    /// For a terminal, both streams.
    pub stdout: StreamDelta,
    /// `None` for a terminal.
    pub stderr: Option<StreamDelta>,
}

impl NewOutput {
    pub fn is_empty(&self) -> bool {
        let none = |fresh: &StreamDelta| fresh.from == fresh.to;
        none(&self.stdout) && self.stderr.as_ref().is_none_or(none)
    }
}
