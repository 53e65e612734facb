//! A link and the byte ranges of its parts.

use std::ops::Range;

use super::quote_format::QuoteFormat;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// `[[Note]]`
    Wiki,
    /// `![[image.png]]`
    Embed,
    /// `[text](note.md)`
    Markdown,
    /// `![text](image.png)`
    MarkdownImage,
    /// `[label]: note.md`
    Definition,
    /// Any of the above in the value of a property.
    Property,
    /// The file of a canvas node, or the background of a group.
    CanvasFile,
    /// Any of the above in the text of a canvas node.
    CanvasText,
}

/// One link that points into the vault, or would if its target existed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteLink {
    pub kind: LinkKind,
    /// The whole link, in bytes of the file.
    pub span: Range<usize>,
    /// The path without escapes. Empty for a link into its own note.
    pub target: String,
    /// Text after the first `#`, as written.
    pub fragment: Option<String>,
    /// Alias, size or link text, as written.
    pub display: Option<String>,
    /// Line number of the start of the link, counted from 1.
    pub line: u32,
    pub(super) written: LinkSource,
}

/// The source form of a link: everything that a rewrite needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkSource {
    /// The bytes of the file that name the target.
    pub(super) path: Range<usize>,
    /// The bytes of the file that hold the display text.
    pub(super) display: Option<Range<usize>>,
    pub(super) form: LinkSyntax,
    /// Quoting of the string that contains the link.
    pub(super) quoting: QuoteFormat,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkSyntax {
    /// Between `[[` and `]]`, without escapes.
    Wiki,
    /// The destination of a Markdown link, escaped.
    Destination {
        /// The path as written, as the example for the escaping style.
        raw: String,
        /// True if the destination is between `<` and `>`.
        angle: bool,
        /// Text that must follow the path again, if `path` covers more than the path.
        tail: String,
    },
    /// A bare path from the root of the vault.
    Path,
}

impl NoteLink {
    /// Whether other Markdown readers take the path as relative to the note.
    pub(super) fn is_markdown(&self) -> bool {
        matches!(self.written.form, LinkSyntax::Destination { .. })
    }
}
