//! Paths inside the vault.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::escaped_name::{escape_name, readable_name, respell_name, unescape_name};
use crate::{escape_line, is_invisible};

/// A path inside the vault: relative, `/`-separated, without `..`, and portable to every system that a vault
/// is synced to, or with escapes such as `a\x3Ab.md` for a file on disk whose name is not portable.
///
/// Text checks do not protect against symbolic links; the vault opens files relative to a directory handle as
/// well. Invariant: at least one segment; every segment passes [`bad_segment`] or is the one escaped form of a name.
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

pub(crate) const MAX_SEGMENT_BYTES: usize = 255;

impl VaultPath {
    /// The longest name that every file system of a synced vault can store.
    pub const MAX_SEGMENT_BYTES: usize = MAX_SEGMENT_BYTES;
    pub const MAX_BYTES: usize = 1024;
    /// Prefix of the temporary files that replace other files atomically. Tools cannot use such names, so
    /// that only real leftovers match.
    pub const TEMPORARY_PREFIX: &str = ".tollgate-tmp-";

    /// Parses text from a model or a client. Refuses escapes, so that nothing is created with a name that other systems
    /// cannot store.
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

    /// Parses the path of something that exists or that a record names: also accepts names as
    /// [`VaultPath::escape_name`] returns them.
    pub fn parse_escaped(raw: &str) -> Result<VaultPath, BadPath> {
        if !raw.contains('\\') {
            return VaultPath::parse(raw);
        }
        let bad = |rule: &str| BadPath { raw: raw.to_owned(), rule: rule.to_owned() };
        if raw.len() > VaultPath::MAX_BYTES {
            return Err(bad("it is longer than 1024 bytes"));
        }
        if raw.split('/').all(|name| unescape_name(name).is_some()) {
            return Ok(VaultPath(raw.to_owned()));
        }
        match VaultPath::parse(&raw.replace('\\', "")) {
            Err(other) => Err(BadPath { raw: raw.to_owned(), ..other }),
            Ok(_) => Err(bad(
                "it contains `\\`; put `/` between folders, and repeat an escape such as `\\x3A` exactly as a tool returned it",
            )),
        }
    }

    /// Returns the path of a file as another program names it, such as `a:b.md`, with the escapes that it needs. Fails for
    /// an absolute path and for one with `.` or `..`.
    pub fn from_readable(text: &str) -> Result<VaultPath, BadPath> {
        let names: Option<Vec<_>> = text.split('/').map(|name| escape_name(name.as_bytes())).collect();
        names.map_or_else(|| VaultPath::parse(text), |names| VaultPath::parse_escaped(&names.join("/")))
    }

    /// Returns the form of a name on disk as a part of a path: the name itself, or with escapes such as `\x3A` for
    /// what makes it unusable on some system. Returns `None` if the name is too long for that.
    pub fn escape_name(raw: &[u8]) -> Option<Cow<'_, str>> {
        escape_name(raw)
    }

    /// Returns the bytes of the name on disk for a part of a path, or `None` if the text is not such a part.
    pub fn unescape_name(name: &str) -> Option<Cow<'_, [u8]>> {
        unescape_name(name)
    }

    /// Returns the escaped form of a name that was put together from such forms, such as ` 1` after `a\x20`.
    pub fn respell_name(name: &str) -> Option<String> {
        respell_name(name)
    }

    /// Whether every name can be stored on every system. If not, the path has escapes.
    pub fn is_portable(&self) -> bool {
        !self.0.contains('\\')
    }

    /// Returns the path as other programs show it: without escapes, except of bytes that are not UTF-8.
    pub fn readable(&self) -> Cow<'_, str> {
        readable(&self.0)
    }

    /// Returns [`VaultPath::readable`], or `None` if a name is not UTF-8, so that no text of a note can name it.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        let is_text = |name: &str| unescape_name(name).is_some_and(|raw| std::str::from_utf8(&raw).is_ok());
        (self.is_portable() || self.segments().all(is_text)).then(|| self.readable())
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

    /// Returns a path below this one, for a name as [`VaultPath::escape_name`] returns it.
    pub fn join_escaped(&self, name: &str) -> Result<VaultPath, BadPath> {
        let path = format!("{}/{name}", self.0);
        // The part before the name was checked when this path was created.
        if path.len() <= VaultPath::MAX_BYTES && unescape_name(name).is_some() {
            return Ok(VaultPath(path));
        }
        VaultPath::parse_escaped(&path)
    }

    /// Returns a path below this one. Refuses escapes, as [`VaultPath::parse`] does.
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
        fold(&self.readable())
    }

    /// Returns [`VaultPath::folded`] for a path or a name, which may have escapes.
    pub fn fold_name(name: &str) -> String {
        fold(&readable(name))
    }

    /// Returns [`VaultPath::folded`] for a text that is not a path, such as a pattern or the target of a link: a backslash
    /// in it begins no escape.
    pub fn fold_text(text: &str) -> String {
        fold(text)
    }

    /// Returns the protected names in their usual spelling.
    pub fn protected_names() -> impl Iterator<Item = &'static str> {
        PROTECTED.iter().map(|(name, _)| *name)
    }

    /// Whether a name, which may have escapes, is that of a protected folder, in any spelling.
    pub fn is_protected_name(name: &str) -> bool {
        protection(name).is_some()
    }

    /// Returns the protected folder whose name this is, in any spelling and also with escapes.
    pub fn name_protected_by(name: &str) -> Option<&'static str> {
        protection(name)
    }

    /// Returns the name of the protected folder that contains the path, in any spelling.
    pub fn protected_by(&self) -> Option<&'static str> {
        self.segments().find_map(protection)
    }
}

/// Returns a path or a name without escapes, except of bytes that are not UTF-8.
fn readable(path: &str) -> Cow<'_, str> {
    if !path.contains('\\') {
        return Cow::Borrowed(path);
    }
    Cow::Owned(path.split('/').map(readable_name).collect::<Vec<_>>().join("/"))
}

/// Returns the protected folder that a name matches.
fn protection(segment: &str) -> Option<&'static str> {
    if !segment.contains('\\') {
        return protection_of_plain(segment);
    }
    let raw = unescape_name(segment).unwrap_or(Cow::Borrowed(segment.as_bytes()));
    protection_of_odd(&raw)
}

/// Returns the protected folder that some system could take a name for which is not portable: Windows drops dots and
/// spaces at the end, `:` begins the name of a stream there and `\` separates folders, and other systems ignore
/// controls or bytes that are not UTF-8.
fn protection_of_odd(raw: &[u8]) -> Option<&'static str> {
    let text: String = raw.utf8_chunks().flat_map(|chunk| chunk.valid().chars()).collect();
    text.split([':', '\\']).find_map(|part| {
        let part: String = part.chars().filter(|c| !c.is_control()).collect();
        let part = part.trim();
        protection_of_plain(part).or_else(|| protection_of_plain(part.trim_end_matches(['.', ' '])))
    })
}

fn protection_of_plain(segment: &str) -> Option<&'static str> {
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
pub(crate) fn bad_segment(segment: &str) -> Option<String> {
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
            let stem = device_stem(segment)?;
            return Some(format!("`{stem}` is the name of a device on Windows; choose another name"));
        }
    };
    Some(rule.to_owned())
}

/// Whether Windows reads a name as a device.
pub(crate) fn is_device(name: &str) -> bool {
    device_stem(name).is_some()
}

/// Returns the device that Windows reads a name as, in lower case.
fn device_stem(name: &str) -> Option<String> {
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    if stem.len() > MAX_DEVICE_BYTES {
        return None;
    }
    let stem = stem.to_lowercase();
    DEVICES.contains(&stem.as_str()).then_some(stem)
}

/// Characters with a special meaning for a system, or that hide the meaning of a name. Characters that only
/// Windows refuses (`*`, `?`, quotes and the like) are allowed because many notes have them; writing a new
/// one produces a warning.
pub(crate) fn is_forbidden(c: char) -> bool {
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

    #[test]
    fn an_escaped_path_is_accepted_only_where_something_exists() {
        for (raw, readable) in [
            (r"a\x3Ab.md", "a:b.md"),
            (r"Folder\x20/x.md", "Folder /x.md"),
            (r"\x43ON/\x20n.md", "CON/ n.md"),
            (r"caf\xE9.md", r"caf\xE9.md"),
        ] {
            let path = VaultPath::parse_escaped(raw).unwrap();
            assert_eq!((path.as_str(), &*path.readable(), path.is_portable()), (raw, readable, false));
            assert!(VaultPath::parse(raw).is_err(), "{raw}");
            assert!(serde_json::from_value::<VaultPath>(raw.into()).is_err(), "{raw}");
        }
        assert_eq!(VaultPath::from_readable("a:b/CON.md").unwrap().as_str(), r"a\x3Ab/\x43ON.md");
        assert_eq!(VaultPath::parse_escaped(r"caf\xE9.md").unwrap().text(), None);
        for bad in [
            r"a\x2F..\x2Fb",
            r"\x2E\x2E/x",
            r"..\x2F",
            r"a/\x2E\x2E/b",
            r"\x00",
            r"/a\x3A",
            r"a\x3A/../b",
            r"a\x3A//b",
            r"a\x3A/",
            r"Folder\Note.md",
            r"a\x3a",
        ] {
            assert!(VaultPath::parse_escaped(bad).is_err(), "{bad}");
        }
        for bad in ["../a", "/a", "a/./b", "", "a//b", "a\0b"] {
            assert!(VaultPath::from_readable(bad).is_err(), "{bad:?}");
        }
        let message = VaultPath::parse_escaped(r"Folder\Note.md").unwrap_err().to_string();
        assert!(message.contains("put `/` between folders"), "{message}");
    }

    #[test]
    fn an_escape_hides_no_protected_name() {
        for raw in [
            &b".OBSIDIAN "[..],
            b".obsidian.",
            b" .obsidian",
            b".git:x",
            b".git::$INDEX_ALLOCATION",
            b"a\\.git\\config",
            b".git\xff",
            b"\xff.Git",
            b".gi\xfft",
            b".git\x01",
            b"GIT~1.",
            b".trash. .",
            b".tollgate-tmp-1:x",
            ".g\u{200e}it".as_bytes(),
            ".ob\u{202e}sidian".as_bytes(),
        ] {
            let name = VaultPath::escape_name(raw).unwrap();
            assert!(name.contains('\\'), "{name}");
            assert!(VaultPath::is_protected_name(&name), "{name}");
            let path = VaultPath::parse_escaped(&format!("Notes/{name}/x.md")).unwrap();
            assert!(path.protected_by().is_some(), "{path}");
        }
        for raw in [&b"a:b.md"[..], b"git:x", b"x.git:y", b"obsidian."] {
            assert!(!VaultPath::is_protected_name(&VaultPath::escape_name(raw).unwrap()), "{raw:?}");
        }
    }

    #[test]
    fn escaped_names_fold_like_the_names_that_they_stand_for() {
        let fold = |raw: &[u8]| VaultPath::fold_name(&VaultPath::escape_name(raw).unwrap());
        assert_eq!(fold(b"CON.md"), fold(b"con.md"));
        assert_eq!(fold(b"A:B.md"), fold(b"a:b.md"));
        assert_eq!(fold("a\u{200e}b.md".as_bytes()), fold(b"ab.md"));
        assert_ne!(fold(b"a\xe9"), fold(b"a\xe8"));
        assert_ne!(fold(b"a:b.md"), fold(b"ab.md"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic_or_climb(raw in any::<String>()) {
            if let Ok(path) = VaultPath::parse(&raw) {
                assert!(path.segments().all(|s| !s.is_empty() && s != "." && s != ".."));
                assert!(!raw.contains(['\0', '\\', ':']));
            }
            if let Ok(path) = VaultPath::parse_escaped(&raw) {
                let climbs = |name: &str| {
                    let raw = VaultPath::unescape_name(name).unwrap();
                    matches!(&*raw, b"" | b"." | b"..") || raw.contains(&b'/') || raw.contains(&0)
                };
                assert!(!path.segments().any(climbs));
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
