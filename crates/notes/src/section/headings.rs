//! Finds a section by the path of its heading, and the positions in it.

use std::ops::Range;

use envelope::{Failure, Fault, VaultPath, nearest};
use pulldown_cmark::{Event, Options, Parser};

use super::content::{trim_blank_lines, without_leading_blank, without_trailing_blank};
use super::outline::OutlineHeading;
use super::{SectionMode, SectionPatch};
use crate::lines::{LineEnding, line_end, line_number};
use crate::splice::TextSplice;

/// Maximum number of headings named in a message, and of characters compared in each.
const COMPARED: usize = 500;

/// How closely a heading has the wanted path, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum HeadingMatch {
    /// The full path, as written.
    Exact,
    /// The end of its path, as written.
    End,
    /// The full path or its end, but for case, encoding and formatting.
    Folded,
}

/// Returns the one heading that a path means: the path from the top of the note down, as written, or else a path that it
/// ends with, or else one that differs only in case, encoding or formatting. Of the closest kind there must be one only.
pub(super) fn find(note: &str, headings: &[OutlineHeading], path: &[String]) -> Result<usize, Fault> {
    let wanted: Vec<&str> = path.iter().map(|text| text.trim()).collect();
    if wanted.is_empty() || wanted.contains(&"") {
        return Err(Fault::new(Failure::InvalidArguments, "the heading path is empty or has an empty part")
            .hint("give the texts of the headings from the top of the note down"));
    }
    let folded_wanted: Vec<String> = wanted.iter().map(|text| folded(text)).collect();
    let all_folded: Vec<String> = headings.iter().map(|heading| folded(&heading.text)).collect();
    let mut above: Vec<usize> = Vec::new();
    let mut found: Vec<(HeadingMatch, usize)> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        while above
            .last()
            .is_some_and(|last| headings.get(*last).is_some_and(|last| last.level >= heading.level))
        {
            above.pop();
        }
        above.push(at);
        // A path has at most six headings, because each is deeper than the one above it.
        let full: Vec<&str> = above.iter().filter_map(|at| Some(headings.get(*at)?.text.as_str())).collect();
        let ends_folded = || {
            let full: Vec<&String> = above.iter().filter_map(|at| all_folded.get(*at)).collect();
            full.ends_with(&folded_wanted.iter().collect::<Vec<_>>())
        };
        if full == wanted {
            found.push((HeadingMatch::Exact, at));
        } else if full.ends_with(&wanted) {
            found.push((HeadingMatch::End, at));
        } else if ends_folded() {
            found.push((HeadingMatch::Folded, at));
        }
    }
    let Some(closest) = found.iter().map(|(kind, _)| *kind).min() else {
        return Err(not_found(headings, &wanted));
    };
    let closest: Vec<usize> =
        found.into_iter().filter(|(kind, _)| *kind == closest).map(|(_, at)| at).collect();
    match closest.as_slice() {
        [one] => Ok(*one),
        several => Err(ambiguous(note, headings, several, &wanted)),
    }
}

/// Returns the text that a reader sees, without formatting, folded.
fn folded(text: &str) -> String {
    let shown: String = Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH)
        .filter_map(|event| {
            if let Event::Text(text) | Event::Code(text) = event { Some(text.into_string()) } else { None }
        })
        .collect();
    // A text such as `1.` is a list of its own to the parser.
    let shown = if shown.is_empty() { text } else { &shown };
    VaultPath::fold_text(&shown.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn ambiguous(note: &str, headings: &[OutlineHeading], found: &[usize], wanted: &[&str]) -> Fault {
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
    .hint("give the full path from the top of the note down; where that is the same, rename one of them, or change the text by `vault.replaceText`")
    .detail("lines", lines)
}

fn not_found(headings: &[OutlineHeading], wanted: &[&str]) -> Fault {
    let fault = Fault::new(Failure::NotFound, format!("no heading is `{}`", wanted.join("` > `")));
    let last = wanted.last().copied().unwrap_or_default();
    let known = headings.iter().map(|heading| heading.text.as_str()).filter(|text| text.len() <= COMPARED);
    match nearest(last, known.take(COMPARED)).filter(|_| last.len() <= COMPARED) {
        Some(near) => fault.hint(format!("the nearest heading is `{near}`")),
        None if headings.is_empty() => fault.hint("the note has no headings"),
        None => fault.hint("read the note for its headings"),
    }
}

/// Returns the range to change and the candidate texts; the second is for the case that the first would run
/// into the following text.
pub(super) fn splices(
    note: &str,
    headings: &[OutlineHeading],
    at: usize,
    patch: &SectionPatch,
) -> Result<Vec<TextSplice>, Fault> {
    let Some(heading) = headings.get(at) else { return Ok(Vec::new()) };
    let body = heading.lines.end..section_end(note, headings, at, heading.level, patch.include_subsections);
    let ending = LineEnding::of(note);
    let content = ending.normalize(&patch.content);
    if content.trim().is_empty() {
        return match patch.mode {
            SectionMode::Replace => Ok(vec![empty_section(note, &body)]),
            SectionMode::Append | SectionMode::Prepend => {
                Err(Fault::new(Failure::InvalidArguments, "`content` is empty, so there is nothing to add")
                    .hint("give the text to add, or use the mode `replace` to empty the section"))
            }
        };
    }
    let (range, text) = place_content(note, &body, &content, patch.mode, ending);
    let newline = ending.as_str();
    let apart = format!("{text}{newline}");
    let mut splices = vec![TextSplice { range: range.clone(), text }];
    if range.end < note.len() {
        splices.push(TextSplice { range, text: apart });
    }
    Ok(splices)
}

/// Returns the end of the section: the next heading, or with subsections the next heading that is not below
/// it.
fn section_end(note: &str, headings: &[OutlineHeading], at: usize, level: u8, subsections: bool) -> usize {
    headings
        .iter()
        .skip(at + 1)
        .find(|next| !subsections || next.level <= level)
        .map_or(note.len(), |next| next.lines.start)
}

/// Returns the splice that empties a section. Empty lines stay on one side only, and at the end of the note
/// on neither.
fn empty_section(note: &str, body: &Range<usize>) -> TextSplice {
    let text = &note[body.clone()];
    let lead = text.len() - without_leading_blank(text).len();
    let range = if body.end == note.len() {
        body.clone()
    } else if lead > 0 {
        body.start + lead..body.end
    } else {
        body.start..body.start + content_length(text)
    };
    TextSplice { range, text: String::new() }
}

/// Returns the length of `text` without trailing empty lines, including the line ending of its last line.
fn content_length(text: &str) -> usize {
    let end = without_trailing_blank(text).len();
    text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1)
}

fn place_content(
    note: &str,
    body: &Range<usize>,
    content: &str,
    mode: SectionMode,
    ending: LineEnding,
) -> (Range<usize>, String) {
    let newline = ending.as_str();
    let text = &note[body.clone()];
    let at_end = body.end == note.len();
    // A note without a final line ending stays without one.
    let unended = at_end && !note.ends_with('\n');
    let final_newline = if unended { "" } else { newline };
    if text.trim().is_empty() {
        let first = if note[..body.start].ends_with('\n') { "" } else { newline };
        let gap = if at_end { "" } else { text };
        let start = if at_end && !unended { body.start } else { body.end };
        return (start..body.end, format!("{first}{}{final_newline}{gap}", trim_blank_lines(content)));
    }
    let start = body.start + (text.len() - without_leading_blank(text).len());
    let end = body.start + content_length(text);
    match mode {
        SectionMode::Replace => (start..end, format!("{}{final_newline}", trim_blank_lines(content))),
        SectionMode::Append => {
            let first = if note[..end].ends_with('\n') { "" } else { newline };
            (end..end, format!("{first}{}{final_newline}", without_trailing_blank(content)))
        }
        SectionMode::Prepend => {
            let content = without_leading_blank(content);
            let own = line_end(content, content.strip_suffix('\n').map_or(content.len(), str::len));
            (start..start, format!("{}{newline}", &content[..own]))
        }
    }
}
