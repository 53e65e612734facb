//! The text of notes: links, sections, frontmatter, patches, bullets and slugs. Text in, text or data out.
//!
//! An edit changes exactly the requested range; a byte order mark, the line endings and a missing final
//! newline are kept. An edit that cannot be made exactly fails and changes nothing. This crate has no file
//! system access, no async runtime and no tools: the caller reads and writes the files, and gives the link
//! resolver the paths of the vault as a list.

pub mod bullets;
pub mod frontmatter;
pub mod lines;
pub mod links;
pub mod patch;
pub mod replace_text;
pub mod section;
pub mod slug;
mod hidden_blocks;
mod splice;
pub mod yaml;
