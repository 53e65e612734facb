//! What compiling a template noticed, for the checker to weigh and to put into words.

/// One observation about one string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateNote {
    /// JSON pointer from the compiled value to the string.
    pub pointer: String,
    pub kind: NoteKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteKind {
    /// Starts like a reference that is in scope, but is none. It would stay text, which nobody can have meant.
    BadReference {
        /// As it was written, with its `$` or braces.
        text: String,
        why: String,
    },
    /// A brace word that means nothing here; it stays text.
    UnscopedBrace { text: String, nearest: Option<String> },
    /// `$word.path` as a whole string, whose word is near one that is in scope; it stays text.
    UnscopedDollar { text: String, nearest: String },
    /// Doubled braces that look meant otherwise: they stand for single ones.
    DoubledBraces { text: String, becomes: String },
}
