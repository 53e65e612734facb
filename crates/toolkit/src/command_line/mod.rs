//! What a command says it will run, for whoever has to judge it before it runs.
//!
//! Pure: nothing here starts a process, looks into a folder or expands a variable. A line that is not
//! understood in full is called opaque, with the reason; it is never guessed at.

mod line;

pub use line::{CommandLine, SimpleCommand};
