//! One line that is too long, cut to its budget with a count of what it has more.

use super::numbers::grouped;
use super::tokens::{cost_of, cost_up_to, estimate, prefix_within};

/// The line within `tokens`, if it has to be cut for that.
pub(super) fn cut_line(line: &str, tokens: usize) -> Option<String> {
    let limit = cost_of(tokens);
    if cost_up_to(line, limit.saturating_add(1)) <= limit {
        return None;
    }
    // There are at most as many characters as bytes, so the note gets no longer than this.
    let room = tokens.saturating_sub(estimate(&note(line.len())));
    let end = prefix_within(line, room);
    let (shown, rest) = line.split_at(end);
    Some(format!("{shown}{}", note(rest.chars().count())))
}

fn note(characters: usize) -> String {
    format!("...[{} more characters]", grouped(characters as u64))
}

/// The beginning of a line of which nobody knows how long it is.
pub(super) fn cut_open_end(line: &str, tokens: usize) -> String {
    const NOTE: &str = "...[the line goes on]";
    let end = prefix_within(line, tokens.saturating_sub(estimate(NOTE)));
    format!("{}{NOTE}", &line[..end])
}

/// The end of a line of which nobody knows where it began.
pub(super) fn cut_open_start(line: &str, tokens: usize) -> String {
    const NOTE: &str = "[the line began before]...";
    let room = tokens.saturating_sub(estimate(NOTE));
    // A character costs seldom more than two tokens and often a quarter of one: the longest end that fits lies
    // between, and each step comes closer by half.
    let (mut too_long, mut fits) = (line.len().min(room.saturating_mul(8)) + 1, 0);
    while fits + 1 < too_long {
        let middle = fits.midpoint(too_long);
        let start = line.ceil_char_boundary(line.len() - middle.min(line.len()));
        if estimate(&line[start..]) <= room {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    format!("{NOTE}{}", &line[line.ceil_char_boundary(line.len() - fits.min(line.len()))..])
}
