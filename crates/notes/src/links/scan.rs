//! Finds every link in a file.

use std::ops::Range;

use envelope::VaultPath;

use super::body::{links_in, may_hold_links};
use super::canvas::{NodeString, node_strings};
use super::fold::fold;
use super::link::{LinkKind, LinkSource, LinkSyntax, NoteLink};
use super::properties::{frontmatter, scalars};
use super::quote_format::QuoteFormat;

/// The kind of a file, as far as links are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Note,
    Canvas,
    /// No links that this module reads.
    Other,
}

impl FileKind {
    pub fn of(path: &VaultPath) -> FileKind {
        match path.name().rsplit_once('.') {
            Some((_, extension)) if fold(extension) == "md" => FileKind::Note,
            Some((_, extension)) if fold(extension) == "canvas" => FileKind::Canvas,
            _ => FileKind::Other,
        }
    }
}

/// Returns every link in the text of a file, in order.
pub fn scan(kind: FileKind, text: &str) -> Vec<NoteLink> {
    let mut links = match kind {
        FileKind::Note => scan_note(text),
        FileKind::Canvas => scan_canvas(text),
        FileKind::Other => Vec::new(),
    };
    links.sort_by_key(|link| link.span.start);
    count_lines(text, &mut links);
    links
}

fn scan_note(text: &str) -> Vec<NoteLink> {
    let Some(frontmatter) = frontmatter(text) else {
        let start = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
        return scan_string(text, start..text.len(), QuoteFormat::None, None);
    };
    let mut links = Vec::new();
    if may_hold_links(&text[frontmatter.block.clone()]) || text[frontmatter.block.clone()].contains('\\') {
        for scalar in scalars(text, &frontmatter.block) {
            links.extend(scan_string(text, scalar.span, scalar.quoting, Some(LinkKind::Property)));
        }
    }
    links.extend(scan_string(text, frontmatter.body..text.len(), QuoteFormat::None, None));
    links
}

fn scan_canvas(text: &str) -> Vec<NoteLink> {
    let mut links = Vec::new();
    for string in node_strings(text) {
        match string {
            NodeString::Text { span } => {
                links.extend(scan_string(text, span, QuoteFormat::Json, Some(LinkKind::CanvasText)));
            }
            NodeString::File { span, subpath } => links.extend(canvas_file(text, span, subpath)),
        }
    }
    links
}

fn canvas_file(text: &str, span: Range<usize>, subpath: Option<String>) -> Option<NoteLink> {
    let target = QuoteFormat::Json.decode(text, span.clone())?.text;
    let fragment = subpath.map(|subpath| subpath.strip_prefix('#').unwrap_or(&subpath).to_owned());
    let written =
        LinkSource { path: span.clone(), display: None, form: LinkSyntax::Path, quoting: QuoteFormat::Json };
    Some(NoteLink { kind: LinkKind::CanvasFile, span, target, fragment, display: None, line: 0, written })
}

/// Returns the links in a string of the file that is Markdown after decoding.
fn scan_string(
    text: &str,
    span: Range<usize>,
    quoting: QuoteFormat,
    kind: Option<LinkKind>,
) -> Vec<NoteLink> {
    if quoting == QuoteFormat::None {
        let start = span.start;
        let moved = |part: &Range<usize>| part.start + start..part.end + start;
        return translate_offsets(links_in(&text[span]), quoting, kind, moved);
    }
    match quoting.decode(text, span) {
        Some(read) if may_hold_links(&read.text) => {
            translate_offsets(links_in(&read.text), quoting, kind, |part| read.origin(part))
        }
        _ => Vec::new(),
    }
}

/// Translates offsets in a string into offsets in the file.
fn translate_offsets(
    mut links: Vec<NoteLink>,
    quoting: QuoteFormat,
    kind: Option<LinkKind>,
    place: impl Fn(&Range<usize>) -> Range<usize>,
) -> Vec<NoteLink> {
    for link in &mut links {
        link.span = place(&link.span);
        link.written.path = place(&link.written.path);
        link.written.display = link.written.display.as_ref().map(&place);
        link.written.quoting = quoting;
        link.kind = kind.unwrap_or(link.kind);
    }
    links
}

/// Sets the line numbers of all links, which are in order, in one pass over the text.
fn count_lines(text: &str, links: &mut [NoteLink]) {
    let mut line = 1_u32;
    let mut counted = 0;
    for link in links {
        let breaks = text.as_bytes()[counted..link.span.start].iter().filter(|byte| **byte == b'\n').count();
        line = line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        counted = link.span.start;
        link.line = line;
    }
}
