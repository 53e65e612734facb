//! The tools on files and folders: `vault.*`, one file each.

mod before;
mod blocking;
mod create_file;
mod ensure_folder;
mod frontmatter;
mod given_path;
mod list_files;
mod maybe_vault;
mod read_file;

pub(crate) use create_file::CreateFile;
pub(crate) use ensure_folder::EnsureFolder;
pub(crate) use list_files::ListFiles;
pub(crate) use maybe_vault::MaybeVault;
pub(crate) use read_file::ReadFile;
