//! Tools on text only: `util.*`. They do not use the vault.

mod parse_markdown_bullets;
mod slugify_title;

pub(crate) use parse_markdown_bullets::ParseMarkdownBullets;
pub(crate) use slugify_title::SlugifyTitle;
