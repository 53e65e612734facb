//! Which lines fit into a budget, and how they are put together.
//!
//! Costs of lines are added up to choose them, and the finished text is counted once more: if the sum was a
//! little too low, lines go again until the text is within the budget.

use super::condense::Line;
use super::cut::{cut_line, cut_open_end, cut_open_start};
use super::facts::{announces_failure, names_a_place};
use super::head_tail::{Gap, Style};
use super::numbers::grouped;
use super::text::Text;
use super::tokens::{cost_of, estimate};
use super::written::{Written, line_cost};

/// What has to be laid out.
pub(super) struct Layout<'a> {
    pub lines: &'a [Line<'a>],
    /// Where the gap is among the lines, if the text has one.
    pub boundary: usize,
    pub text: &'a Text<'a>,
    pub budget: usize,
    pub style: Style,
}

/// Which lines are shown, by their index.
struct Choice {
    head: usize,
    tail: usize,
    picked: Vec<Picked>,
    /// How many lines between announce a failure.
    failures: usize,
    /// The most tokens for one line.
    longest: usize,
}

/// A line from between, with its number in the text.
struct Picked {
    index: usize,
    number: u64,
    /// Else it is the place of the failure above it.
    is_failure: bool,
}

const MOST_PICKED: usize = 12;
/// A smaller budget has better uses for its tokens than a count of bytes.
const ROOM_FOR_BYTES: usize = 80;
/// The most tokens that a line of a log commonly has.
const ORDINARY_LINE: usize = 48;
/// A line is not cut shorter than to this many tokens while there is a choice.
const SHORTEST_CUT: usize = 12;

impl Layout<'_> {
    pub(super) fn write(&self) -> Written {
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

    /// All lines, the longest of them cut as little as it takes.
    fn everything(&self) -> Option<Written> {
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
            let mut written = Written::default();
            for line in self.lines {
                written.push(line, longest);
            }
            written.truncated = written.cut > 0;
            (estimate(&written.text) <= self.budget).then_some(written)
        })
    }

    fn choose(&self) -> Choice {
        let marker = estimate(&self.marker(self.text.lines, self.text.lines, 0, 0)) + 2;
        let room = self.budget.saturating_sub(marker);
        // An ordinary line is not cut; but no line takes more than a third, and two must fit.
        let longest =
            (self.budget / 8).max(ORDINARY_LINE).min((room / 3).max(SHORTEST_CUT)).min(room / 2).max(1);
        let for_failures = if self.style == Style::Log { room / 4 } else { 0 };
        let mut choice = self.fill(room - for_failures, longest);
        if for_failures > 0 {
            self.pick(&mut choice, for_failures);
            if choice.picked.is_empty() {
                let failures = choice.failures;
                choice = Choice { failures, ..self.fill(room, longest) };
            }
        }
        choice
    }

    /// The first and the last lines that fit: what one side does not need goes to the other.
    fn fill(&self, room: usize, longest: usize) -> Choice {
        let (first, last) = match self.style {
            Style::Log => (room / 3, room),
            Style::Text => (room / 2, room),
            Style::Prefix => (room, 0),
        };
        let (before, after) = self.sides();
        let (mut head, used_by_head) = take(before.iter(), cost_of(first), longest);
        let after = if self.text.gap.is_some() { after } else { &after[head..] };
        let (tail, used_by_tail) = match self.style {
            Style::Log | Style::Text => {
                take(after.iter().rev(), cost_of(last).saturating_sub(used_by_head), longest)
            }
            Style::Prefix => (0, 0),
        };
        let most = if self.text.gap.is_some() { before.len() } else { before.len() - tail };
        let left = cost_of(room).saturating_sub(used_by_head + used_by_tail);
        if let Some(rest) = before.get(head..most) {
            head += take_more(rest.iter(), left, longest).0;
        }
        Choice { head, tail, picked: Vec::new(), failures: 0, longest }
    }

    /// The lines before and after the gap; without a gap each side may reach as far as it likes.
    fn sides(&self) -> (&[Line<'_>], &[Line<'_>]) {
        if self.text.gap.is_some() { self.lines.split_at(self.boundary) } else { (self.lines, self.lines) }
    }

    /// Looks for the lines between that announce a failure, and for the place that may follow them.
    fn pick(&self, choice: &mut Choice, room: usize) {
        // Lines behind a gap that nobody counted have no number.
        let end = if self.text.is_counted() { self.lines.len() - choice.tail } else { self.boundary };
        let from_end: u64 = self.lines.iter().skip(self.boundary).map(Line::stands_for).sum();
        let mut number = 1;
        let mut left = cost_of(room);
        let mut previous = "";
        let mut place_follows = false;
        for (index, line) in self.lines.iter().enumerate().take(end) {
            if index == self.boundary && self.text.gap.is_some() {
                number = self.text.lines + 1 - from_end;
            }
            let at = number;
            number += line.stands_for();
            let Line::Verbatim(text) = line else { continue };
            if index < choice.head || *text == previous {
                continue;
            }
            let failure = announces_failure(text);
            let place = place_follows && text.starts_with(' ') && names_a_place(text);
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
                choice.picked.push(Picked { index, number: at, is_failure: failure });
            }
        }
    }

    fn write_choice(&self, choice: &Choice) -> Written {
        let mut written = Written::default();
        written.truncated = true;
        let head = &self.lines[..choice.head];
        let tail = &self.lines[self.lines.len() - choice.tail..];
        match head {
            [Line::Verbatim(only)] if self.text.head_goes_on => {
                written.push_cut(&cut_open_end(only, choice.longest));
            }
            head => head.iter().for_each(|line| written.push(line, choice.longest)),
        }
        let stand_for = |lines: &[Line<'_>]| lines.iter().map(Line::stands_for).sum();
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
            [Line::Verbatim(only)] if self.text.tail_began_before => {
                written.push_cut(&cut_open_start(only, choice.longest));
            }
            tail => tail.iter().for_each(|line| written.push(line, choice.longest)),
        }
        written
    }

    fn marker(&self, first: u64, last: u64, picked: usize, failures: usize) -> String {
        let of = match self.text.gap {
            Some(Gap { lines: None, bytes }) if self.budget >= ROOM_FOR_BYTES => {
                format!("; {} bytes were not looked at", grouped(bytes))
            }
            Some(Gap { lines: None, .. }) => format!(" of more than {}", grouped(self.text.lines)),
            Some(Gap { lines: Some(_), .. }) | None => format!(" of {}", grouped(self.text.lines)),
        };
        let first = grouped(first);
        let last = grouped(last);
        match self.style {
            Style::Prefix => format!("...\n[output truncated: showing first {first} lines{of}]"),
            Style::Log | Style::Text => {
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

impl Choice {
    /// Gives up a little more. `false` if there is nothing left to give up.
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

/// How many lines cost no more than `limit`, and what they cost. The first is always taken.
fn take<'a>(lines: impl Iterator<Item = &'a Line<'a>>, limit: u64, longest: usize) -> (usize, u64) {
    let mut lines = lines;
    let Some(first) = lines.next() else { return (0, 0) };
    let cost = line_cost(first.text(), longest);
    let (more, used) = take_more(lines, limit.saturating_sub(cost), longest);
    (more + 1, used + cost)
}

fn take_more<'a>(lines: impl Iterator<Item = &'a Line<'a>>, limit: u64, longest: usize) -> (usize, u64) {
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
