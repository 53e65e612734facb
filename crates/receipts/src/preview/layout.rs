//! Selects the lines that fit into a budget, and writes them.
//!
//! The costs of lines are added up to select them, and the finished text is measured once more: if the sum was too
//! low, lines are removed until the text fits.

use super::condense::PreviewLine;
use super::failure_lines::{announces_failure, names_location};
use super::head_tail::{GappedText, InputGap, PreviewStyle};
use super::line_formatter::{PreviewText, cut_line, cut_open_end, cut_open_start, group_digits, line_cost};
use super::tokenizer::{cost_of, estimate};

/// Input of the layout.
pub(super) struct PreviewLayout<'a> {
    pub lines: &'a [PreviewLine<'a>],
    /// Index of the gap among the lines, if the text has one.
    pub boundary: usize,
    pub text: &'a GappedText<'a>,
    pub budget: usize,
    pub style: PreviewStyle,
}

/// The selected lines, by index.
struct LineChoice {
    head: usize,
    tail: usize,
    picked: Vec<FailureLine>,
    /// Number of lines in the middle that announce a failure.
    failures: usize,
    /// Token limit of one line.
    longest: usize,
}

/// A line from the middle, with its line number.
struct FailureLine {
    index: usize,
    number: u64,
    /// False for the location that belongs to the failure above it.
    is_failure: bool,
}

const MOST_PICKED: usize = 12;
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

    fn choose(&self) -> LineChoice {
        let marker = estimate(&self.marker(self.text.lines, self.text.lines, 0, 0)) + 2;
        let room = self.budget.saturating_sub(marker);
        // A usual line is not cut; but no line takes more than a third of the room, and two must fit.
        let longest =
            (self.budget / 8).max(ORDINARY_LINE).min((room / 3).max(SHORTEST_CUT)).min(room / 2).max(1);
        let for_failures = if self.style == PreviewStyle::Log { room / 4 } else { 0 };
        let mut choice = self.fill(room - for_failures, longest);
        if for_failures > 0 {
            self.pick(&mut choice, for_failures);
            if choice.picked.is_empty() {
                let failures = choice.failures;
                choice = LineChoice { failures, ..self.fill(room, longest) };
            }
        }
        choice
    }

    /// Selects the first and the last lines that fit: one side can use what the other does not need.
    fn fill(&self, room: usize, longest: usize) -> LineChoice {
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

    /// Selects the lines in the middle that announce a failure, and the location that may follow them.
    fn pick(&self, choice: &mut LineChoice, room: usize) {
        // Lines after an uncounted gap have no line number.
        let end = if self.text.is_counted() { self.lines.len() - choice.tail } else { self.boundary };
        let from_end: u64 = self.lines.iter().skip(self.boundary).map(PreviewLine::line_count).sum();
        let mut number = 1;
        let mut left = cost_of(room);
        let mut previous = "";
        let mut place_follows = false;
        for (index, line) in self.lines.iter().enumerate().take(end) {
            if index == self.boundary && self.text.gap.is_some() {
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
            if !failure && !place {
                continue;
            }
            previous = text;
            choice.failures += usize::from(failure);
            if left == 0 || choice.picked.len() == MOST_PICKED {
                continue;
            }
            let cost = line_cost(text, choice.longest) + cost_of(3);
            left = left.saturating_sub(cost);
            if left > 0 {
                choice.picked.push(FailureLine { index, number: at, is_failure: failure });
            }
        }
    }

    fn write_choice(&self, choice: &LineChoice) -> PreviewText {
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
        let picked = choice.picked.iter().filter(|pick| pick.is_failure).count();
        written.push_text(&self.marker(stand_for(head), stand_for(tail), picked, choice.failures));
        for pick in &choice.picked {
            let Some(line) = self.lines.get(pick.index) else { continue };
            let text = line.text();
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

    fn marker(&self, first: u64, last: u64, picked: usize, failures: usize) -> String {
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
                let between = if picked > 0 {
                    format!(", and {picked} of {failures} failures between them")
                } else {
                    String::new()
                };
                format!(
                    "...\n[output truncated: showing first {first} and last {last} lines{of}{between}]\n..."
                )
            }
        }
    }
}

impl LineChoice {
    /// Removes one line or shortens lines. Returns `false` if nothing can be removed.
    fn shrink(&mut self) -> bool {
        if self.picked.pop().is_some() {
            return true;
        }
        if self.head > 1 && self.head * 2 > self.tail {
            self.head -= 1;
        } else if self.tail > 1 {
            self.tail -= 1;
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
