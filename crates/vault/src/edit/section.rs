//! The edit behind `vault.patchSection`: replaces or extends what is below a heading or at a block id.
//!
//! A heading is named by its full path from the top of the note, and nothing is guessed: two headings with one
//! path are refused. A section is its own text, up to the next heading of any level; subsections are part of it
//! only when asked for, so that replacing a section never loses them unseen.
//!
//! The empty lines around a section stay as they were. The content has the line endings of the note and ends
//! with one; empty lines that it begins or ends with count only where it meets text of the section. After every
//! edit the note is read again: if a heading outside of the changed part is not what it was, the edit is refused.

mod blocks;
mod comments;
mod content;
mod headings;
mod outline;

use std::ops::Range;

use envelope::{Failure, Fault};

use self::outline::{Heading, Outline, outline};
use super::frontmatter::block::text_start;
use super::splice::{Splice, spliced};

/// What to change, and how.
#[derive(Debug, Clone)]
pub(crate) struct SectionPatch {
    pub(crate) target: Target,
    pub(crate) mode: Mode,
    pub(crate) content: String,
    /// With a heading: the section ends with its subsections, not before them.
    pub(crate) include_subsections: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// The texts of the headings from the top of the note down, as they are written between the marks.
    Heading(Vec<String>),
    /// A block id, with or without its caret.
    Block(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Replace,
    Append,
    Prepend,
}

/// A note with another section.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SectionPatched {
    pub(crate) text: String,
    /// The bytes of the new note that are new.
    pub(crate) range: Range<usize>,
    pub(crate) bytes_removed: usize,
}

/// Changes one section or block of `note`.
pub(crate) fn patch_section(note: &str, patch: &SectionPatch) -> Result<SectionPatched, Fault> {
    let before = outline(note);
    match &patch.target {
        Target::Heading(path) => {
            let at = headings::find(note, &before.headings, path)?;
            let level = before.headings.get(at).map_or(0, |heading| heading.level);
            let splices = headings::splices(note, &before.headings, at, patch)?;
            first_that_holds(note, &before, splices, |_, after, new| {
                let too_high = after
                    .headings
                    .iter()
                    .find(|heading| new.contains(&heading.lines.start) && heading.level <= level);
                too_high.map_or(Ok(()), |heading| Err(too_high_heading(heading)))
            })
        }
        Target::Block(id) => {
            let id = id.trim().trim_start_matches('^');
            let block = blocks::find(note, &before, id)?;
            let splices = block.splices(note, patch)?;
            first_that_holds(note, &before, splices, |text, after, _| match blocks::count(text, after, id) {
                1 => Ok(()),
                0 => Err(Fault::new(
                    Failure::InvalidArguments,
                    format!("the block would lose its id `^{id}` with this content"),
                )
                .hint(format!(
                    "end `content` with `^{id}` where it belongs, on a line of its own after code"
                ))),
                _ => Err(Fault::new(
                    Failure::InvalidArguments,
                    format!("`content` has the id `^{id}` as well"),
                )
                .hint("leave the id out of `content`")),
            })
        }
    }
}

/// The note with the first of `splices` that changes nothing outside of its place; the last refusal if none.
fn first_that_holds(
    note: &str,
    before: &Outline,
    splices: Vec<Splice>,
    check: impl Fn(&str, &Outline, &Range<usize>) -> Result<(), Fault>,
) -> Result<SectionPatched, Fault> {
    let mut refusal = spills_over();
    for splice in splices {
        let range = splice.range.start..splice.range.start + splice.text.len();
        let removed = splice.range.clone();
        let text = spliced(note, &[splice]);
        let after = outline(&text);
        let outcome = if text_start(&text) == text_start(note)
            && same_outside(&before.headings, &removed, &after.headings, &range)
        {
            check(&text, &after, &range)
        } else {
            Err(spills_over())
        };
        match outcome {
            Ok(()) => return Ok(SectionPatched { text, range, bytes_removed: removed.len() }),
            Err(fault) => refusal = fault,
        }
    }
    Err(refusal)
}

/// Whether the headings outside of the changed part are the same, each at its old place or moved with the text.
fn same_outside(before: &[Heading], removed: &Range<usize>, after: &[Heading], new: &Range<usize>) -> bool {
    let outside = |headings: &[Heading], range: &Range<usize>| -> Vec<(String, u8, usize)> {
        headings
            .iter()
            .filter(|heading| !range.contains(&heading.lines.start))
            .map(|heading| {
                let start = heading.lines.start;
                let place = if start < range.start { start } else { start - range.len() };
                (heading.text.clone(), heading.level, place)
            })
            .collect()
    };
    outside(before, removed) == outside(after, new)
}

fn spills_over() -> Fault {
    Fault::new(
        Failure::InvalidArguments,
        "with this content, headings outside of the place that is changed would change as well",
    )
    .hint("close every code block and comment in `content`; begin it with an empty line where it must not join the text before it")
}

fn too_high_heading(heading: &Heading) -> Fault {
    Fault::new(
        Failure::InvalidArguments,
        format!("`content` has the heading `{}`, which would end the section", heading.text),
    )
    .hint("leave the section's own heading out, and give subsections a deeper level")
}

#[cfg(test)]
mod tests;
