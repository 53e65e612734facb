//! A text with a hole in it: what is known of its lines.

use super::head_tail::Gap;

/// The clean text around a gap, without the two lines that the gap cuts.
pub(super) struct Text<'a> {
    pub head: &'a str,
    pub tail: &'a str,
    /// All lines, those of the gap included if they were counted.
    pub lines: u64,
    pub gap: Option<Gap>,
    /// The head is one line that goes on in the gap.
    pub head_goes_on: bool,
    /// The tail is one line that began in the gap.
    pub tail_began_before: bool,
}

impl<'a> Text<'a> {
    pub(super) fn of(head: &'a str, gap: Option<Gap>, tail: &'a str) -> Text<'a> {
        let Some(gap) = gap else {
            let lines = line_ends(head) as u64 + u64::from(!head.is_empty() && !head.ends_with('\n'));
            return Text { head, tail: "", lines, gap: None, head_goes_on: false, tail_began_before: false };
        };
        let ends = (line_ends(head) + line_ends(tail)) as u64 + gap.lines.unwrap_or(0);
        let lines = ends + u64::from(!tail.ends_with('\n'));
        // A line that is cut by the gap is left out with it, unless it is all there is on its side.
        let (head, head_goes_on) = match head.rfind('\n') {
            Some(end) => (&head[..=end], false),
            None => (head, !head.is_empty()),
        };
        let (tail, tail_began_before) = match tail.find('\n') {
            Some(end) if end + 1 < tail.len() => (&tail[end + 1..], false),
            Some(_) | None => (tail, !tail.is_empty()),
        };
        Text { head, tail, lines, gap: Some(gap), head_goes_on, tail_began_before }
    }

    /// Whether `lines` is all of them, or only those that are known.
    pub(super) fn is_counted(&self) -> bool {
        self.gap.is_none_or(|gap| gap.lines.is_some())
    }
}

pub(super) fn line_ends(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}
