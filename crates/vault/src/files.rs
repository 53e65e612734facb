//! Tools on files and folders: `vault.*`, one file per tool.

mod blocking;
mod collision;
mod content_arg;
mod create_file;
mod delete;
mod edit_tool;
mod ensure_folder;
mod intent_rollback;
mod reconcile;
mod expected_etag;
mod first_names;
mod frontmatter;
mod get_links;
mod get_outline;
mod path_arg;
mod list_files;
mod page_marks;
mod maybe_vault;
mod patch_file;
mod patch_section;
mod read_file;
mod read_tool;
mod link_updates;
mod rename;
mod apply_rename;
mod replace_text;
mod restore;
mod search_text;
mod update_frontmatter;
mod write_file;
mod write_tool;

pub use blocking::{run_blocking, run_blocking_uncancelled};
pub(crate) use create_file::CreateFile;
pub(crate) use delete::DeletePath;
pub(crate) use edit_tool::EditTool;
pub(crate) use ensure_folder::EnsureFolder;
pub(crate) use get_links::GetLinks;
pub(crate) use get_outline::GetOutline;
pub(crate) use list_files::ListFiles;
pub(crate) use maybe_vault::MaybeVault;
pub(crate) use patch_file::PatchFile;
pub(crate) use patch_section::PatchSection;
pub(crate) use read_file::ReadFile;
pub(crate) use read_tool::ReadToolAdapter;
pub use reconcile::{ReconcileEvidence, reconcile_intent};
pub(crate) use rename::RenamePath;
pub(crate) use replace_text::ReplaceText;
pub(crate) use restore::RestoreChanges;
pub use restore::{
    DeadLink, RestoreCause, RestoreChoices, RestoreConflict, RestorePlan, RestoredEntry, RestoredLinkEdit,
    RestoredLinks, is_taken_back, plan_link_updates, plan_restore,
};
pub(crate) use search_text::SearchText;
pub(crate) use update_frontmatter::UpdateFrontmatter;
pub(crate) use write_file::WriteFile;
pub(crate) use write_tool::WriteToolAdapter;
