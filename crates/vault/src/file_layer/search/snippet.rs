//! The part of a line around a match, as one line that is safe to print.

use unicode_normalization::char::is_combining_mark;

const CUT: char = '…';
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the match in the middle of at most `length` characters of its line, with an ellipsis at each cut.
/// Reads only the neighbourhood of the match, as a line can be as long as a file.
pub(super) fn snippet(line: &[u8], start: usize, end: usize, length: usize) -> String {
    ascii_snippet(line, start, end, length).unwrap_or_else(|| text_snippet(line, start, end, length))
}

/// Returns the snippet of a match with only ASCII around it, without counting characters: many searches spend most of
/// their time here. Returns `None` for anything else.
fn ascii_snippet(line: &[u8], start: usize, end: usize, length: usize) -> Option<String> {
    let room = length.checked_sub(end - start)?;
    let (before, after) = (start.min(room), (line.len() - end).min(room));
    // Room that one side does not need goes to the other.
    let half = room / 2;
    let before_room = if after < room - half { room - after } else { half.min(before) };
    let after_room = room - before_room.min(before);
    let (from, to) = (start - before.min(before_room), end + after.min(after_room));
    let near = std::str::from_utf8(line.get(from..to)?).ok().filter(|near| near.is_ascii())?;
    let (all_before, all_after) = (from == 0, to == line.len());
    // A mark on the last letter would belong to it; what is cut off decides nothing else.
    if !all_after && !line.get(to)?.is_ascii() {
        return None;
    }
    let mut shown = String::with_capacity(near.len() + 6);
    if !all_before {
        shown.push(CUT);
    }
    // The match itself is shown with its blanks.
    let (before, rest) = near.split_at_checked(start - from)?;
    let (_, after) = rest.split_at_checked(end - start)?;
    let blanks = [' ', '\t'];
    let cut = if all_before { before.len() - before.trim_start_matches(blanks).len() } else { 0 };
    let cut_end = if all_after { after.len() - after.trim_end_matches(blanks).len() } else { 0 };
    let near = near.get(cut..near.len() - cut_end)?;
    if near.bytes().any(|byte| byte.is_ascii_control()) {
        shown.extend(near.chars().map(printable));
    } else {
        shown.push_str(near);
    }
    if !all_after {
        shown.push(CUT);
    }
    Some(shown)
}

fn text_snippet(line: &[u8], start: usize, end: usize, length: usize) -> String {
    let (match_, fits) = head(&line[start..end], length);
    if !fits {
        return format!("{}{match_}{CUT}", if start > 0 { "…" } else { "" });
    }
    let room = length - match_.chars().count();
    // Room that one side does not need goes to the other.
    let (before, _) = tail(&line[..start], room);
    let (after, _) = head(&line[end..], room);
    let (before_chars, after_chars) = (before.chars().count(), after.chars().count());
    let half = room / 2;
    let before_room = if after_chars < room - half { room - after_chars } else { half.min(before_chars) };
    let after_room = room - before_room.min(before_chars);
    let (before, all_before) = tail(&line[..start], before_room);
    let (after, all_after) = head(&line[end..], after_room);
    let mut shown = String::with_capacity(before.len() + match_.len() + after.len() + 6);
    if all_before {
        shown.push_str(before.trim_start_matches(BYTE_ORDER_MARK).trim_start());
    } else {
        shown.push(CUT);
        // A combining mark or a joiner without its letter would attach to the ellipsis.
        shown.push_str(before.trim_start_matches(is_combining));
    }
    shown.push_str(&match_);
    shown.push_str(if all_after { after.trim_end() } else { &after });
    if !all_after {
        shown.push(CUT);
    }
    shown
}

/// Returns the first `length` characters, and true if that is all of them.
fn head(bytes: &[u8], length: usize) -> (String, bool) {
    // No character is longer than four bytes.
    let near = &bytes[..bytes.len().min(length.saturating_mul(4).saturating_add(4))];
    let text = String::from_utf8_lossy(near);
    let shown: String = text.chars().take(length).map(printable).collect();
    let all = near.len() == bytes.len() && text.chars().nth(length).is_none();
    (shown, all)
}

/// Returns the last `length` characters, and true if that is all of them.
fn tail(bytes: &[u8], length: usize) -> (String, bool) {
    let from = bytes.len().saturating_sub(length.saturating_mul(4).saturating_add(4));
    let text = String::from_utf8_lossy(&bytes[from..]);
    let count = text.chars().count();
    let shown: String = text.chars().skip(count.saturating_sub(length)).map(printable).collect();
    (shown, from == 0 && count <= length)
}

/// Replaces control characters, line breaks and characters that change the text direction.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => char::REPLACEMENT_CHARACTER,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        _ => c,
    }
}

fn is_combining(c: char) -> bool {
    is_combining_mark(c) || matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;
    use proptest::prelude::{any, proptest};

    use super::{ascii_snippet, snippet, text_snippet};

    #[test]
    fn the_match_is_in_the_middle_of_its_line() {
        let mut output = String::new();
        for (line, length) in [
            ("- [ ] NEEDLE", 120),
            ("   one NEEDLE two  ", 120),
            ("one two three NEEDLE four five six", 16),
            ("NEEDLE four five six seven", 12),
            ("one two three four NEEDLE", 12),
            ("one two three four NEEDLE", 6),
            ("one two three four NEEDLE five", 3),
            ("NEEDLE", 3),
            ("äöü äöü äöü NEEDLE äöü äöü äöü", 14),
            ("cafe\u{301} NEEDLE cafe\u{301}", 10),
            ("\u{feff}# NEEDLE", 120),
            ("a\tb\u{1b}[31m NEEDLE \u{202e}evil\u{0}", 120),
            ("👨‍👩‍👧 NEEDLE 👨‍👩‍👧", 9),
        ] {
            let start = line.find("NEEDLE").unwrap();
            writeln!(output, "{length:>3} [{}]", snippet(line.as_bytes(), start, start + 6, length)).unwrap();
        }
        expect![[r#"
            120 [- [ ] NEEDLE]
            120 [one NEEDLE two]
             16 […hree NEEDLE four…]
             12 [NEEDLE four …]
             12 [… four NEEDLE]
              6 […NEEDLE]
              3 […NEE…]
              3 [NEE…]
             14 […äöü NEEDLE äöü…]
             10 [… NEEDLE c…]
            120 [# NEEDLE]
            120 [a b␛[31m NEEDLE �evil␀]
              9 [… NEEDLE 👨…]
        "#]]
        .assert_eq(&output);
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(snippet(b"caf\xe9 NEEDLE \xff", 5, 11, 120), "caf\u{fffd} NEEDLE \u{fffd}");
    }

    proptest! {
        #[test]
        fn the_short_way_returns_the_same_as_the_long_one(
            before in "[ -~\t\u{1}\u{b}é]{0,60}", found in "[ -~\t]{1,20}", after in "[ -~\t\r\u{c}\u{301}]{0,60}", length in 1_usize..90,
        ) {
            let line = format!("{before}{found}{after}");
            let (start, end) = (before.len(), before.len() + found.len());
            if let Some(short) = ascii_snippet(line.as_bytes(), start, end, length) {
                assert_eq!(short, text_snippet(line.as_bytes(), start, end, length), "{line:?}");
            } else {
                assert!(!line.is_ascii() || found.len() > length, "{line:?}");
            }
        }

        #[test]
        fn a_snippet_is_one_line_no_longer_than_asked_and_holds_the_match(
            before in any::<String>(), found in "[a-zé]{1,9}", after in any::<String>(), length in 10_usize..40,
        ) {
            let (before, after) = (before.replace('\n', ""), after.replace('\n', ""));
            let line = format!("{before}{found}{after}");
            let shown = snippet(line.as_bytes(), before.len(), before.len() + found.len(), length);
            assert!(shown.contains(&found), "{shown:?}");
            assert!(shown.chars().count() <= length + 2, "{shown:?}");
            assert!(!shown.chars().any(char::is_control), "{shown:?}");
        }
    }
}
