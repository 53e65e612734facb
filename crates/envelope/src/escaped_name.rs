//! The escaped form of a name on disk that is not a portable name, such as `a:b.md`, `CON.md` or bytes that are not UTF-8.
//!
//! Each byte that makes the name unusable is written as `\x3A`: a backslash, an `x` and two upper-case hexadecimal digits.
//! A portable name has no backslash, so no text is both. Every name on disk has exactly one form: a portable name is
//! itself, and an escaped one escapes nothing that it need not.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::vault_path::{MAX_SEGMENT_BYTES, bad_segment, is_device, is_forbidden};

/// Returns the form of a name on disk. Returns `None` for bytes that are not one name of at most 255 bytes.
pub(crate) fn escape_name(raw: &[u8]) -> Option<Cow<'_, str>> {
    if let Ok(text) = std::str::from_utf8(raw)
        && !raw.contains(&b'/')
        && !raw.contains(&b'\\')
        && bad_segment(text).is_none()
    {
        return Some(Cow::Borrowed(text));
    }
    let is_name = !matches!(raw, b"" | b"." | b"..") && !raw.contains(&b'/') && !raw.contains(&b'\0');
    if !is_name || raw.len() > MAX_SEGMENT_BYTES {
        return None;
    }
    let mut name = String::with_capacity(raw.len() + 8);
    let mut at = 0;
    for chunk in raw.utf8_chunks() {
        for c in chunk.valid().chars() {
            let next = at + c.len_utf8();
            let at_end = next == raw.len() && matches!(c, ' ' | '.');
            if c == '\\' || is_forbidden(c) || at_end || (at == 0 && c == ' ') {
                push_escaped(&mut name, &raw[at..next]);
            } else {
                name.push(c);
            }
            at = next;
        }
        push_escaped(&mut name, chunk.invalid());
        at += chunk.invalid().len();
    }
    if is_device(&name) {
        // Only the first character of a device name is escaped, which is enough to make it another name.
        let first = name.chars().next().map_or(0, char::len_utf8);
        let rest = name.split_off(first);
        let mut escaped = String::with_capacity(rest.len() + 4);
        push_escaped(&mut escaped, name.as_bytes());
        name = escaped + &rest;
    }
    Some(Cow::Owned(name))
}

fn push_escaped(name: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _infallible = write!(name, "\\x{byte:02X}");
    }
}

/// Returns the bytes of the name on disk. Returns `None` for a text that [`escape_name`] never returns, so that two texts
/// never mean the same name.
pub(crate) fn unescape_name(name: &str) -> Option<Cow<'_, [u8]>> {
    if !name.contains('\\') {
        return (!name.contains('/') && bad_segment(name).is_none())
            .then_some(Cow::Borrowed(name.as_bytes()));
    }
    let raw = decode(name)?;
    (escape_name(&raw)? == name).then_some(Cow::Owned(raw))
}

/// Returns the form of a name that was put together from forms, in which an escape can be needless.
pub(crate) fn respell_name(name: &str) -> Option<String> {
    decode(name).and_then(|raw| escape_name(&raw).map(Cow::into_owned))
}

/// Replaces every escape by its byte. Returns `None` for a backslash that begins no escape.
fn decode(name: &str) -> Option<Vec<u8>> {
    let mut raw = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'\\' {
            raw.push(*first);
            rest = after;
            continue;
        }
        let [b'x', high, low, after @ ..] = after else { return None };
        raw.push(digit(*high)? * 16 + digit(*low)?);
        rest = after;
    }
    Some(raw)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Returns the name as other programs show it: without escapes. A byte that is not UTF-8 stays escaped.
pub(crate) fn readable_name(name: &str) -> Cow<'_, str> {
    if !name.contains('\\') {
        return Cow::Borrowed(name);
    }
    let Some(raw) = unescape_name(name) else { return Cow::Borrowed(name) };
    let mut readable = String::with_capacity(raw.len());
    for chunk in raw.utf8_chunks() {
        readable.push_str(chunk.valid());
        push_escaped(&mut readable, chunk.invalid());
    }
    Cow::Owned(readable)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{escape_name, respell_name, unescape_name};
    use crate::VaultPath;

    #[test]
    fn every_byte_that_makes_a_name_unusable_is_escaped_and_no_other() {
        for (raw, form) in [
            (&b"Note.md"[..], "Note.md"),
            ("日記.md".as_bytes(), "日記.md"),
            (b"a:b.md", r"a\x3Ab.md"),
            (br"a\b.md", r"a\x5Cb.md"),
            (br"a\x3Ab.md", r"a\x5Cx3Ab.md"),
            (b" a.md", r"\x20a.md"),
            (b"  a.md", r"\x20 a.md"),
            (b"a ", r"a\x20"),
            (b"a. ", r"a.\x20"),
            (b"a..", r"a.\x2E"),
            (b"...", r"..\x2E"),
            (b" ", r"\x20"),
            (b"CON.md", r"\x43ON.md"),
            (b"con", r"\x63on"),
            (b"con.", r"con\x2E"),
            ("com¹.md".as_bytes(), r"\x63om¹.md"),
            (b"a\nb", r"a\x0Ab"),
            ("a\u{200e}b".as_bytes(), r"a\xE2\x80\x8Eb"),
            (b"caf\xe9.md", r"caf\xE9.md"),
            (b"\xff\xfe", r"\xFF\xFE"),
            (b".hidden:x", r".hidden\x3Ax"),
        ] {
            assert_eq!(escape_name(raw).as_deref(), Some(form), "{raw:?}");
            assert_eq!(unescape_name(form).as_deref(), Some(raw), "{form}");
        }
        assert_eq!(respell_name(r"\x43ON 1\x2Emd").as_deref(), Some("CON 1.md"));
        assert_eq!(respell_name(r"a\x3"), None);
    }

    #[test]
    fn what_is_no_name_or_no_form_of_one_is_refused() {
        for raw in [&b""[..], b".", b"..", b"a/b", b"a\0b", &[b'x'; 256], &[0xff; 256]] {
            assert_eq!(escape_name(raw), None, "{raw:?}");
        }
        for text in [
            r"\x2E\x2E",
            r".\x2E",
            r"\x2E",
            r"a\x2Fb",
            r"\x2F",
            r"a\x00b",
            r"\x41.md",
            r"a\x3ab.md",
            r"a\x3A:b",
            r"a\x2Emd",
            r"a\x20b",
            r"\x43on\x2E",
            r"a\b",
            r"a\x3",
            r"a\",
            r"a\u{3a}b",
            "a:b",
            "CON",
            " a",
            "",
            "..",
            "a/b",
        ] {
            assert_eq!(unescape_name(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_name_has_one_form_that_gives_its_bytes_back(raw in vec(any::<u8>(), 0..12)) {
            if let Some(form) = escape_name(&raw) {
                prop_assert!(unescape_name(&form).is_some_and(|back| *back == raw[..]));
                prop_assert!(VaultPath::parse_escaped(&form).is_ok());
                prop_assert_eq!(VaultPath::parse(&form).is_ok(), !form.contains('\\'));
            }
        }

        #[test]
        fn a_text_is_the_form_of_at_most_one_name(text in r"[a-cCON.: /]{0,4}(\\x[0-9A-Fa-f]{2}|\\[a-z]|[a-cON. ]){0,4}") {
            if let Some(raw) = unescape_name(&text) {
                prop_assert!(escape_name(&raw).is_some_and(|form| form == text));
                prop_assert!(!raw.contains(&b'/') && !raw.contains(&0) && *raw != *b".." && *raw != *b".");
            }
        }

        #[test]
        fn odd_names_of_letters_that_matter_have_one_form(raw in r"[ .:\\a-cconCON\u{200e}]{1,6}") {
            if let Some(form) = escape_name(raw.as_bytes()) {
                prop_assert!(unescape_name(&form).is_some_and(|back| *back == *raw.as_bytes()));
            }
        }
    }
}
