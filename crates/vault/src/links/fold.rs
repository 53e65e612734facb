//! The form in which names are compared.

use envelope::VaultPath;

/// Two texts that fold alike name the same file.
///
/// `VaultPath`'s folding, made blind to what stands around a word: a sigma at the end of a stem is not at
/// the end of the name once `.md` follows it, so both sigmas count as one. A space that does not break is
/// a space, as it is for Obsidian.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    VaultPath::fold_name(&text.replace(['\u{a0}', '\u{202f}'], " ")).replace('ς', "σ")
}
