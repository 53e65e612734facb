//! From the operations on lines to hunks: what is near each other together, changed lines with their words, and
//! no more than there is room for.
//!
//! Words are compared only in lines that are shown.

use similar::{DiffOp, group_diff_ops};

use super::body::{Hunk, LeftOut, Line, LineKind, Span, Tag, TextChange, Word};
use super::limits::Limits;
use super::narrow::{narrow_changed, narrow_whole};
use super::pair::{Step, align};
use super::words::changed_words;

/// Builds the hunks of one file, in order, until its room is used up.
pub(super) fn hunks(before: &[&str], after: &[&str], ops: &[DiffOp], limits: &Limits) -> TextChange {
    let mut change = TextChange::default();
    let mut bytes = 0;
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        change.removed_lines += op.old_range().len();
        change.added_lines += op.new_range().len();
        bytes += size(&before[op.old_range()]) + size(&after[op.new_range()]);
    }
    let mut page = Page {
        before,
        after,
        limits,
        room: limits.lines_per_file,
        words_left: limits.compared_words,
        shown_lines: 0,
        shown_bytes: 0,
    };
    for group in group_diff_ops(ops.to_vec(), limits.context) {
        // A hunk of which only the lines before its first change would fit says nothing.
        if !change.hunks.is_empty() && page.room < limits.context + 2 {
            break;
        }
        change.hunks.extend(page.hunk(&group));
    }
    let lines = change.added_lines + change.removed_lines - page.shown_lines;
    change.left_out = (lines > 0).then(|| LeftOut { lines, bytes: bytes - page.shown_bytes });
    change
}

/// With their ends, as in the file.
fn size(lines: &[&str]) -> usize {
    lines.iter().map(|line| line.len() + 1).sum()
}

/// What is being filled for one file.
struct Page<'a> {
    before: &'a [&'a str],
    after: &'a [&'a str],
    limits: &'a Limits,
    /// Lines on the screen that are left.
    room: usize,
    words_left: usize,
    /// Added and removed lines so far, and their sizes.
    shown_lines: usize,
    shown_bytes: usize,
}

impl Page<'_> {
    fn hunk(&mut self, group: &[DiffOp]) -> Option<Hunk> {
        let first = group.first()?;
        let (old_start, new_start) = (first.old_range().start, first.new_range().start);
        let mut lines = Vec::new();
        self.room = self.room.saturating_sub(1);
        for op in group {
            if matches!(op, DiffOp::Equal { .. }) {
                for text in self.before[op.old_range()].iter().take(self.room) {
                    lines.push(self.whole(LineKind::Same, text));
                }
                self.room -= op.old_range().len().min(self.room);
            } else {
                self.block(op, &mut lines);
            }
        }
        if lines.iter().all(|line: &Line| line.kind == LineKind::Same) {
            return None;
        }
        let span =
            |start: usize, count: usize| Span { line: if count == 0 { start } else { start + 1 }, count };
        Some(Hunk {
            before: span(old_start, lines.iter().map(Line::in_before).sum()),
            after: span(new_start, lines.iter().map(Line::in_after).sum()),
            lines,
        })
    }

    /// Lines that were replaced by others. Removed lines stand before added ones, as long as no line that
    /// was merely changed stands between them.
    fn block(&mut self, op: &DiffOp, lines: &mut Vec<Line>) {
        let (old, new) = (&self.before[op.old_range()], &self.after[op.new_range()]);
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for step in align(old, new) {
            if self.room <= removed.len() + added.len() {
                break;
            }
            match step {
                Step::Removed(at) => removed.push(old[at]),
                Step::Added(at) => added.push(new[at]),
                Step::Changed(from, to) => match changed_words(old[from], new[to], &mut self.words_left) {
                    Some(words) => {
                        self.put_whole(&mut removed, &mut added, lines);
                        let words = narrow_changed(words, self.limits);
                        self.put(Line { kind: LineKind::Changed, words }, size(&[old[from], new[to]]), lines);
                    }
                    None => {
                        removed.push(old[from]);
                        added.push(new[to]);
                    }
                },
            }
        }
        self.put_whole(&mut removed, &mut added, lines);
    }

    fn put_whole(&mut self, removed: &mut Vec<&str>, added: &mut Vec<&str>, lines: &mut Vec<Line>) {
        let removed = removed.drain(..).map(|text| (LineKind::Removed, text));
        let added = added.drain(..).map(|text| (LineKind::Added, text));
        for (kind, text) in removed.chain(added) {
            let line = self.whole(kind, text);
            self.put(line, size(&[text]), lines);
        }
    }

    /// Takes a line when there is room for all of it.
    fn put(&mut self, line: Line, bytes: usize, lines: &mut Vec<Line>) {
        let height = line.height();
        if height <= self.room {
            self.room -= height;
            self.shown_lines += height;
            self.shown_bytes += bytes;
            lines.push(line);
        } else {
            // The rest must not slip in behind it: what is shown is shown in order.
            self.room = 0;
        }
    }

    fn whole(&self, kind: LineKind, text: &str) -> Line {
        let tag = match kind {
            LineKind::Same | LineKind::Changed => Tag::Same,
            LineKind::Removed => Tag::Del,
            LineKind::Added => Tag::Ins,
        };
        Line { kind, words: narrow_whole(Word::new(tag, text), self.limits) }
    }
}
