//! The tools on files and folders: `vault.*`, one file each.

mod blocking;
mod create_file;
mod delete;
mod editing;
mod ensure_folder;
mod evidence;
mod expected_etag;
mod frontmatter;
mod given_path;
mod list_files;
mod marks;
mod maybe_vault;
mod patch_file;
mod patch_section;
mod read_file;
mod replace_text;
mod search_text;
mod update_frontmatter;
mod write_file;
mod writing;

pub use blocking::{blocking, finding_out};
pub(crate) use create_file::CreateFile;
pub(crate) use delete::Delete;
pub(crate) use editing::Editing;
pub(crate) use ensure_folder::EnsureFolder;
pub use evidence::{Evidence, examine};
pub(crate) use list_files::ListFiles;
pub(crate) use maybe_vault::MaybeVault;
pub(crate) use patch_file::PatchFile;
pub(crate) use patch_section::PatchSection;
pub(crate) use read_file::ReadFile;
pub(crate) use replace_text::ReplaceText;
pub(crate) use search_text::SearchText;
pub(crate) use update_frontmatter::UpdateFrontmatter;
pub(crate) use write_file::WriteFile;
pub(crate) use writing::Writing;
