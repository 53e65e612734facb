//! A comparison as lines of text, with colours or without.

use super::body::{Body, Content, Hunk, Line, LineKind, Sizes, Tag, TextChange, Word};
use crate::screen::Paint;
use crate::visible::{count, visible};

impl Body {
    /// The lines that a person sees. Without colours the marks are in the text, so that nothing is lost.
    pub(crate) fn render(&self, paint: Paint) -> Vec<String> {
        match self {
            Body::Same => Vec::new(),
            Body::Text(change) => text(change, paint),
            Body::Binary(sizes) => vec![format!("not text: {}", both(sizes))],
            Body::Large(sizes) => vec![format!("too large to compare: {}", both(sizes))],
        }
    }
}

fn both(sizes: &Sizes) -> String {
    let one = |content: &Content| format!("{} (etag {})", size(content.bytes), content.etag);
    match (&sizes.before, &sizes.after) {
        (Some(before), Some(after)) => format!("{} -> {}", one(before), one(after)),
        (Some(only), None) | (None, Some(only)) => one(only),
        (None, None) => String::new(),
    }
}

fn text(change: &TextChange, paint: Paint) -> Vec<String> {
    let mut lines: Vec<String> = change.notes.iter().map(|note| paint.odd(note)).collect();
    for hunk in &change.hunks {
        lines.extend(head(hunk).map(|head| paint.dim(head)));
        lines.extend(hunk.lines.iter().flat_map(|line| whole_line(line, paint)));
    }
    if let Some(left_out) = change.left_out {
        let one_sided = change.added_lines == 0 || change.removed_lines == 0;
        let noun = if one_sided { "more line" } else { "more changed line" };
        let lines_left = count(left_out.lines as u64, noun);
        lines.push(paint.dim(format_args!("… {lines_left} ({})", size(left_out.bytes))));
    }
    lines
}

/// Where a hunk is, in the lines of the file as it is now. None for a file that wholly comes or goes.
fn head(hunk: &Hunk) -> Option<String> {
    let (before, after) = (hunk.before, hunk.after);
    if (before.line == 0 && before.count == 0) || (after.line == 0 && after.count == 0) {
        return None;
    }
    Some(match before.count {
        0 => format!("@@ after line {} @@", before.line),
        1 => format!("@@ line {} @@", before.line),
        count => format!("@@ lines {}-{} @@", before.line, before.line + count - 1),
    })
}

fn whole_line(line: &Line, paint: Paint) -> Vec<String> {
    let all = || line.words.iter().map(shown).collect::<String>();
    match line.kind {
        LineKind::Same => vec![signed(' ', &all())],
        LineKind::Removed => vec![paint.removed(signed('-', &all()))],
        LineKind::Added => vec![paint.added(signed('+', &all()))],
        LineKind::Changed => {
            vec![one_side(line, Side::Before, paint), one_side(line, Side::After, paint)]
        }
    }
}

fn signed(sign: char, text: &str) -> String {
    if text.is_empty() { sign.to_string().trim_end().to_owned() } else { format!("{sign} {text}") }
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

/// A changed line as it is or as it would be.
fn one_side(line: &Line, side: Side, paint: Paint) -> String {
    let painted = |text: &str| match side {
        Side::Before => paint.removed(text),
        Side::After => paint.added(text),
    };
    let (sign, elsewhere) = match side {
        Side::Before => ("- ", Tag::Ins),
        Side::After => ("+ ", Tag::Del),
    };
    let words: Vec<&Word> = line.words.iter().filter(|word| word.tag != elsewhere).collect();
    let parts = words.chunk_by(|a, b| a.tag == b.tag).map(|part| {
        let text: String = part.iter().map(|word| shown(word)).collect();
        match part[0].tag {
            Tag::Same => painted(&text),
            Tag::Del => paint.removed_word(text),
            Tag::Ins => paint.added_word(text),
        }
    });
    std::iter::once(painted(sign)).chain(parts).collect()
}

fn shown(word: &Word) -> String {
    let text = visible(&word.text);
    if word.cut == 0 { text } else { format!("{text}…({})…", count(word.cut as u64, "character")) }
}

/// A size as people read it: `812 bytes`, `2.1 kB`, `3.0 MB`.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => count(bytes as u64, "byte"),
        1_000..999_950 => tenths(bytes / 100 + usize::from(bytes % 100 >= 50), "kB"),
        _ => tenths(bytes / 100_000 + usize::from(bytes % 100_000 >= 50_000), "MB"),
    }
}

fn tenths(number: usize, unit: &str) -> String {
    format!("{}.{} {unit}", number / 10, number % 10)
}
