//! The headings and the text blocks of a note, and where they stand.
//!
//! Read by a Markdown parser, so that what looks like a heading in code, in HTML or in frontmatter is none.
//! Obsidian's comments (`%% … %%`) are unknown to Markdown and looked for here. Headings inside quotes and
//! lists start no section: what follows them is not below them.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::comments::comments;
use crate::edit::frontmatter::block::{note_start, text_start};

/// One heading outside of quotes, lists and comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    /// As written between the marks, inline markup included.
    pub(super) text: String,
    /// 1 to 6.
    pub(super) level: u8,
    /// Its lines, with the line ending.
    pub(super) lines: Range<usize>,
}

/// One run of text: a paragraph, the own text of a list item, a heading, a table cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) span: Range<usize>,
    /// The list item that it is in, innermost.
    pub(super) item: Option<Range<usize>>,
    /// The table that it is in.
    pub(super) table: Option<Range<usize>>,
    /// The block that is not inside another.
    pub(super) top: Range<usize>,
    /// The leaf is that block, as a paragraph or heading.
    pub(super) is_top: bool,
}

#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) headings: Vec<Heading>,
    pub(super) leaves: Vec<Leaf>,
    /// The blocks that are not inside another.
    pub(super) tops: Vec<Range<usize>>,
}

/// Reads `note`. Every place is in bytes of the note.
pub(super) fn outline(note: &str) -> Outline {
    let shift = text_start(note);
    let text = &note[shift..];
    let mut reader = Reader { shift, ..Reader::default() };
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_WIKILINKS;
    for (event, span) in Parser::new_ext(text, options).into_offset_iter() {
        reader.event(&event, span.start + shift..span.end + shift);
    }
    let Reader { mut found, opaque, levels, .. } = reader;
    found.headings = levels
        .into_iter()
        .map(|(level, block, inner)| Heading {
            text: inner.map_or_else(String::new, |inner| one_line(&note[inner])),
            level,
            lines: whole_lines(note, &block),
        })
        .collect();
    let hidden = comments(note, shift, &opaque);
    let visible = |at: usize| {
        let next = hidden.partition_point(|range| range.end <= at);
        hidden.get(next).is_none_or(|range| at < range.start)
    };
    found.headings.retain(|heading| visible(heading.lines.start));
    found.leaves.retain(|leaf| visible(leaf.span.start));
    found
}

fn one_line(source: &str) -> String {
    if source.contains('\n') {
        source.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    } else {
        source.trim().to_owned()
    }
}

/// Blocks reach from the first sign of their text to the end of it; sections are cut between lines. To
/// Markdown a lone carriage return ends a line as well.
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

/// A block that is open while its events are read.
enum Open {
    Item(Range<usize>),
    Table(Range<usize>),
    /// Code and HTML: nothing in it is text.
    Opaque,
    Other,
}

#[derive(Default)]
struct Reader {
    shift: usize,
    found: Outline,
    open: Vec<Open>,
    top: Range<usize>,
    leaf: Option<Range<usize>>,
    /// Level, block and text of each heading at the top.
    levels: Vec<(u8, Range<usize>, Option<Range<usize>>)>,
    /// Code and HTML, in which `%%` means nothing.
    opaque: Vec<Range<usize>>,
}

impl Reader {
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
                Tag::Item => self.start(Open::Item(span.clone()), span),
                Tag::Table(_) => self.start(Open::Table(span.clone()), span),
                Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_) => {
                    self.opaque.push(span.clone());
                    self.start(Open::Opaque, span);
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
                | Tag::TableCell => self.start(Open::Other, span),
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
                    self.levels.push((number(*level), span, self.leaf.clone()));
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
            // A checkbox is a part of the marker, not of the text.
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, open: Open, span: Range<usize>) {
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
        if matches!(self.open.last(), Some(Open::Opaque)) || span.start < self.shift {
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
            Open::Item(range) => Some(range.clone()),
            Open::Table(_) | Open::Opaque | Open::Other => None,
        });
        let table = self.open.iter().find_map(|open| match open {
            Open::Table(range) => Some(range.clone()),
            Open::Item(_) | Open::Opaque | Open::Other => None,
        });
        let is_top = self.open.len() == 1;
        self.found.leaves.push(Leaf { span, item, table, top: self.top.clone(), is_top });
    }
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
