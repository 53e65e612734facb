//! The tools on a host, one file each.

mod acting;
mod active;
mod editing;
mod get_context;
mod get_selection;
mod insert_at_cursor;
mod list_commands;
mod maybe_host;
mod open_file;
mod replace_range;
mod replace_selection;
mod run_command;
mod set_selection;

pub(crate) use acting::Acting;
pub(crate) use editing::Editing;
pub(crate) use get_context::GetContext;
pub(crate) use get_selection::GetSelection;
pub(crate) use insert_at_cursor::InsertAtCursor;
pub(crate) use list_commands::ListCommands;
pub(crate) use maybe_host::MaybeHost;
pub(crate) use open_file::OpenFile;
pub(crate) use replace_range::ReplaceRange;
pub(crate) use replace_selection::ReplaceSelection;
pub(crate) use run_command::RunCommand;
pub(crate) use set_selection::SetSelection;
