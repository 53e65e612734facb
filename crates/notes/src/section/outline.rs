//! The headings and text blocks of a note, with their byte ranges.
//!
//! Read with a Markdown parser, so that text that looks like a heading in code, HTML or frontmatter does not
//! count. Markdown does not know Obsidian's comments (`%% … %%`) and blocks of math (`$$ … $$`), so they are
//! searched separately. Headings inside quotes and lists start no section, because the text after them is not below them.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::frontmatter::block::{note_start, text_start};
use crate::hidden_blocks::{HiddenKind, hidden_blocks};

/// A heading outside of quotes, lists and comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutlineHeading {
    /// The heading text in Markdown source, with inline markup.
    pub(super) text: String,
    /// Heading level, 1 to 6.
    pub(super) level: u8,
    /// Byte range of its lines, with the line ending.
    pub(super) lines: Range<usize>,
}

/// A run of text: a paragraph, the own text of a list item, a heading or a table cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeafBlock {
    pub(super) span: Range<usize>,
    /// The innermost list item that contains it.
    pub(super) item: Option<Range<usize>>,
    /// The table that contains it.
    pub(super) table: Option<Range<usize>>,
    /// The top-level block that contains it.
    pub(super) top: Range<usize>,
    /// True if the leaf is that block itself, as a paragraph or heading.
    pub(super) is_top: bool,
}

#[derive(Debug, Default)]
pub(super) struct NoteOutline {
    pub(super) headings: Vec<OutlineHeading>,
    pub(super) leaves: Vec<LeafBlock>,
    /// The top-level blocks.
    pub(super) tops: Vec<Range<usize>>,
}

/// Parses `note`. Every range is in bytes of the note.
pub(super) fn outline(note: &str) -> NoteOutline {
    let shift = text_start(note);
    let text = &note[shift..];
    let mut reader = OutlineBuilder { shift, ..OutlineBuilder::default() };
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_WIKILINKS;
    for (event, span) in Parser::new_ext(text, options).into_offset_iter() {
        reader.event(&event, span.start + shift..span.end + shift);
    }
    let OutlineBuilder { mut found, opaque, levels, .. } = reader;
    found.headings = levels
        .into_iter()
        .map(|(level, block, inner)| OutlineHeading {
            text: inner.map_or_else(String::new, |inner| one_line(&note[inner])),
            level,
            lines: whole_lines(note, &block),
        })
        .collect();
    let hidden = hidden_blocks(note, shift, &opaque);
    let hidden_at = |at: usize| {
        let next = hidden.partition_point(|block| block.range.end <= at);
        hidden.get(next).filter(|block| block.range.start <= at)
    };
    // The line below a heading of two lines can be in math.
    found.headings.retain(|heading| {
        hidden_at(heading.lines.start).is_none() && hidden_at(heading.lines.end.saturating_sub(1)).is_none()
    });
    found.leaves.retain(|leaf| match hidden_at(leaf.span.start) {
        None => true,
        // Math is a block that can have an id after it.
        Some(block) => {
            block.kind == HiddenKind::Math
                && block.range.start == leaf.span.start
                && block.range.end < leaf.span.end
        }
    });
    found.tops.dedup_by(|top, before| {
        let math = hidden_at(top.start).filter(|block| block.kind == HiddenKind::Math);
        // Parts of one block of math, such as those between its empty lines.
        let is_part = math.is_some_and(|block| block.range.start < before.end);
        if is_part {
            before.end = before.end.max(top.end);
        }
        is_part
    });
    found
}

fn one_line(source: &str) -> String {
    if source.contains('\n') {
        source.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    } else {
        source.trim().to_owned()
    }
}

/// Extends a block to whole lines: blocks range from their first to their last character, but sections are
/// cut between lines. Markdown also takes a lone carriage return as the end of a line.
fn whole_lines(note: &str, block: &Range<usize>) -> Range<usize> {
    const BREAKS: [char; 2] = ['\n', '\r'];
    let start = note[..block.start].rfind(BREAKS).map_or_else(|| note_start(note), |at| at + 1);
    let mut end = block.end.max(start);
    if !note[start..end].ends_with(BREAKS) {
        end = note[end..].find(BREAKS).map_or(note.len(), |at| end + at + 1);
    }
    if note[start..end].ends_with('\r') && note[end..].starts_with('\n') {
        end += 1;
    }
    start..end
}

/// A block whose events are still being read.
enum OpenBlock {
    Item(Range<usize>),
    Table(Range<usize>),
    /// Code and HTML: their content is not text.
    Opaque,
    Other,
}

#[derive(Default)]
struct OutlineBuilder {
    shift: usize,
    found: NoteOutline,
    open: Vec<OpenBlock>,
    top: Range<usize>,
    leaf: Option<Range<usize>>,
    /// Level, block and text of each top-level heading.
    levels: Vec<(u8, Range<usize>, Option<Range<usize>>)>,
    /// Code and HTML, where `%%` has no meaning.
    opaque: Vec<Range<usize>>,
}

impl OutlineBuilder {
    fn event(&mut self, event: &Event<'_>, span: Range<usize>) {
        match event {
            Event::Start(tag) => match tag {
                Tag::Emphasis
                | Tag::Strong
                | Tag::Strikethrough
                | Tag::Superscript
                | Tag::Subscript
                | Tag::Link { .. }
                | Tag::Image { .. } => self.inline(span),
                Tag::Item => self.start(OpenBlock::Item(span.clone()), span),
                Tag::Table(_) => self.start(OpenBlock::Table(span.clone()), span),
                Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_) => {
                    self.opaque.push(span.clone());
                    self.start(OpenBlock::Opaque, span);
                }
                Tag::Paragraph
                | Tag::Heading { .. }
                | Tag::BlockQuote(_)
                | Tag::List(_)
                | Tag::FootnoteDefinition(_)
                | Tag::DefinitionList
                | Tag::DefinitionListTitle
                | Tag::DefinitionListDefinition
                | Tag::TableHead
                | Tag::TableRow
                | Tag::TableCell => self.start(OpenBlock::Other, span),
            },
            Event::End(tag) => match tag {
                TagEnd::Emphasis
                | TagEnd::Strong
                | TagEnd::Strikethrough
                | TagEnd::Superscript
                | TagEnd::Subscript
                | TagEnd::Link
                | TagEnd::Image => {}
                TagEnd::Heading(level) if self.open.len() == 1 => {
                    self.levels.push((heading_level(*level), span, self.leaf.clone()));
                    self.end();
                }
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::BlockQuote(_)
                | TagEnd::CodeBlock
                | TagEnd::HtmlBlock
                | TagEnd::List(_)
                | TagEnd::Item
                | TagEnd::FootnoteDefinition
                | TagEnd::DefinitionList
                | TagEnd::DefinitionListTitle
                | TagEnd::DefinitionListDefinition
                | TagEnd::Table
                | TagEnd::TableHead
                | TagEnd::TableRow
                | TagEnd::TableCell
                | TagEnd::MetadataBlock(_) => self.end(),
            },
            Event::Rule => {
                self.flush();
                if self.open.is_empty() {
                    self.found.tops.push(span);
                }
            }
            Event::Code(_) | Event::InlineHtml(_) => {
                self.opaque.push(span.clone());
                self.inline(span);
            }
            Event::Text(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak => self.inline(span),
            // A checkbox belongs to the marker, not to the text.
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, open: OpenBlock, span: Range<usize>) {
        self.flush();
        if self.open.is_empty() {
            self.top = span.clone();
            self.found.tops.push(span);
        }
        self.open.push(open);
    }

    fn end(&mut self) {
        self.flush();
        self.open.pop();
    }

    fn inline(&mut self, span: Range<usize>) {
        if matches!(self.open.last(), Some(OpenBlock::Opaque)) || span.start < self.shift {
            return;
        }
        self.leaf = Some(match self.leaf.take() {
            Some(leaf) => leaf.start.min(span.start)..leaf.end.max(span.end),
            None => span,
        });
    }

    fn flush(&mut self) {
        let Some(span) = self.leaf.take() else { return };
        let item = self.open.iter().rev().find_map(|open| match open {
            OpenBlock::Item(range) => Some(range.clone()),
            OpenBlock::Table(_) | OpenBlock::Opaque | OpenBlock::Other => None,
        });
        let table = self.open.iter().find_map(|open| match open {
            OpenBlock::Table(range) => Some(range.clone()),
            OpenBlock::Item(_) | OpenBlock::Opaque | OpenBlock::Other => None,
        });
        let is_top = self.open.len() == 1;
        self.found.leaves.push(LeafBlock { span, item, table, top: self.top.clone(), is_top });
    }
}

fn heading_level(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
