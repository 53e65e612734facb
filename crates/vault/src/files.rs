//! The tools on files and folders: `vault.*`, one file each.

mod blocking;
mod create_file;
mod ensure_folder;
mod frontmatter;
mod given_path;
mod list_files;
mod read_file;

pub use create_file::CreateFile;
pub use ensure_folder::EnsureFolder;
pub use list_files::ListFiles;
pub use read_file::ReadFile;
