//! Selects the lines that fit into a budget, and writes them.
//!
//! The costs of lines are added up to select them, and the finished text is measured once more: if the sum was too
//! low, lines are removed until the text fits.

use super::condense::PreviewLine;
use super::failure_lines::{announces_failure, names_location};
use super::head_tail::{GapFailures, GappedText, InputGap, PreviewStyle};
use super::line_formatter::{PreviewText, cut_line, cut_open_end, cut_open_start, group_digits, line_cost};
use super::tokenizer::{cost_of, estimate};

/// Input of the layout.
pub(super) struct PreviewLayout<'a> {
    pub lines: &'a [PreviewLine<'a>],
    /// Rarity of each line; 0 if it is like the others.
    pub rare: &'a [u32],
    /// Index of the gap among the lines, if the text has one.
    pub boundary: usize,
    pub text: &'a GappedText<'a>,
    pub budget: usize,
    pub style: PreviewStyle,
    /// The failures in the gap.
    pub missing: &'a GapFailures,
}

/// The selected lines, by index.
struct LineChoice<'a> {
    head: usize,
    tail: usize,
    picked: Vec<PickedLine<'a>>,
    /// Number of lines in the middle that announce a failure.
    failures: u64,
    /// Token limit of one line.
    longest: usize,
}

/// A line from the middle, with its line number.
#[derive(Clone, Copy)]
struct PickedLine<'a> {
    /// `None` for a line of the gap.
    index: Option<usize>,
    number: u64,
    text: &'a str,
    reason: PickReason,
}

/// Why a line is picked, most important first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PickReason {
    Failure,
    /// The location that belongs to the failure above it.
    Place,
    Unusual {
        commonness: u32,
    },
    /// A line near a failure.
    Context,
}

const MOST_FAILURES: usize = 12;
const MOST_PICKED: usize = 60;
/// Lines shown after each of the first failures.
const CONTEXT_LINES: usize = 3;
const FAILURES_WITH_CONTEXT: u64 = 6;
/// Smallest budget in which the marker mentions bytes.
const ROOM_FOR_BYTES: usize = 80;
/// Token limit of a usual log line.
const ORDINARY_LINE: usize = 48;
/// Shortest cut of a line while there is a choice.
const SHORTEST_CUT: usize = 12;

impl PreviewLayout<'_> {
    pub(super) fn write(&self) -> PreviewText {
        if self.text.gap.is_none()
            && let Some(written) = self.everything()
        {
            return written;
        }
        let mut choice = self.choose();
        loop {
            let written = self.write_choice(&choice);
            if estimate(&written.text) <= self.budget || !choice.shrink() {
                return written;
            }
        }
    }

    /// Writes all lines, and cuts the longest of them as little as necessary.
    fn everything(&self) -> Option<PreviewText> {
        [1, 2, 4, 8].iter().map(|part| self.budget / part).find_map(|longest| {
            let limit = cost_of(self.budget);
            let mut sum = 0;
            let fits = self.lines.iter().all(|line| {
                sum += line_cost(line.text(), longest);
                sum <= limit
            });
            if !fits {
                return None;
            }
            let mut written = PreviewText::default();
            for line in self.lines {
                written.push(line, longest);
            }
            written.truncated = written.cut > 0;
            (estimate(&written.text) <= self.budget).then_some(written)
        })
    }

    fn choose(&self) -> LineChoice<'_> {
        let marker = estimate(&self.marker(self.text.lines, self.text.lines, MiddleCounts::default())) + 2;
        let room = self.budget.saturating_sub(marker);
        // A usual line is not cut; but no line takes more than a third of the room, and two must fit.
        let longest =
            (self.budget / 8).max(ORDINARY_LINE).min((room / 3).max(SHORTEST_CUT)).min(room / 2).max(1);
        if self.style != PreviewStyle::Log {
            return self.fill(room, longest);
        }
        // Half of the room at most: the ends of a log say what ran and how it ended.
        let mut choice = self.fill(room - room / 2, longest);
        let used = self.pick(&mut choice, room / 2);
        // Room that the lines of the middle do not need belongs to both ends.
        let picked = std::mem::take(&mut choice.picked);
        let mut choice = self.fill(room - used.min(room / 2), longest);
        let end = self.lines.len() - choice.tail;
        let between = |line: &PickedLine<'_>| line.index.is_none_or(|at| (choice.head..end).contains(&at));
        choice.picked = picked.into_iter().filter(between).collect();
        // Counts the failures between the final ends.
        let _counted = self.candidates(&mut choice);
        choice
    }

    /// Selects the first and the last lines that fit: one side can use what the other does not need.
    fn fill(&self, room: usize, longest: usize) -> LineChoice<'_> {
        let (first, last) = match self.style {
            PreviewStyle::Log => (room / 3, room),
            PreviewStyle::Text => (room / 2, room),
            PreviewStyle::Prefix => (room, 0),
        };
        let (before, after) = self.sides();
        let (mut head, used_by_head) = take(before.iter(), cost_of(first), longest);
        let after = if self.text.gap.is_some() { after } else { &after[head..] };
        let (tail, used_by_tail) = match self.style {
            PreviewStyle::Log | PreviewStyle::Text => {
                take(after.iter().rev(), cost_of(last).saturating_sub(used_by_head), longest)
            }
            PreviewStyle::Prefix => (0, 0),
        };
        let most = if self.text.gap.is_some() { before.len() } else { before.len() - tail };
        let left = cost_of(room).saturating_sub(used_by_head + used_by_tail);
        if let Some(rest) = before.get(head..most) {
            head += take_more(rest.iter(), left, longest).0;
        }
        LineChoice { head, tail, picked: Vec::new(), failures: 0, longest }
    }

    /// Returns the lines before and after the gap; without a gap, both sides are all lines.
    fn sides(&self) -> (&[PreviewLine<'_>], &[PreviewLine<'_>]) {
        if self.text.gap.is_some() { self.lines.split_at(self.boundary) } else { (self.lines, self.lines) }
    }

    /// Selects the lines in the middle that announce a failure or are unlike the others, and lines near a failure.
    /// Returns the tokens that they cost.
    fn pick<'l>(&'l self, choice: &mut LineChoice<'l>, room: usize) -> usize {
        let mut found = self.candidates(choice);
        // Stable: lines of equal importance stay in order.
        found.sort_by_key(|line| line.reason);
        let limit = cost_of(room);
        let mut used = 0;
        let mut failures = 0;
        for line in found {
            if choice.picked.len() == MOST_PICKED {
                break;
            }
            if line.reason == PickReason::Failure {
                failures += 1;
                if failures > MOST_FAILURES {
                    continue;
                }
            }
            let cost = line_cost(line.text, choice.longest) + cost_of(3);
            if used + cost <= limit {
                used += cost;
                choice.picked.push(line);
            }
        }
        choice.picked.sort_by_key(|line| line.number);
        let token = cost_of(1) - cost_of(0);
        usize::try_from(used.div_ceil(token)).unwrap_or(usize::MAX)
    }

    /// Returns the lines of the middle that may be picked, in order, and counts the failures.
    fn candidates<'l>(&'l self, choice: &mut LineChoice<'l>) -> Vec<PickedLine<'l>> {
        // Lines after an uncounted gap have no line number.
        let end = if self.text.is_counted() { self.lines.len() - choice.tail } else { self.boundary };
        let from_end: u64 = self.lines.iter().skip(self.boundary).map(PreviewLine::line_count).sum();
        let mut found = Vec::new();
        let mut number = 1;
        let mut previous = "";
        let mut place_follows = false;
        let mut near = 0;
        for (index, line) in self.lines.iter().enumerate().take(end) {
            if index == self.boundary && self.text.gap.is_some() {
                self.add_missing(number, choice, &mut found);
                number = self.text.lines + 1 - from_end;
            }
            let at = number;
            number += line.line_count();
            let PreviewLine::Verbatim(text) = line else { continue };
            if index < choice.head || *text == previous {
                continue;
            }
            let failure = announces_failure(text);
            let place = place_follows && text.starts_with(' ') && names_location(text);
            place_follows = failure;
            let bits = self.rare.get(index).copied().unwrap_or(0);
            let reason = match (failure, place, bits) {
                (true, _, _) => PickReason::Failure,
                (false, true, _) => PickReason::Place,
                (false, false, 1..) => PickReason::Unusual { commonness: u32::MAX - bits },
                (false, false, 0) if near > 0 && !text.trim().is_empty() => PickReason::Context,
                (false, false, 0) => continue,
            };
            if failure {
                previous = text;
                choice.failures += 1;
                near = if choice.failures <= FAILURES_WITH_CONTEXT { CONTEXT_LINES } else { 0 };
            } else {
                near = near.saturating_sub(1);
            }
            found.push(PickedLine { index: Some(index), number: at, text, reason });
        }
        if self.text.gap.is_some() && self.text.is_counted() && end <= self.boundary {
            self.add_missing(number, choice, &mut found);
        }
        found
    }

    /// Adds the failures in the gap, which begins at line `number`.
    fn add_missing<'l>(&'l self, number: u64, choice: &mut LineChoice<'l>, found: &mut Vec<PickedLine<'l>>) {
        choice.failures += self.missing.count;
        found.extend(self.missing.lines.iter().map(|(at, text)| PickedLine {
            index: None,
            number: number + at,
            text,
            reason: PickReason::Failure,
        }));
    }

    fn write_choice(&self, choice: &LineChoice<'_>) -> PreviewText {
        let mut written = PreviewText::default();
        written.truncated = true;
        let head = &self.lines[..choice.head];
        let tail = &self.lines[self.lines.len() - choice.tail..];
        match head {
            [PreviewLine::Verbatim(only)] if self.text.head_goes_on => {
                written.push_cut(&cut_open_end(only, choice.longest));
            }
            head => head.iter().for_each(|line| written.push(line, choice.longest)),
        }
        let stand_for = |lines: &[PreviewLine<'_>]| lines.iter().map(PreviewLine::line_count).sum();
        let unusual = |pick: &&PickedLine<'_>| matches!(pick.reason, PickReason::Unusual { .. });
        let middle = MiddleCounts {
            picked: choice.picked.iter().filter(|pick| pick.reason == PickReason::Failure).count() as u64,
            failures: choice.failures,
            unusual: choice.picked.iter().filter(unusual).count() as u64,
        };
        written.push_text(&self.marker(stand_for(head), stand_for(tail), middle));
        for pick in &choice.picked {
            let text = pick.text;
            let cut = cut_line(text, choice.longest);
            written.shown += 1;
            written.cut += u64::from(cut.is_some());
            written.push_text(&format!("{}: {}", pick.number, cut.as_deref().unwrap_or(text)));
        }
        if !choice.picked.is_empty() {
            written.push_text("...");
        }
        match tail {
            [PreviewLine::Verbatim(only)] if self.text.tail_began_before => {
                written.push_cut(&cut_open_start(only, choice.longest));
            }
            tail => tail.iter().for_each(|line| written.push(line, choice.longest)),
        }
        written
    }

    fn marker(&self, first: u64, last: u64, middle: MiddleCounts) -> String {
        let of = match self.text.gap {
            Some(InputGap { lines: None, bytes }) if self.budget >= ROOM_FOR_BYTES => {
                format!("; {} bytes were not looked at", group_digits(bytes))
            }
            Some(InputGap { lines: None, .. }) => format!(" of more than {}", group_digits(self.text.lines)),
            Some(InputGap { lines: Some(_), .. }) | None => format!(" of {}", group_digits(self.text.lines)),
        };
        let first = group_digits(first);
        let last = group_digits(last);
        match self.style {
            PreviewStyle::Prefix => format!("...\n[output truncated: showing first {first} lines{of}]"),
            PreviewStyle::Log | PreviewStyle::Text => {
                let between = middle.describe();
                format!(
                    "...\n[output truncated: showing first {first} and last {last} lines{of}{between}]\n..."
                )
            }
        }
    }
}

/// Numbers of lines between the first and the last lines.
#[derive(Clone, Copy, Default)]
struct MiddleCounts {
    picked: u64,
    failures: u64,
    unusual: u64,
}

impl MiddleCounts {
    fn describe(self) -> String {
        let MiddleCounts { picked, failures, unusual } = self;
        match (picked, unusual) {
            (0, 0) => String::new(),
            (0, unusual) => format!(", and {unusual} unusual lines between them"),
            (_, 0) => format!(", and {picked} of {failures} failures between them"),
            (_, _) => {
                format!(", and {picked} of {failures} failures and {unusual} unusual lines between them")
            }
        }
    }
}

impl LineChoice<'_> {
    /// Removes one line or shortens lines. Returns `false` if nothing can be removed.
    fn shrink(&mut self) -> bool {
        // The least important line of the middle goes last.
        let least = self.picked.iter().enumerate().max_by_key(|(_, line)| line.reason).map(|(at, _)| at);
        if let Some(least) = least.filter(|_| self.head + self.tail <= 4) {
            self.picked.remove(least);
            return true;
        }
        if self.head > 1 && self.head * 2 > self.tail {
            self.head -= 1;
        } else if self.tail > 1 {
            self.tail -= 1;
        } else if self.picked.pop().is_some() {
        } else if self.longest > 1 {
            self.longest -= 1;
        } else {
            return false;
        }
        true
    }
}

/// Counts the lines that cost no more than `limit`, and their cost. The first line is always counted.
fn take<'a>(lines: impl Iterator<Item = &'a PreviewLine<'a>>, limit: u64, longest: usize) -> (usize, u64) {
    let mut lines = lines;
    let Some(first) = lines.next() else { return (0, 0) };
    let cost = line_cost(first.text(), longest);
    let (more, used) = take_more(lines, limit.saturating_sub(cost), longest);
    (more + 1, used + cost)
}

fn take_more<'a>(
    lines: impl Iterator<Item = &'a PreviewLine<'a>>,
    limit: u64,
    longest: usize,
) -> (usize, u64) {
    let (mut count, mut used) = (0, 0);
    for line in lines {
        let cost = line_cost(line.text(), longest);
        if used + cost > limit {
            break;
        }
        used += cost;
        count += 1;
    }
    (count, used)
}
