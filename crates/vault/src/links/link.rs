//! One link, and the bytes it is made of.

use std::ops::Range;

use super::quoting::Quoting;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkKind {
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
pub(crate) struct Link {
    pub(crate) kind: LinkKind,
    /// The whole link, in bytes of the file.
    pub(crate) span: Range<usize>,
    /// The path as it is meant, without escapes. Empty for a link into its own note.
    pub(crate) target: String,
    /// What follows the first `#`, as written.
    pub(crate) fragment: Option<String>,
    /// Alias, size or link text, as written.
    pub(crate) display: Option<String>,
    /// Where the link begins, counted from 1.
    pub(crate) line: u32,
    pub(super) written: Written,
}

/// How a link is written: what a rewrite has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// The bytes of the file that name the target.
    pub(super) path: Range<usize>,
    /// The bytes of the file that are shown instead.
    pub(super) display: Option<Range<usize>>,
    pub(super) form: Form,
    /// What the link is wrapped in.
    pub(super) quoting: Quoting,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// Between `[[` and `]]`: as it is.
    Wiki,
    /// The destination of a Markdown link, escaped.
    Destination {
        /// The path as written, for its manner of escaping.
        raw: String,
        /// Between `<` and `>`.
        angle: bool,
        /// What has to follow the path again, when `path` covers more than the path.
        tail: String,
    },
    /// A path from the root of the vault and nothing else.
    Path,
}

impl Link {
    /// Whether other readers of Markdown take the path as relative to the note.
    pub(super) fn is_markdown(&self) -> bool {
        matches!(self.written.form, Form::Destination { .. })
    }
}
