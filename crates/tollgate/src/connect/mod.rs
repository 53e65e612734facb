//! How clients are told to use Tollgate over MCP: which file each of them reads, what goes into it, and how it gets
//! there without touching anything else.
//!
//! Nothing here asks or prints. The token of the server is never part of what is written: files of a project are
//! committed, and others are synced.

mod client;
mod edit;
mod entry;
mod file;
mod found;
mod jsonc;
mod jsonc_edit;
mod merge;
mod places;
mod secrets;
#[cfg(test)]
mod tests;
mod toml_edit;
mod toml_text;
mod trial;
mod variables;

pub(crate) use client::{Client, Format, Scope};
pub(crate) use edit::{Edited, edit, snippet};
pub(crate) use entry::{Door, STATE_VARIABLE, Server, TOKEN_VARIABLE};
pub(crate) use file::Written;
pub(crate) use found::{Found, Unread, find};
pub(crate) use places::Homes;
pub(crate) use secrets::without_secrets;
pub(crate) use trial::{ANSWER_LIMIT, Started, try_out};
pub(crate) use variables::foreign_variables;
