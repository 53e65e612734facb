//! Renderer of a comparison: lines of text, with or without colours.

use super::body::{
    ContentSize, ContentSizes, DiffBody, DiffHunk, DiffLine, DiffWord, LineKind, TextChange, WordTag,
};
use crate::display_text::{count, escape_text};
use crate::text_style::TextStyle;

impl DiffBody {
    /// Returns the lines for the user. Without colours the marks are in the text.
    pub(super) fn render(&self, style: TextStyle) -> Vec<String> {
        match self {
            DiffBody::Same => Vec::new(),
            DiffBody::Text(change) => render_text(change, style),
            DiffBody::Binary(sizes) => vec![format!("not text: {}", render_sizes(sizes))],
            DiffBody::Large(sizes) => vec![format!("too large to compare: {}", render_sizes(sizes))],
        }
    }
}

fn render_sizes(sizes: &ContentSizes) -> String {
    let one = |content: &ContentSize| format!("{} (etag {})", format_size(content.bytes), content.etag);
    match (&sizes.before, &sizes.after) {
        (Some(before), Some(after)) => format!("{} -> {}", one(before), one(after)),
        (Some(only), None) | (None, Some(only)) => one(only),
        (None, None) => String::new(),
    }
}

fn render_text(change: &TextChange, style: TextStyle) -> Vec<String> {
    let mut lines: Vec<String> = change.notes.iter().map(|note| style.odd(note)).collect();
    for hunk in &change.hunks {
        lines.extend(hunk_head(hunk).map(|head| style.dim(head)));
        lines.extend(hunk.lines.iter().flat_map(|line| whole_line(line, style)));
    }
    if let Some(left_out) = change.left_out {
        let one_sided = change.added_lines == 0 || change.removed_lines == 0;
        let noun = if one_sided { "more line" } else { "more changed line" };
        let lines_left = count(left_out.lines as u64, noun);
        lines.push(style.dim(format_args!("… {lines_left} ({})", format_size(left_out.bytes))));
    }
    lines
}

/// Returns the head of a hunk: its lines in the current file. `None` for a created or deleted file.
fn hunk_head(hunk: &DiffHunk) -> Option<String> {
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

fn whole_line(line: &DiffLine, style: TextStyle) -> Vec<String> {
    let all = || line.words.iter().map(render_word).collect::<String>();
    match line.kind {
        LineKind::Same => vec![signed_line(' ', &all())],
        LineKind::Removed => vec![style.removed(signed_line('-', &all()))],
        LineKind::Added => vec![style.added(signed_line('+', &all()))],
        LineKind::Changed => {
            vec![one_side(line, DiffSide::Before, style), one_side(line, DiffSide::After, style)]
        }
    }
}

fn signed_line(sign: char, text: &str) -> String {
    if text.is_empty() { sign.to_string().trim_end().to_owned() } else { format!("{sign} {text}") }
}

#[derive(Clone, Copy)]
enum DiffSide {
    Before,
    After,
}

/// Returns one side of a changed line.
fn one_side(line: &DiffLine, side: DiffSide, style: TextStyle) -> String {
    let painted = |text: &str| match side {
        DiffSide::Before => style.removed(text),
        DiffSide::After => style.added(text),
    };
    let (sign, elsewhere) = match side {
        DiffSide::Before => ("- ", WordTag::Ins),
        DiffSide::After => ("+ ", WordTag::Del),
    };
    let words: Vec<&DiffWord> = line.words.iter().filter(|word| word.tag != elsewhere).collect();
    let parts = words.chunk_by(|a, b| a.tag == b.tag).map(|part| {
        let text: String = part.iter().map(|word| render_word(word)).collect();
        match part[0].tag {
            WordTag::Same => painted(&text),
            WordTag::Del => style.removed_word(text),
            WordTag::Ins => style.added_word(text),
        }
    });
    std::iter::once(painted(sign)).chain(parts).collect()
}

fn render_word(word: &DiffWord) -> String {
    let text = escape_text(&word.text);
    if word.cut == 0 { text } else { format!("{text}…({})…", count(word.cut as u64, "character")) }
}

/// Returns a size such as `812 bytes`, `2.1 kB` or `3.0 MB`.
fn format_size(bytes: usize) -> String {
    match bytes {
        0..1_000 => count(bytes as u64, "byte"),
        1_000..999_950 => format_tenths(bytes / 100 + usize::from(bytes % 100 >= 50), "kB"),
        _ => format_tenths(bytes / 100_000 + usize::from(bytes % 100_000 >= 50_000), "MB"),
    }
}

fn format_tenths(number: usize, unit: &str) -> String {
    format!("{}.{} {unit}", number / 10, number % 10)
}
