//! Finds a block by its id, and the positions in or beside it.
//!
//! An id is at the end of a block's last line (`text ^id`), alone on the block's last line, or on a line of
//! its own below the block, which is how tables, quotes and code get one.

use std::ops::Range;

use envelope::{Failure, Fault, nearest};

use super::content::{indented, is_list_item, trim_blank_lines};
use super::outline::{LeafBlock, NoteOutline};
use super::{BlockId, SectionMode, SectionPatch};
use crate::lines::{LineEnding, line_end, line_number, line_start};
use crate::splice::TextSplice;

/// A block with an id.
pub(super) struct NamedBlock<'a> {
    leaf: &'a LeafBlock,
    /// Byte range of the block without its id.
    text: Range<usize>,
    /// Byte range of the id, with the caret.
    id: Range<usize>,
    /// Offset of the list marker, if the block is the item's own text.
    marker: Option<usize>,
    /// The block that appended content extends; `None` for a paragraph, a heading, an item and code.
    container: Option<BlockContainer>,
}

/// A block that is extended from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContainerKind {
    Table,
    List,
    Quote,
}

#[derive(Debug, Clone, Copy)]
struct BlockContainer {
    kind: ContainerKind,
    /// Start of the top-level block.
    top: usize,
    /// Where the content is inserted: before the id if the id ends the block.
    end: usize,
}

/// Returns every block id, in order.
pub(super) fn ids(note: &str, outline: &NoteOutline) -> Vec<BlockId> {
    let mut found: Vec<Range<usize>> = outline.leaves.iter().filter_map(|leaf| id_of(note, leaf)).collect();
    found.sort_by_key(|id| id.start);
    let (mut counted, mut line) = (0, 1);
    found
        .into_iter()
        .map(|id| {
            line += line_number(&note[counted..], id.start - counted) - 1;
            counted = id.start;
            BlockId { id: note[id.start + 1..id.end].to_owned(), line }
        })
        .collect()
}

/// Returns how many blocks of `outline` have the id.
pub(super) fn count(note: &str, outline: &NoteOutline, id: &str) -> usize {
    outline
        .leaves
        .iter()
        .filter(|leaf| id_of(note, leaf).is_some_and(|found| &note[found][1..] == id))
        .count()
}

/// Returns the one block with the id, which can be given with or without its caret.
pub(super) fn find<'a>(note: &str, outline: &'a NoteOutline, id: &str) -> Result<NamedBlock<'a>, Fault> {
    let ids: Vec<(&LeafBlock, Range<usize>)> =
        outline.leaves.iter().filter_map(|leaf| Some((leaf, id_of(note, leaf)?))).collect();
    let mut found = ids.iter().filter(|(_, range)| &note[range.clone()][1..] == id);
    let Some((leaf, range)) = found.next() else {
        let fault = Fault::new(Failure::NotFound, format!("no block has the id `^{id}`"));
        let known = ids.iter().map(|(_, range)| &note[range.clone()][1..]).filter(|known| known.len() <= 100);
        return Err(match nearest(id, known.take(500)).filter(|_| id.len() <= 100) {
            Some(near) => fault.hint(format!("the nearest id is `^{near}`")),
            None => fault.hint("read the note for its block ids"),
        });
    };
    if let Some((_, second)) = found.next() {
        let lines = [line_number(note, range.start), line_number(note, second.start)];
        return Err(Fault::new(
            Failure::Conflict,
            format!("the id `^{id}` occurs twice (lines {} and {})", lines[0], lines[1]),
        )
        .hint("rename one of the two ids")
        .detail("lines", lines.to_vec()));
    }
    named(note, outline, leaf, range.clone())
}

/// Returns the id at the end of a leaf: letters, digits and dashes after a caret, which follows a space or
/// starts the line.
fn id_of(note: &str, leaf: &LeafBlock) -> Option<Range<usize>> {
    let source = note[leaf.span.clone()].trim_end();
    let caret = source.rfind('^')?;
    let id = &source[caret + 1..];
    let alone = source[..caret].chars().next_back().is_none_or(char::is_whitespace);
    let fits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (alone && fits).then(|| leaf.span.start + caret..leaf.span.start + source.len())
}

fn named<'a>(
    note: &str,
    outline: &NoteOutline,
    leaf: &'a LeafBlock,
    id: Range<usize>,
) -> Result<NamedBlock<'a>, Fault> {
    let own = note[leaf.span.start..id.start].trim_end().len();
    let alone = own == 0;
    let line = line_start(note, id.start);
    let text = if !alone {
        leaf.span.start..leaf.span.start + own
    } else if let Some(table) = leaf.table.as_ref().filter(|table| table.start < line) {
        // Markdown takes a line right below a table as a row of it.
        table.start..table.start + note[table.start..line].trim_end().len()
    } else {
        let at = outline.tops.partition_point(|top| top.start < leaf.span.start);
        let above = at.checked_sub(1).and_then(|at| {
            let is_own = outline.tops.get(at).is_some_and(|top| top.contains(&leaf.span.start));
            outline.tops.get(if is_own { at.checked_sub(1)? } else { at })
        });
        match above.filter(|_| leaf.is_top) {
            Some(top) => top.start..top.start + note[top.clone()].trim_end().len(),
            None => {
                return Err(Fault::new(
                    Failure::PreconditionFailed,
                    format!(
                        "the id `{}` is on a line of its own, and there is no block above it that it could belong to",
                        &note[id]
                    ),
                )
                .hint("put the id at the end of the block's last line"));
            }
        }
    };
    let marker = leaf.item.as_ref().filter(|_| !alone).and_then(|item| marker(note, item, leaf));
    let container = container(note, outline, leaf, &text, marker);
    Ok(NamedBlock { leaf, text, id, marker, container })
}

/// Returns the table, list or quote that an id marks.
fn container(
    note: &str,
    outline: &NoteOutline,
    leaf: &LeafBlock,
    text: &Range<usize>,
    marker: Option<usize>,
) -> Option<BlockContainer> {
    let found = |kind, top, end| Some(BlockContainer { kind, top, end });
    if marker.is_some() {
        return None;
    }
    if let Some(table) = leaf.table.as_ref().filter(|table| **table == leaf.top && text.start > table.start) {
        // The id is in a cell.
        return found(ContainerKind::Table, table.start, table.start + note[table.clone()].trim_end().len());
    }
    if !leaf.is_top && leaf.table.is_none() {
        let in_quote = prefix(note, text.start).contains('>');
        return in_quote.then_some(BlockContainer {
            kind: ContainerKind::Quote,
            top: leaf.top.start,
            end: text.end,
        });
    }
    let is_table =
        outline.leaves.iter().any(|leaf| leaf.table.as_ref().is_some_and(|table| table.start == text.start));
    if is_table {
        found(ContainerKind::Table, text.start, text.end)
    } else if text.start >= leaf.span.start {
        // The text of a paragraph or heading.
        None
    } else if is_list_item(&note[text.start..]) {
        found(ContainerKind::List, text.start, text.end)
    } else if note[text.start..].starts_with('>') {
        found(ContainerKind::Quote, text.start, text.end)
    } else {
        None
    }
}

/// Returns the offset of the item's marker, if the leaf is the text right after it.
fn marker(note: &str, item: &Range<usize>, leaf: &LeafBlock) -> Option<usize> {
    let before = note.get(item.start..leaf.span.start)?;
    let marker = item.start + before.len() - before.trim_start().len();
    (!before.trim_start().contains('\n') && is_list_item(&note[marker..])).then_some(marker)
}

impl NamedBlock<'_> {
    /// Fails unless content that was appended to a table, list or quote is in it. `after` is the note with the
    /// content in `new`.
    pub(super) fn check_extended(
        &self,
        patch: &SectionPatch,
        after: &NoteOutline,
        new: &Range<usize>,
    ) -> Result<(), Fault> {
        let Some(container) = self.container.filter(|_| patch.mode == SectionMode::Append) else {
            return Ok(());
        };
        let is_in = |block: &Range<usize>| block.start == container.top && block.end >= new.end;
        let extended = match container.kind {
            ContainerKind::Table => after.leaves.iter().filter_map(|leaf| leaf.table.as_ref()).any(is_in),
            ContainerKind::List | ContainerKind::Quote => after.tops.iter().any(is_in),
        };
        if extended { Ok(()) } else { Err(container.kind.does_not_extend()) }
    }

    /// Returns the possible splices; the first one that keeps the rest of the note unchanged is used.
    pub(super) fn splices(&self, note: &str, patch: &SectionPatch) -> Result<Vec<TextSplice>, Fault> {
        let ending = LineEnding::of(note);
        let content = ending.normalize(&patch.content);
        let content = trim_blank_lines(&content);
        if content.is_empty() {
            return Err(Fault::new(Failure::InvalidArguments, "`content` is empty")
                .hint("give the text of the block; to take the block away use `vault.replaceText`"));
        }
        match patch.mode {
            SectionMode::Replace => Ok(vec![self.replace(note, content, ending)]),
            SectionMode::Append | SectionMode::Prepend => {
                self.insert_beside(note, content, patch.mode, ending)
            }
        }
    }

    /// Replaces the text of the block. The id stays, unless the content includes it. A list item keeps its
    /// marker and checkbox, unless the content begins with a marker.
    fn replace(&self, note: &str, content: &str, ending: LineEnding) -> TextSplice {
        let start = match self.marker {
            Some(marker) if is_list_item(content) => marker,
            Some(_) | None => self.text.start,
        };
        let id = &note[self.id.clone()];
        let brings_id = content
            .strip_suffix(id)
            .is_some_and(|before| before.chars().next_back().is_none_or(char::is_whitespace));
        let end = if brings_id { self.id.end } else { self.text.end };
        TextSplice { range: start..end, text: indented(content, &prefix(note, start), ending) }
    }

    /// Inserts the content as a new block, after or before this one.
    fn insert_beside(
        &self,
        note: &str,
        content: &str,
        mode: SectionMode,
        ending: LineEnding,
    ) -> Result<Vec<TextSplice>, Fault> {
        let newline = ending.as_str();
        if let Some(container) = self.container.filter(|_| mode == SectionMode::Append) {
            return Ok(vec![container.extend(note, content, ending)?]);
        }
        if let (Some(marker), Some(item)) = (self.marker, &self.leaf.item) {
            if !is_list_item(content) {
                return Err(Fault::new(
                    Failure::InvalidArguments,
                    format!("the block `{}` is a list item, but `content` is not", &note[self.id.clone()]),
                )
                .hint("begin `content` with a marker such as `- `"));
            }
            let before = prefix(note, marker);
            let text = indented(content, &before, ending);
            let at = match mode {
                SectionMode::Prepend => marker,
                SectionMode::Append | SectionMode::Replace => {
                    item.start + note[item.clone()].trim_end().len()
                }
            };
            let text = match mode {
                SectionMode::Prepend => format!("{text}{newline}{before}"),
                SectionMode::Append | SectionMode::Replace => format!("{newline}{before}{text}"),
            };
            return Ok(vec![TextSplice { range: at..at, text }]);
        }
        let start = line_start(note, self.text.start);
        let at_top =
            self.leaf.is_top || self.leaf.table.as_ref().is_some_and(|table| *table == self.leaf.top);
        if !at_top {
            return Err(Fault::new(
                Failure::PreconditionFailed,
                format!("the block `{}` is inside another block", &note[self.id.clone()]),
            )
            .hint("replace it, or change the text by `vault.replaceText`"));
        }
        Ok(match mode {
            SectionMode::Prepend => {
                vec![TextSplice { range: start..start, text: format!("{content}{newline}{newline}") }]
            }
            SectionMode::Append | SectionMode::Replace => {
                let at = line_end(note, self.id.end);
                let text = format!("{newline}{newline}{content}");
                let apart = format!("{text}{newline}");
                vec![TextSplice { range: at..at, text }, TextSplice { range: at..at, text: apart }]
            }
        })
    }
}

impl BlockContainer {
    /// Adds the content as the last rows, items or lines of the block.
    fn extend(&self, note: &str, content: &str, ending: LineEnding) -> Result<TextSplice, Fault> {
        let newline = ending.as_str();
        let fits = match self.kind {
            ContainerKind::Table => content.lines().all(|line| line.contains('|')),
            ContainerKind::List => is_list_item(content),
            ContainerKind::Quote => true,
        };
        if !fits {
            return Err(self.kind.does_not_extend());
        }
        let (before, content) = match self.kind {
            ContainerKind::Table | ContainerKind::List => (String::new(), content.to_owned()),
            ContainerKind::Quote => {
                let start = line_start(note, self.end);
                let line = &note[start..self.end];
                let marks = line.len() - line.trim_start_matches([' ', '\t', '>']).len();
                // The content may have the marks of a quote itself.
                let quoted = content.lines().all(|line| line.starts_with('>'));
                let bare = |line: &'_ str| -> String {
                    let line = if quoted { line.trim_start_matches('>') } else { line };
                    if quoted { line.strip_prefix(' ').unwrap_or(line).to_owned() } else { line.to_owned() }
                };
                let content: Vec<String> = content.lines().map(bare).collect();
                (prefix(note, start + marks), content.join(newline))
            }
        };
        let text = format!("{newline}{before}{}", indented(&content, &before, ending));
        Ok(TextSplice { range: self.end..self.end, text })
    }
}

impl ContainerKind {
    fn does_not_extend(self) -> Fault {
        let (block, form) = match self {
            ContainerKind::Table => ("table", "give rows such as `| a | b |`, without empty lines"),
            ContainerKind::List => ("list", "give items with the marker of the list, such as `- text`"),
            ContainerKind::Quote => ("quote", "give text without a block that would end the quote"),
        };
        Fault::new(
            Failure::InvalidArguments,
            format!("the id marks a {block}, and `content` would not be a part of it"),
        )
        .hint(format!("{form}; to add something below it, use `vault.replaceText`"))
    }
}

/// Returns the prefix for the following lines: the text before `at` on its line, with everything but quote
/// marks replaced by spaces.
fn prefix(note: &str, at: usize) -> String {
    note[line_start(note, at)..at]
        .chars()
        .map(|c| if c == '>' || c.is_whitespace() { c } else { ' ' })
        .collect()
}
