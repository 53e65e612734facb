//! Takes out of a text what differs from one run to the next: ids, hashes, times, durations.

/// Replaces each such word by what it is.
pub(crate) fn scrub(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match volatile(rest) {
            Some((length, word)) => {
                out.push_str(word);
                rest = &rest[length..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// The length of the volatile word at the start of the text, and what to write for it.
fn volatile(text: &str) -> Option<(usize, &'static str)> {
    let hex = |text: &str| text.bytes().take_while(u8::is_ascii_hexdigit).count();
    if let Some(after) = text.strip_prefix("b3:")
        && hex(after) >= 64
    {
        return Some((3 + 64, "b3:HASH"));
    }
    if fits(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
        return Some((36, "ID"));
    }
    // A list shows the beginning of an id.
    if fits(text, "xxxxxxxx-xxxx  ") || fits(text, "xxxxxxxx-xxxx\n") {
        return Some((13, "ID"));
    }
    if fits(text, "dddd-dd-dd dd:dd:dd UTC") {
        return Some((23, "TIME"));
    }
    // A column of moments is padded to the left, so its blanks vary as well.
    let blanks = text.bytes().take_while(|byte| *byte == b' ').count();
    if blanks > 0
        && let Some(after) = text[blanks..].strip_prefix('+')
    {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && after[digits..].starts_with(" ms") {
            return Some((blanks + 1 + digits + 3, "  +N ms"));
        }
    }
    if let Some(after) = text.strip_prefix("etag ")
        && hex(after) == 32
    {
        return Some((5 + 32, "etag ETAG"));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    for unit in [" ms", " µs"] {
        if digits > 0 && text[digits..].starts_with(unit) {
            return Some((digits + unit.len(), "N ms"));
        }
    }
    None
}

/// Whether the text starts with the pattern: `x` a hex digit, `d` a digit, the rest itself.
fn fits(text: &str, pattern: &str) -> bool {
    text.len() >= pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
            b'x' => byte.is_ascii_hexdigit(),
            b'd' => byte.is_ascii_digit(),
            literal => byte == literal,
        })
}
