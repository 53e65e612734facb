//! What a command says it will run, for whoever has to judge it before it runs.
//!
//! Pure: nothing here starts a process, looks into a folder or expands a variable. A line that is not
//! understood in full is called opaque, with the reason; it is never guessed at. What is found in an opaque
//! line is listed all the same, as much of it as can be made out: enough to forbid, never enough to allow.
//!
//! What a program does once it runs is not looked at: `make` runs what its file says, `./build.sh` what is
//! in it. Those are for whoever allows `make`, and for the walls around the process.

mod examples;
mod flags;
mod harmless;
mod line;
mod options;
mod prefix;
mod program;
mod shown;
mod text;
mod workdir;
mod wrappers;

pub use examples::{Stance, judge_examples};
pub use harmless::is_harmless;
pub use line::{CallInput, CommandLine, SimpleCommand};
pub use prefix::{Prefix, Word};
pub use wrappers::{is_wrapper, reads_its_program};
