//! Paths inside the vault.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::{escape_line, is_invisible};

/// A path inside the vault: relative, `/`-separated, without `..`, and portable to every system that a vault
/// is synced to.
///
/// Text checks do not protect against symbolic links; the vault opens files relative to a directory handle as
/// well. Invariant: at least one segment; every segment passes [`bad_segment`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct VaultPath(String);

/// The reason why a text is not a path inside the vault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a path inside the vault: {rule}", excerpt(.raw))]
pub struct BadPath {
    pub raw: String,
    pub rule: String,
}

/// Folders that belong to other programs or to Tollgate. Obsidian and git execute files of a vault, so a tool
/// that could write here could run programs.
///
/// The second string is the start of the short name on Windows: `GIT~1`, or with a higher number.
const PROTECTED: [(&str, &str); 4] =
    [(".obsidian", "obsidi~"), (".git", "git~"), (".trash", "trash~"), (".tollgate", "tollga~")];

/// Names that Windows reads as devices, with or without an extension, including superscript digits.
const DEVICES: [&str; 28] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
    "com¹", "com²", "com³", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "lpt¹",
    "lpt²", "lpt³",
];

/// Maximum length of a device name.
const MAX_DEVICE_BYTES: usize = 5;

impl VaultPath {
    /// The longest name that every file system of a synced vault can store.
    pub const MAX_SEGMENT_BYTES: usize = 255;
    pub const MAX_BYTES: usize = 1024;
    /// Prefix of the temporary files that replace other files atomically. Tools cannot use such names, so
    /// that only real leftovers match.
    pub const TEMPORARY_PREFIX: &str = ".tollgate-tmp-";

    /// Parses text from a model or a client.
    pub fn parse(raw: &str) -> Result<VaultPath, BadPath> {
        let bad = |rule: &str| Err(BadPath { raw: raw.to_owned(), rule: rule.to_owned() });
        if raw.is_empty() {
            return bad("it is empty; give a path such as `Folder/Note.md`");
        }
        if raw.len() > VaultPath::MAX_BYTES {
            return bad("it is longer than 1024 bytes");
        }
        if raw.starts_with('/') {
            return bad("it is absolute; leave out the leading `/`");
        }
        if raw.contains('\\') {
            return bad("it contains `\\`; put `/` between folders");
        }
        for segment in raw.split('/') {
            if let Some(rule) = bad_segment(segment) {
                return bad(&rule);
            }
        }
        Ok(VaultPath(raw.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }

    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The last segment.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the folder that contains this path; `None` at the root of the vault.
    pub fn parent(&self) -> Option<VaultPath> {
        self.0.rsplit_once('/').map(|(parent, _)| VaultPath(parent.to_owned()))
    }

    /// Returns a path below this one.
    pub fn join(&self, segment: &str) -> Result<VaultPath, BadPath> {
        let path = format!("{}/{segment}", self.0);
        // The part before the name was checked when this path was created.
        if path.len() <= VaultPath::MAX_BYTES && VaultPath::is_name(segment) {
            return Ok(VaultPath(path));
        }
        VaultPath::parse(&path)
    }

    /// Whether a name on disk could be one segment of a path.
    pub fn is_name(name: &str) -> bool {
        !name.contains(['/', '\\']) && bad_segment(name).is_none()
    }

    /// Returns the form for comparisons: equal if any system of a synced vault takes the two paths for the
    /// same file.
    pub fn folded(&self) -> String {
        fold(&self.0)
    }

    /// Returns [`VaultPath::folded`] for one name on disk, which can be an invalid path.
    pub fn fold_name(name: &str) -> String {
        fold(name)
    }

    /// Returns the protected names in their usual spelling.
    pub fn protected_names() -> impl Iterator<Item = &'static str> {
        PROTECTED.iter().map(|(name, _)| *name)
    }

    /// Whether a name is that of a protected folder, in any spelling.
    pub fn is_protected_name(name: &str) -> bool {
        protection(name).is_some()
    }

    /// Returns the name of the protected folder that contains the path, in any spelling.
    pub fn protected_by(&self) -> Option<&'static str> {
        self.segments().find_map(protection)
    }
}

/// Returns the protected folder that a name matches.
fn protection(segment: &str) -> Option<&'static str> {
    // Every protected name starts with a dot or, in its short form, contains a tilde; most names have
    // neither.
    if segment.is_ascii() && !segment.starts_with('.') && !segment.contains('~') {
        return None;
    }
    let plain = skeleton(segment);
    if plain.starts_with(VaultPath::TEMPORARY_PREFIX) {
        return Some(VaultPath::TEMPORARY_PREFIX);
    }
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    PROTECTED
        .into_iter()
        .find(|(name, short)| plain == *name || plain.strip_prefix(short).is_some_and(is_number))
        .map(|(name, _)| name)
}

/// Returns a description of the rule that a segment violates.
fn bad_segment(segment: &str) -> Option<String> {
    let rule = match segment {
        "" => "it has an empty part; use single `/` between folders and none at the end",
        "." | ".." => "it contains `.` or `..`; name the folder itself",
        _ if segment.len() > VaultPath::MAX_SEGMENT_BYTES => "a name in it is longer than 255 bytes",
        _ if segment.ends_with([' ', '.']) => "a name in it ends with a space or a dot",
        _ if segment.starts_with(' ') => "a name in it starts with a space",
        _ => {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'_' | b'.');
            // Fast path: most names have only plain characters.
            if !segment.bytes().all(plain)
                && let Some(c) = segment.chars().find(|c| is_forbidden(*c))
            {
                return Some(format!("it contains {}; use a plain character", escape_char(c)));
            }
            let stem = segment.split('.').next().unwrap_or(segment).trim_end();
            if stem.len() > MAX_DEVICE_BYTES {
                return None;
            }
            let stem = stem.to_lowercase();
            if DEVICES.contains(&stem.as_str()) {
                return Some(format!("`{stem}` is the name of a device on Windows; choose another name"));
            }
            return None;
        }
    };
    Some(rule.to_owned())
}

/// Characters with a special meaning for a system, or that hide the meaning of a name. Characters that only
/// Windows refuses (`*`, `?`, quotes and the like) are allowed because many notes have them; writing a new
/// one produces a warning.
fn is_forbidden(c: char) -> bool {
    c.is_control() || c == ':' || is_bidi_control(c)
}

fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape_char(c: char) -> String {
    if is_invisible(c) { format!("U+{:04X}", u32::from(c)) } else { format!("`{c}`") }
}

/// Returns the start of the invalid text with every invisible character escaped.
fn excerpt(raw: &str) -> String {
    match raw.char_indices().nth(200) {
        Some((cut, _)) => format!("{}…", escape_line(&raw[..cut])),
        None => escape_line(raw).into_owned(),
    }
}

/// Folds case and normalizes to NFC, without the characters that some file systems ignore in a name.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Upper and then lower case makes `ß` equal to `ss`, and the final sigma equal to the other one.
    text.nfc()
        .filter(|c| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'))
        .collect::<String>()
        .to_uppercase()
        .to_lowercase()
        .nfc()
        .collect()
}

/// Removes everything that a file system, a font or a conversion may drop: case, accents, widths, invisible
/// characters. Coarser than [`fold`], and only for protected names, where refusing one name too many does no
/// harm.
fn skeleton(segment: &str) -> String {
    if segment.is_ascii() {
        return segment.to_ascii_lowercase();
    }
    let plain: String = segment.nfkd().filter(|c| !is_combining_mark(*c) && !is_invisible(*c)).collect();
    fold(&plain).nfkd().filter(|c| !is_combining_mark(*c)).collect()
}

impl TryFrom<String> for VaultPath {
    type Error = BadPath;
    fn try_from(raw: String) -> Result<VaultPath, BadPath> {
        VaultPath::parse(&raw)
    }
}

impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl JsonSchema for VaultPath {
    fn schema_name() -> Cow<'static, str> {
        "VaultPath".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": VaultPath::MAX_BYTES })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::VaultPath;

    #[test]
    fn ordinary_notes_are_paths() {
        for good in [
            "Note.md",
            "Folder/Note.md",
            "Tägliche Notizen/2026-11-15.md",
            "日記/猫.md",
            "a.b/c",
            ".hidden",
            "Why? Because \"so\" <1|2> *.md",
            "👨‍👩‍👧.md",
        ] {
            assert_eq!(VaultPath::parse(good).map(|p| p.to_string()), Ok(good.to_owned()));
        }
    }

    // Conformance: tool 1.6
    //     Paths are relative to the vault with `/` between parts, never absolute, never a URI.
    //     In: envelope/vault_path.rs
    #[test]
    fn whatever_could_leave_the_vault_or_break_a_sync_is_refused() {
        for bad in [
            "",
            "/etc/passwd",
            "..",
            "../x",
            "a/../b",
            "a/./b",
            ".",
            "a//b",
            "a/",
            "a\\b",
            "\\\\server\\share",
            "C:/x",
            "a.md:stream",
            "a\0b",
            "a\nb",
            "nul",
            "NUL.txt",
            "Com1",
            "com¹.md",
            "lpt9.md",
            "a.",
            "a ",
            "b/ c",
            "a\u{202e}b",
            "file://x",
        ] {
            assert!(VaultPath::parse(bad).is_err(), "{bad:?}");
        }
        assert!(VaultPath::parse(&"x".repeat(256)).is_err());
        assert!(VaultPath::parse(&vec!["x"; 600].join("/")).is_err());
    }

    #[test]
    fn twins_fold_together_and_strangers_do_not() {
        let fold = |text: &str| VaultPath::parse(text).unwrap().folded();
        assert_eq!(fold("NOTES/A.MD"), fold("notes/a.md"));
        assert_eq!(fold("cafe\u{301}.md"), fold("CAFÉ.md"));
        assert_eq!(fold("Straße.md"), fold("STRASSE.md"));
        assert_eq!(fold("a\u{200b}b.md"), fold("ab.md"));
        assert_ne!(fold("a.md"), fold("b.md"));
    }

    #[test]
    fn protected_folders_are_known_in_any_spelling() {
        for (path, by) in [
            (".obsidian/app.json", Some(".obsidian")),
            (".OBSIDIAN/x", Some(".obsidian")),
            ("a/.git/config", Some(".git")),
            (".g\u{200c}it/config", Some(".git")),
            (".gi\u{e0041}t/config", Some(".git")),
            (".tollgate", Some(".tollgate")),
            (".trash/x.md", Some(".trash")),
            // Short names on Windows.
            ("GIT~1/config", Some(".git")),
            ("OBSIDI~1/app.json", Some(".obsidian")),
            ("a/obsidi~12", Some(".obsidian")),
            ("TOLLGA~1/runs", Some(".tollgate")),
            ("TRASH~1/x.md", Some(".trash")),
            // A dotted capital I, a dotless small one, an accent, wide letters, a soft hyphen, a long s.
            (".OBS\u{130}DIAN/app.json", Some(".obsidian")),
            (".OBSI\u{307}D\u{131}AN/app.json", Some(".obsidian")),
            (".gi\u{300}t/config", Some(".git")),
            ("\u{ff0e}\u{ff47}it/config", Some(".git")),
            (".g\u{ad}it/config", Some(".git")),
            (".tra\u{17f}h/x", Some(".trash")),
            // Temporary files of Tollgate.
            (".tollgate-tmp-1", Some(".tollgate-tmp-")),
            ("a/.Tollgate-TMP-x.md", Some(".tollgate-tmp-")),
            (".obsidian.md", None),
            ("git/x.md", None),
            ("git~/x.md", None),
            ("git~1.md", None),
            ("digit~1", None),
            ("obsidian/x.md", None),
            ("tollgate-tmp-1.md", None),
        ] {
            assert_eq!(VaultPath::parse(path).unwrap().protected_by(), by, "{path:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic_or_climb(raw in any::<String>()) {
            if let Ok(path) = VaultPath::parse(&raw) {
                assert!(path.segments().all(|s| !s.is_empty() && s != "." && s != ".."));
                assert!(!raw.contains(['\0', '\\', ':']));
            }
        }

        #[test]
        fn a_joined_path_is_judged_like_a_whole_one(
            segment in r"[a-zA-Z .:/\\~¹.]{0,8}|(con|AUX|com¹|lpt9)[. ]{0,2}[a-z]{0,2}|x{1000,1022}",
        ) {
            let folder = VaultPath::parse("a").unwrap();
            assert_eq!(folder.join(&segment), VaultPath::parse(&format!("a/{segment}")));
            assert_eq!(VaultPath::is_name(&segment), !segment.contains('/') && VaultPath::parse(&segment).is_ok());
        }

        #[test]
        fn folding_is_settled_after_once(raw in "[a-zA-ZäÄßéΣς.]{1,12}") {
            if let Ok(path) = VaultPath::parse(&raw) {
                let once = path.folded();
                if let Ok(again) = VaultPath::parse(&once) {
                    assert_eq!(again.folded(), once);
                }
            }
        }
    }
}
