//! How the file layer reports what it did, the moment it did it.

use std::io::{Read, Write};

use envelope::{Change, DataRef, Failure, Fault};

/// Whoever asked for the work: hears of each change when it is seen, can stop what has not begun, and keeps
/// what is about to be overwritten.
///
/// A change is told before the next step is tried, so that a call that fails halfway still reports the
/// half that happened.
pub trait Witness {
    fn saw(&self, change: Change);

    /// Asked before each step that changes something, and between the pieces of a long read.
    fn may_go_on(&self) -> Result<(), Fault>;

    /// Takes content that is about to go, and says what it took. A witness without a store takes nothing and
    /// lets it go for good.
    fn keep(&self, _content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        Ok(None)
    }

    /// Writes content that was kept to `into`.
    fn fetch(&self, wanted: &DataRef, _into: &mut dyn Write) -> Result<(), Fault> {
        Err(Fault::new(Failure::NotFound, format!("nothing was kept as {}", wanted.hash)))
    }

    /// Whether exactly the changes that were written down may be made: a file that is moved must hold what it held then.
    /// Otherwise an edit that comes in between moves along with its file.
    fn is_held_to_intent(&self) -> bool {
        false
    }

    /// How far a long piece of work has come.
    fn progress(&self, _done: u64, _total: u64, _message: &str) {}
}
