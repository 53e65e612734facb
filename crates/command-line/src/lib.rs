//! Parser of shell commands: finds what a command will run, for rules and approvals.
//!
//! This crate does no I/O: it does not start a process, read a folder or expand a variable. A line that cannot be
//! parsed completely is called opaque, with the reason; the parser does not guess. Commands that are found in an opaque
//! line are listed as far as possible: enough to forbid, never enough to allow.
//!
//! The effects of a program are out of scope: `make` runs what its file says, `./build.sh` what is in it. Those are for
//! the user who allows `make`, and for the command sandbox.

mod rule_examples;
mod risky_options;
mod harmless;
mod command_line;
mod option_table;
mod command_prefix;
mod program_name;
mod display;
mod shell_parser;
mod workdir;
mod wrappers;

pub use command_line::{CallInput, CommandLine, SimpleCommand};
pub use command_prefix::{CommandPrefix, PrefixWord};
pub use harmless::is_harmless;
pub use rule_examples::{RulePurpose, check_examples};
pub use wrappers::{is_wrapper, reads_its_program};
