//! Folds names for comparison.

use std::borrow::Cow;

use envelope::VaultPath;

/// Returns a path as the text of a note names it: without escapes. No text names bytes that are not UTF-8; they stay
/// escaped.
pub(super) fn linked_path(path: &VaultPath) -> Cow<'_, str> {
    path.readable()
}

/// Folds a name; texts with the same folded form name the same file.
///
/// Same as the folding of `VaultPath`, but independent of context: a sigma at the end of a stem is no longer
/// at the end of the name once `.md` follows, so both forms of sigma are equal. A non-breaking space equals a
/// space, as in Obsidian.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    VaultPath::fold_text(&text.replace(['\u{a0}', '\u{202f}'], " ")).replace('ς', "σ")
}
