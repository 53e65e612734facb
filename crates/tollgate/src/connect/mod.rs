//! Sets up clients to use Tollgate over MCP: which file each of them reads, what the entry contains, and how it is
//! written without touching anything else.
//!
//! Nothing here asks or prints. The server's token is never written: files of a project are committed, and others are
//! synced.

mod client;
mod entry_edit;
mod entry;
mod client_config_file;
mod client_entries;
mod jsonc_document;
mod jsonc_edit;
mod entry_merge;
mod client_config_paths;
mod redaction;
#[cfg(test)]
mod tests;
mod toml_edit;
mod toml_text;
mod server_probe;
mod foreign_variables;

pub(crate) use client::{ClientKind, ConfigFormat, ConfigScope};
pub(crate) use client_config_file::ConfigFile;
pub(crate) use client_config_paths::ConfigFolders;
pub(crate) use client_entries::{ClientEntry, UnreadableConfig, find_client_entries};
pub(crate) use entry::{ClientTransport, STATE_VARIABLE, ServerEntry, TOKEN_VARIABLE};
pub(crate) use entry_edit::{EditOutcome, edit_entry, entry_snippet};
pub(crate) use foreign_variables::foreign_variables;
pub(crate) use redaction::redact_secrets;
pub(crate) use server_probe::{ANSWER_LIMIT, ProbeCommand, probe_server};
