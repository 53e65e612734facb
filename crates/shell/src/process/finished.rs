//! What is known of a command: while it runs, and when it has ended.

use std::sync::Arc;

use envelope::Fault;

use super::exit::Exit;
use super::feed::{Fresh, Progress};
use super::spool::Stream;

/// Why a command is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It ended by itself.
    Itself,
    /// Its time was up.
    TimedOut,
    /// The call that started it was cancelled.
    Cancelled,
    /// Somebody stopped it.
    Stopped,
    /// It printed more than it may.
    OutputLimit,
}

/// A command that is over, with everything it left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub cause: Cause,
    /// None if not even a kill has ended it.
    pub exit: Option<Exit>,
    /// Of a terminal, both streams.
    pub stdout: Stream,
    /// None for a terminal.
    pub stderr: Option<Stream>,
    /// Processes that could not be ended.
    pub survivors: Vec<i32>,
    /// What the user has to know about what it left, one sentence each.
    pub warnings: Vec<String>,
}

impl Finished {
    /// The same without what was printed.
    pub(super) fn unsaid(self) -> Finished {
        Finished { stdout: Stream::empty(), stderr: self.stderr.map(|_| Stream::empty()), ..self }
    }

    /// What was printed where complaints go, as far as it is short.
    pub(super) fn complaint(&self) -> &[u8] {
        self.stderr.as_ref().unwrap_or(&self.stdout).text.as_deref().unwrap_or_default()
    }
}

/// How it ended: with a result, or with the reason why there is none.
pub type End = Arc<Result<Finished, Fault>>;

/// A place in the output of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    pub(super) stdout: Progress,
    pub(super) stderr: Progress,
}

/// What a command printed since it was last asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewOutput {
    /// Of a terminal, both streams.
    pub stdout: Fresh,
    /// None for a terminal.
    pub stderr: Option<Fresh>,
}

impl NewOutput {
    pub fn is_empty(&self) -> bool {
        let none = |fresh: &Fresh| fresh.from == fresh.to;
        none(&self.stdout) && self.stderr.as_ref().is_none_or(none)
    }
}
