//! Tools on text alone: `util.*`. Nothing here touches the vault.

pub(crate) mod base64;
mod bullets;
mod parse_markdown_bullets;
mod slug;
mod slugify_title;
pub(crate) mod yaml;

pub(crate) use parse_markdown_bullets::ParseMarkdownBullets;
pub(crate) use slugify_title::SlugifyTitle;
