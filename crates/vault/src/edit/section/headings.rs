//! Finds a section by the path of its heading, and the place in it.

use std::ops::Range;

use envelope::{Failure, Fault, nearest};

use super::content::{core, without_leading_blank, without_trailing_blank};
use super::outline::Heading;
use super::{Mode, SectionPatch};
use crate::edit::lines::{LineEnding, line_end, line_number};
use crate::edit::splice::Splice;

/// Headings that a message names, and characters of each that it compares.
const COMPARED: usize = 500;

/// The one heading with this path from the top of the note down.
pub(super) fn find(note: &str, headings: &[Heading], path: &[String]) -> Result<usize, Fault> {
    let wanted: Vec<&str> = path.iter().map(|text| text.trim()).collect();
    if wanted.is_empty() || wanted.contains(&"") {
        return Err(Fault::new(Failure::InvalidArguments, "the heading path is empty or has an empty part")
            .hint("give the texts of the headings from the top of the note down"));
    }
    let mut above: Vec<usize> = Vec::new();
    let mut found = Vec::new();
    let mut ending_alike = None;
    for (at, heading) in headings.iter().enumerate() {
        while above
            .last()
            .is_some_and(|last| headings.get(*last).is_some_and(|last| last.level >= heading.level))
        {
            above.pop();
        }
        above.push(at);
        // A path is at most six headings long: every one is deeper than the one above it.
        let full: Vec<&str> = above.iter().filter_map(|at| Some(headings.get(*at)?.text.as_str())).collect();
        if full == wanted {
            found.push(at);
        } else if full.ends_with(&wanted) && ending_alike.is_none() {
            ending_alike = Some(full.join("` > `"));
        }
    }
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(missing(headings, &wanted, ending_alike)),
        several => Err(ambiguous(note, headings, several, &wanted)),
    }
}

fn ambiguous(note: &str, headings: &[Heading], found: &[usize], wanted: &[&str]) -> Fault {
    let lines: Vec<usize> = found
        .iter()
        .filter_map(|at| headings.get(*at))
        .map(|heading| line_number(note, heading.lines.start))
        .collect();
    let shown = lines.iter().take(5).map(usize::to_string).collect::<Vec<_>>().join(", ");
    let more = if lines.len() > 5 { ", …" } else { "" };
    Fault::new(
        Failure::Conflict,
        format!("{} headings are `{}` (lines {shown}{more})", found.len(), wanted.join("` > `")),
    )
    .hint("rename one of them, or change the text by `vault.replaceText`")
    .detail("lines", lines)
}

fn missing(headings: &[Heading], wanted: &[&str], ending_alike: Option<String>) -> Fault {
    let fault = Fault::new(Failure::NotFound, format!("no heading is `{}`", wanted.join("` > `")));
    if let Some(full) = ending_alike {
        return fault.hint(format!("give the full path: `{full}`"));
    }
    let last = wanted.last().copied().unwrap_or_default();
    let known = headings.iter().map(|heading| heading.text.as_str()).filter(|text| text.len() <= COMPARED);
    match nearest(last, known.take(COMPARED)).filter(|_| last.len() <= COMPARED) {
        Some(near) => fault.hint(format!("the nearest heading is `{near}`; give all headings above it, too")),
        None if headings.is_empty() => fault.hint("the note has no headings"),
        None => fault.hint("read the note for its headings"),
    }
}

/// The part of the note to change, and the texts that could come there: the second only where the first would
/// run into what follows.
pub(super) fn splices(
    note: &str,
    headings: &[Heading],
    at: usize,
    patch: &SectionPatch,
) -> Result<Vec<Splice>, Fault> {
    let Some(heading) = headings.get(at) else { return Ok(Vec::new()) };
    let body = heading.lines.end..section_end(note, headings, at, heading.level, patch.include_subsections);
    let ending = LineEnding::of(note);
    let content = ending.applied(&patch.content);
    if content.trim().is_empty() {
        return match patch.mode {
            Mode::Replace => Ok(vec![emptied(note, &body)]),
            Mode::Append | Mode::Prepend => {
                Err(Fault::new(Failure::InvalidArguments, "`content` is empty, so there is nothing to add")
                    .hint("give the text to add, or use the mode `replace` to empty the section"))
            }
        };
    }
    let (range, text) = placed(note, &body, &content, patch.mode, ending);
    let newline = ending.as_str();
    let apart = format!("{text}{newline}");
    let mut splices = vec![Splice { range: range.clone(), text }];
    if range.end < note.len() {
        splices.push(Splice { range, text: apart });
    }
    Ok(splices)
}

/// Where the section ends: at the next heading, or with its subsections at the next one that is not below it.
fn section_end(note: &str, headings: &[Heading], at: usize, level: u8, subsections: bool) -> usize {
    headings
        .iter()
        .skip(at + 1)
        .find(|next| !subsections || next.level <= level)
        .map_or(note.len(), |next| next.lines.start)
}

/// The section keeps the empty lines on one side only, and none at the end of the note.
fn emptied(note: &str, body: &Range<usize>) -> Splice {
    let text = &note[body.clone()];
    let lead = text.len() - without_leading_blank(text).len();
    let range = if body.end == note.len() {
        body.clone()
    } else if lead > 0 {
        body.start + lead..body.end
    } else {
        body.start..body.start + filled(text)
    };
    Splice { range, text: String::new() }
}

/// How much of `text` is not empty lines at its end; with the line ending of the last line that is kept.
fn filled(text: &str) -> usize {
    let end = without_trailing_blank(text).len();
    text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1)
}

fn placed(
    note: &str,
    body: &Range<usize>,
    content: &str,
    mode: Mode,
    ending: LineEnding,
) -> (Range<usize>, String) {
    let newline = ending.as_str();
    let text = &note[body.clone()];
    let at_end = body.end == note.len();
    // A note that ends without a line ending goes on doing so.
    let unended = at_end && !note.ends_with('\n');
    let final_newline = if unended { "" } else { newline };
    if text.trim().is_empty() {
        let first = if note[..body.start].ends_with('\n') { "" } else { newline };
        let gap = if at_end { "" } else { text };
        let start = if at_end && !unended { body.start } else { body.end };
        return (start..body.end, format!("{first}{}{final_newline}{gap}", core(content)));
    }
    let start = body.start + (text.len() - without_leading_blank(text).len());
    let end = body.start + filled(text);
    match mode {
        Mode::Replace => (start..end, format!("{}{final_newline}", core(content))),
        Mode::Append => {
            let first = if note[..end].ends_with('\n') { "" } else { newline };
            (end..end, format!("{first}{}{final_newline}", without_trailing_blank(content)))
        }
        Mode::Prepend => {
            let content = without_leading_blank(content);
            let own = line_end(content, content.strip_suffix('\n').map_or(content.len(), str::len));
            (start..start, format!("{}{newline}", &content[..own]))
        }
    }
}
