//! Builds hunks from the operations on lines: neighbouring changes together, changed lines with their words, within the
//! limits. Words are compared only in lines that are shown.

use similar::{DiffOp, group_diff_ops};

use super::body::{DiffHunk, DiffLine, DiffWord, LineKind, LineSpan, OmittedLines, TextChange, WordTag};
use super::limits::DiffLimits;
use super::line_alignment::{AlignStep, align};
use super::narrow::{narrow_changed, narrow_whole};
use super::words::changed_words;

/// Builds the hunks of one file, in order, until its room is used up.
pub(super) fn hunks(before: &[&str], after: &[&str], ops: &[DiffOp], limits: &DiffLimits) -> TextChange {
    let mut change = TextChange::default();
    let mut bytes = 0;
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        change.removed_lines += op.old_range().len();
        change.added_lines += op.new_range().len();
        bytes += size(&before[op.old_range()]) + size(&after[op.new_range()]);
    }
    let mut page = HunkBuilder {
        before,
        after,
        limits,
        room: limits.lines_per_file,
        words_left: limits.compared_words,
        shown_lines: 0,
        shown_bytes: 0,
    };
    for group in group_diff_ops(ops.to_vec(), limits.context) {
        // Skips a hunk if only the lines before its first change would fit.
        if !change.hunks.is_empty() && page.room < limits.context + 2 {
            break;
        }
        change.hunks.extend(page.build_hunk(&group));
    }
    let lines = change.added_lines + change.removed_lines - page.shown_lines;
    change.left_out = (lines > 0).then(|| OmittedLines { lines, bytes: bytes - page.shown_bytes });
    change
}

/// Returns the bytes of lines with their endings, as in the file.
fn size(lines: &[&str]) -> usize {
    lines.iter().map(|line| line.len() + 1).sum()
}

/// Builder of the hunks of one file.
struct HunkBuilder<'a> {
    before: &'a [&'a str],
    after: &'a [&'a str],
    limits: &'a DiffLimits,
    /// Remaining screen lines.
    room: usize,
    words_left: usize,
    /// Added and removed lines so far, and their sizes.
    shown_lines: usize,
    shown_bytes: usize,
}

impl HunkBuilder<'_> {
    fn build_hunk(&mut self, group: &[DiffOp]) -> Option<DiffHunk> {
        let first = group.first()?;
        let (old_start, new_start) = (first.old_range().start, first.new_range().start);
        let mut lines = Vec::new();
        self.room = self.room.saturating_sub(1);
        for op in group {
            if matches!(op, DiffOp::Equal { .. }) {
                for text in self.before[op.old_range()].iter().take(self.room) {
                    lines.push(self.whole_line(LineKind::Same, text));
                }
                self.room -= op.old_range().len().min(self.room);
            } else {
                self.push_block(op, &mut lines);
            }
        }
        if lines.iter().all(|line: &DiffLine| line.kind == LineKind::Same) {
            return None;
        }
        let span =
            |start: usize, count: usize| LineSpan { line: if count == 0 { start } else { start + 1 }, count };
        Some(DiffHunk {
            before: span(old_start, lines.iter().map(DiffLine::in_before).sum()),
            after: span(new_start, lines.iter().map(DiffLine::in_after).sum()),
            lines,
        })
    }

    /// Adds lines that were replaced by others. Removed lines come before added ones, up to the next line that was only
    /// changed.
    fn push_block(&mut self, op: &DiffOp, lines: &mut Vec<DiffLine>) {
        let (old, new) = (&self.before[op.old_range()], &self.after[op.new_range()]);
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for step in align(old, new) {
            if self.room <= removed.len() + added.len() {
                break;
            }
            match step {
                AlignStep::Removed(at) => removed.push(old[at]),
                AlignStep::Added(at) => added.push(new[at]),
                AlignStep::Changed(from, to) => match changed_words(old[from], new[to], &mut self.words_left)
                {
                    Some(words) => {
                        self.push_whole_lines(&mut removed, &mut added, lines);
                        let words = narrow_changed(words, self.limits);
                        self.push_line(
                            DiffLine { kind: LineKind::Changed, words },
                            size(&[old[from], new[to]]),
                            lines,
                        );
                    }
                    None => {
                        removed.push(old[from]);
                        added.push(new[to]);
                    }
                },
            }
        }
        self.push_whole_lines(&mut removed, &mut added, lines);
    }

    fn push_whole_lines(
        &mut self,
        removed: &mut Vec<&str>,
        added: &mut Vec<&str>,
        lines: &mut Vec<DiffLine>,
    ) {
        let removed = removed.drain(..).map(|text| (LineKind::Removed, text));
        let added = added.drain(..).map(|text| (LineKind::Added, text));
        for (kind, text) in removed.chain(added) {
            let line = self.whole_line(kind, text);
            self.push_line(line, size(&[text]), lines);
        }
    }

    /// Adds a line if there is room for all of it.
    fn push_line(&mut self, line: DiffLine, bytes: usize, lines: &mut Vec<DiffLine>) {
        let height = line.height();
        if height <= self.room {
            self.room -= height;
            self.shown_lines += height;
            self.shown_bytes += bytes;
            lines.push(line);
        } else {
            // Later lines must not fill the gap: lines are shown in order.
            self.room = 0;
        }
    }

    fn whole_line(&self, kind: LineKind, text: &str) -> DiffLine {
        let tag = match kind {
            LineKind::Same | LineKind::Changed => WordTag::Same,
            LineKind::Removed => WordTag::Del,
            LineKind::Added => WordTag::Ins,
        };
        DiffLine { kind, words: narrow_whole(DiffWord::new(tag, text), self.limits) }
    }
}
