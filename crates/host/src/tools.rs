//! The tools on a host, one file each.

mod host_action;
mod active_note;
mod edit_action;
mod get_context;
mod get_selection;
mod insert_at_cursor;
mod list_commands;
mod host_handle;
mod open_file;
mod replace_range;
mod replace_selection;
mod replaced_text;
mod run_command;
mod set_selection;

pub(crate) use edit_action::EditAction;
pub(crate) use get_context::GetContext;
pub(crate) use get_selection::GetSelection;
pub(crate) use host_action::HostActionTool;
pub(crate) use host_handle::HostHandle;
pub(crate) use insert_at_cursor::InsertAtCursor;
pub(crate) use list_commands::ListCommands;
pub(crate) use open_file::OpenFile;
pub(crate) use replace_range::ReplaceEditorRange;
pub(crate) use replace_selection::ReplaceSelection;
pub(crate) use run_command::RunHostCommand;
pub(crate) use set_selection::SetSelection;
