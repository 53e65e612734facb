//! Finds every link in a file.

use std::ops::Range;

use envelope::VaultPath;

use super::body::{links_in, may_hold_links};
use super::canvas::{NodeString, node_strings};
use super::fold::fold;
use super::link::{Form, Link, LinkKind, Written};
use super::properties::{frontmatter, scalars};
use super::quoting::Quoting;

/// What a file is, as far as links go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Note,
    Canvas,
    /// Holds no links that we read.
    Other,
}

impl FileKind {
    pub(crate) fn of(path: &VaultPath) -> FileKind {
        match path.name().rsplit_once('.') {
            Some((_, extension)) if fold(extension) == "md" => FileKind::Note,
            Some((_, extension)) if fold(extension) == "canvas" => FileKind::Canvas,
            _ => FileKind::Other,
        }
    }
}

/// Every link in the text of a file, in order.
pub(crate) fn scan(kind: FileKind, text: &str) -> Vec<Link> {
    let mut links = match kind {
        FileKind::Note => in_note(text),
        FileKind::Canvas => in_canvas(text),
        FileKind::Other => Vec::new(),
    };
    links.sort_by_key(|link| link.span.start);
    count_lines(text, &mut links);
    links
}

fn in_note(text: &str) -> Vec<Link> {
    let Some(frontmatter) = frontmatter(text) else {
        let start = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
        return in_string(text, start..text.len(), Quoting::None, None);
    };
    let mut links = Vec::new();
    if may_hold_links(&text[frontmatter.block.clone()]) || text[frontmatter.block.clone()].contains('\\') {
        for scalar in scalars(text, &frontmatter.block) {
            links.extend(in_string(text, scalar.span, scalar.quoting, Some(LinkKind::Property)));
        }
    }
    links.extend(in_string(text, frontmatter.body..text.len(), Quoting::None, None));
    links
}

fn in_canvas(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for string in node_strings(text) {
        match string {
            NodeString::Text { span } => {
                links.extend(in_string(text, span, Quoting::Json, Some(LinkKind::CanvasText)));
            }
            NodeString::File { span, subpath } => links.extend(canvas_file(text, span, subpath)),
        }
    }
    links
}

fn canvas_file(text: &str, span: Range<usize>, subpath: Option<String>) -> Option<Link> {
    let target = Quoting::Json.read(text, span.clone())?.text;
    let fragment = subpath.map(|subpath| subpath.strip_prefix('#').unwrap_or(&subpath).to_owned());
    let written = Written { path: span.clone(), display: None, form: Form::Path, quoting: Quoting::Json };
    Some(Link { kind: LinkKind::CanvasFile, span, target, fragment, display: None, line: 0, written })
}

/// The links in a string of the file that is Markdown once its quoting is taken away.
fn in_string(text: &str, span: Range<usize>, quoting: Quoting, kind: Option<LinkKind>) -> Vec<Link> {
    if quoting == Quoting::None {
        let start = span.start;
        let moved = |part: &Range<usize>| part.start + start..part.end + start;
        return placed(links_in(&text[span]), quoting, kind, moved);
    }
    match quoting.read(text, span) {
        Some(read) if may_hold_links(&read.text) => {
            placed(links_in(&read.text), quoting, kind, |part| read.origin(part))
        }
        _ => Vec::new(),
    }
}

/// Turns places in a string into places in the file.
fn placed(
    mut links: Vec<Link>,
    quoting: Quoting,
    kind: Option<LinkKind>,
    place: impl Fn(&Range<usize>) -> Range<usize>,
) -> Vec<Link> {
    for link in &mut links {
        link.span = place(&link.span);
        link.written.path = place(&link.written.path);
        link.written.display = link.written.display.as_ref().map(&place);
        link.written.quoting = quoting;
        link.kind = kind.unwrap_or(link.kind);
    }
    links
}

/// One pass over the text for all links, which stand in order.
fn count_lines(text: &str, links: &mut [Link]) {
    let mut line = 1_u32;
    let mut counted = 0;
    for link in links {
        let breaks = text.as_bytes()[counted..link.span.start].iter().filter(|byte| **byte == b'\n').count();
        line = line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        counted = link.span.start;
        link.line = line;
    }
}
