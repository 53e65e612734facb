//! The edit behind `vault.patchSection`: replaces or extends the text below a heading or at a block id.
//!
//! A heading is given by its path from the top of the note, or by the end of that path, and must be unique: two headings
//! with the same path are refused. A section is its own text, up to the next heading of any level. Subsections belong
//! to it only on request, so that replacing a section never deletes them by accident.
//!
//! The empty lines around a section are kept. The content gets the line endings of the note and ends with
//! one; empty lines at its start or end count only where it meets text of the section. After every edit the
//! note is parsed again: the edit fails if a heading outside of the changed part is different.

mod blocks;
mod content;
mod headings;
mod outline;

use std::ops::Range;
use std::sync::Arc;

use envelope::{Failure, Fault};

use self::outline::{NoteOutline, OutlineHeading, outline};
use super::frontmatter::block::text_start;
use super::splice::{TextSplice, apply_splices};
use crate::lines::line_number;

/// The section or block to change, and the change.
#[derive(Debug, Clone)]
pub struct SectionPatch {
    pub target: SectionTarget,
    pub mode: SectionMode,
    pub content: String,
    /// For a heading: the section includes its subsections.
    pub include_subsections: bool,
}

#[derive(Debug, Clone)]
pub enum SectionTarget {
    /// The texts of the headings from the top of the note down, as written in the Markdown source.
    Heading(Vec<String>),
    /// A block id, with or without its caret.
    Block(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionMode {
    Replace,
    Append,
    Prepend,
}

/// A note with a changed section.
#[derive(Debug, PartialEq, Eq)]
pub struct PatchedSection {
    pub text: String,
    /// The byte range of the new text in the new note.
    pub range: Range<usize>,
    pub bytes_removed: usize,
}

/// A heading of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The texts of the headings from the top of the note down to this one.
    pub path: Vec<Arc<str>>,
    /// 1 to 6.
    pub level: u8,
    /// Counted from 1.
    pub line: usize,
}

/// A block with an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockId {
    /// Without its caret.
    pub id: String,
    /// Line of the id, counted from 1.
    pub line: usize,
}

/// Returns the headings and the block ids of `note`, in order: what [`patch_section`] can name.
pub fn headings_and_blocks(note: &str) -> (Vec<Heading>, Vec<BlockId>) {
    let outline = outline(note);
    let mut above: Vec<&OutlineHeading> = Vec::new();
    let (mut counted, mut line) = (0, 1);
    let mut headings = Vec::with_capacity(outline.headings.len());
    // Shared: every heading has the texts of those above it in its path.
    let mut texts: Vec<Arc<str>> = Vec::new();
    for heading in &outline.headings {
        while above.last().is_some_and(|last| last.level >= heading.level) {
            above.pop();
        }
        above.push(heading);
        line += line_number(&note[counted..], heading.lines.start - counted) - 1;
        counted = heading.lines.start;
        let text: Arc<str> = heading.text.as_str().into();
        texts.truncate(above.len() - 1);
        texts.push(text);
        let path = texts.clone();
        headings.push(Heading { path, level: heading.level, line });
    }
    (headings, blocks::ids(note, &outline))
}

/// Changes one section or block of `note`.
///
/// Fails if the section or block is missing or ambiguous, or if the change would affect other headings.
pub fn patch_section(note: &str, patch: &SectionPatch) -> Result<PatchedSection, Fault> {
    let before = outline(note);
    match &patch.target {
        SectionTarget::Heading(path) => {
            let at = headings::find(note, &before.headings, path)?;
            let level = before.headings.get(at).map_or(0, |heading| heading.level);
            let splices = headings::splices(note, &before.headings, at, patch)?;
            first_valid_splice(note, &before, splices, |_, after, new| {
                let too_high = after
                    .headings
                    .iter()
                    .find(|heading| new.contains(&heading.lines.start) && heading.level <= level);
                too_high.map_or(Ok(()), |heading| Err(too_high_heading(heading)))
            })
        }
        SectionTarget::Block(id) => {
            let id = id.trim().trim_start_matches('^');
            let block = blocks::find(note, &before, id)?;
            let splices = block.splices(note, patch)?;
            first_valid_splice(note, &before, splices, |text, after, new| {
                match blocks::count(text, after, id) {
                    1 => block.check_extended(patch, after, new),
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
                }
            })
        }
    }
}

/// Returns the note with the first of `splices` that changes nothing outside of its range, or the last
/// failure.
fn first_valid_splice(
    note: &str,
    before: &NoteOutline,
    splices: Vec<TextSplice>,
    check: impl Fn(&str, &NoteOutline, &Range<usize>) -> Result<(), Fault>,
) -> Result<PatchedSection, Fault> {
    let mut refusal = spills_over();
    for splice in splices {
        let range = splice.range.start..splice.range.start + splice.text.len();
        let removed = splice.range.clone();
        let text = apply_splices(note, &[splice]);
        let after = outline(&text);
        let outcome = if text_start(&text) == text_start(note)
            && headings_unchanged(&before.headings, &removed, &after.headings, &range)
        {
            check(&text, &after, &range)
        } else {
            Err(spills_over())
        };
        match outcome {
            Ok(()) => return Ok(PatchedSection { text, range, bytes_removed: removed.len() }),
            Err(fault) => refusal = fault,
        }
    }
    Err(refusal)
}

/// Whether the headings outside of the changed part are the same, at their old offsets or shifted with the
/// text.
fn headings_unchanged(
    before: &[OutlineHeading],
    removed: &Range<usize>,
    after: &[OutlineHeading],
    new: &Range<usize>,
) -> bool {
    let outside = |headings: &[OutlineHeading], range: &Range<usize>| -> Vec<(String, u8, usize)> {
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

fn too_high_heading(heading: &OutlineHeading) -> Fault {
    Fault::new(
        Failure::InvalidArguments,
        format!("`content` has the heading `{}`, which would end the section", heading.text),
    )
    .hint("leave the section's own heading out, and give subsections a deeper level")
}

#[cfg(test)]
mod tests;
