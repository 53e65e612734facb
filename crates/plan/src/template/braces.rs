//! Words between braces, such as `{item.path}` and `{{item.path}}`.
//!
//! Doubled braces are single literal ones only around a word that is in scope. Around any other text braces stay as they
//! are, so that templates of other programs (`{{date}}`), JSON and formulas pass unchanged.

use crate::reference::ReferenceParse;
use crate::{Reference, TemplateScope};

/// Longer than any sensible reference; limits the search after a lone brace in a long text.
const LONGEST: usize = 1024;

/// A text between a run of opening and a run of closing braces, on one line.
pub(crate) struct BracedText<'t> {
    pub(crate) opening: usize,
    pub(crate) inner: &'t str,
    pub(crate) closing: usize,
    /// The text behind the closing braces.
    pub(crate) after: &'t str,
}

/// The kind of a text between braces.
pub(crate) enum BracedKind<'t> {
    /// A reference in scope, an invalid one, or one with spaces around it: doubled braces are literal around it.
    InScope(ReferenceParse<'t>),
    /// The form of a reference, but not in scope.
    Unscoped {
        word: &'t str,
        path: &'t str,
    },
    Other,
}

impl<'t> BracedText<'t> {
    /// Reads the start of a text that begins with `{`. Returns `None` if the next brace does not close it.
    pub(crate) fn read(here: &'t str) -> Option<BracedText<'t>> {
        let inner = here.trim_start_matches('{');
        let window = inner.as_bytes().get(..LONGEST).unwrap_or(inner.as_bytes());
        let end = window.iter().position(|b| matches!(b, b'{' | b'}' | b'\n'))?;
        let (inner_text, rest) = inner.split_at(end);
        let after = rest.trim_start_matches('}');
        let closing = rest.len() - after.len();
        let opening = here.len() - inner.len();
        (closing > 0).then_some(BracedText { opening, inner: inner_text, closing, after })
    }

    pub(crate) fn kind(&self, scope: &TemplateScope<'_>) -> BracedKind<'t> {
        match Reference::parse(self.inner, scope) {
            ReferenceParse::Unscoped { word, path } => BracedKind::Unscoped { word, path },
            ReferenceParse::Other => match Reference::parse(self.inner.trim(), scope) {
                ReferenceParse::Reference(_) | ReferenceParse::Bad(_) if self.is_doubled() => {
                    BracedKind::InScope(ReferenceParse::Other)
                }
                ReferenceParse::Reference(_)
                | ReferenceParse::Bad(_)
                | ReferenceParse::Unscoped { .. }
                | ReferenceParse::Other => BracedKind::Other,
            },
            found @ (ReferenceParse::Reference(_) | ReferenceParse::Bad(_)) => BracedKind::InScope(found),
        }
    }

    /// Number of opening braces that have a closing one.
    pub(crate) fn pairs(&self) -> usize {
        self.opening.min(self.closing)
    }

    fn is_doubled(&self) -> bool {
        self.pairs() > 1
    }
}
