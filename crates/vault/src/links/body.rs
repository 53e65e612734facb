//! Finds the links in Markdown.
//!
//! The parser decides what is a link: code, HTML blocks and math hold none. The bytes that name a target are
//! then found inside the span that the parser gave.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::destination::{self, percent_decoded};
use super::link::{Form, Link, LinkKind, Written};
use super::quoting::Quoting;

/// Every link in a text that is Markdown from its first byte, in order. Lines are not yet counted.
pub(super) fn links_in(text: &str) -> Vec<Link> {
    if !may_hold_links(text) {
        return Vec::new();
    }
    let options = Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    let mut links = read(text, options);
    if text.contains('$') && !links.is_empty() {
        drop_math(text, options, &mut links);
    }
    links
}

/// Whether the text has any of the marks that every link has.
pub(super) fn may_hold_links(text: &str) -> bool {
    text.contains("[[") || text.contains("](") || text.contains("]:")
}

/// A link that the parser has opened and not yet closed.
struct Open<'a> {
    link_type: LinkType,
    image: bool,
    destination: pulldown_cmark::CowStr<'a>,
    span: Range<usize>,
    /// Where the text of the link ends, as far as it was read.
    text_end: usize,
}

fn read(text: &str, options: Options) -> Vec<Link> {
    let mut events = Parser::new_ext(text, options).into_offset_iter();
    let definitions = events.reference_definitions().iter();
    let mut links: Vec<Link> =
        definitions.filter_map(|(_, found)| definition(text, &found.span, &found.dest)).collect();
    let mut open: Vec<Open<'_>> = Vec::new();
    for (event, span) in &mut events {
        if matches!(event, Event::End(TagEnd::Link | TagEnd::Image)) {
            links.extend(open.pop().and_then(|link| closed(text, link)));
        }
        if let Some(outer) = open.last_mut() {
            outer.text_end = outer.text_end.max(span.end);
        }
        let image = matches!(event, Event::Start(Tag::Image { .. }));
        if let Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) =
            event
        {
            let text_end = span.start + if image { 2 } else { 1 };
            open.push(Open { link_type, image, destination: dest_url, span, text_end });
        }
    }
    links.sort_by_key(|link| link.span.start);
    links
}

fn closed(text: &str, link: Open<'_>) -> Option<Link> {
    match link.link_type {
        LinkType::WikiLink { .. } => wiki(text, link.span, link.image),
        LinkType::Inline => inline(text, &link),
        // Their destination stands in a definition, or it is an address on the web.
        LinkType::Reference
        | LinkType::ReferenceUnknown
        | LinkType::Collapsed
        | LinkType::CollapsedUnknown
        | LinkType::Shortcut
        | LinkType::ShortcutUnknown
        | LinkType::Autolink
        | LinkType::Email => None,
    }
}

fn wiki(text: &str, span: Range<usize>, image: bool) -> Option<Link> {
    let opening = if image { "![[" } else { "[[" };
    let inner = text.get(span.clone())?.strip_prefix(opening)?.strip_suffix("]]")?;
    // The parser lets a link go on over a line break; no name does.
    if inner.contains(['\n', '\r']) {
        return None;
    }
    let start = span.start + opening.len();
    let (address, alias) = match inner.split_once('|') {
        // In a table the bar is escaped, so that it does not end the cell.
        Some((address, alias)) => (address.strip_suffix('\\').unwrap_or(address), Some(alias)),
        None => (inner, None),
    };
    let (path, fragment) = match address.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment.to_owned())),
        None => (address, None),
    };
    let target = path.trim();
    if is_address(target) || (target.is_empty() && fragment.is_none()) {
        return None;
    }
    let path_start = start + (path.len() - path.trim_start().len());
    let end = span.end - 2;
    let written = Written {
        path: path_start..path_start + target.len(),
        display: alias.map(|alias| end - alias.len()..end),
        form: Form::Wiki,
        quoting: Quoting::None,
    };
    Some(Link {
        kind: if image { LinkKind::Embed } else { LinkKind::Wiki },
        span,
        target: target.to_owned(),
        fragment,
        display: alias.map(str::to_owned),
        line: 0,
        written,
    })
}

fn inline(text: &str, link: &Open<'_>) -> Option<Link> {
    let rest = text.get(link.text_end..link.span.end)?;
    let text_end = link.text_end + rest.find("](")?;
    let display = link.span.start + if link.image { 2 } else { 1 }..text_end;
    let kind = if link.image { LinkKind::MarkdownImage } else { LinkKind::Markdown };
    let found = destination::find(text, text_end + 2)?;
    let mut read = markdown(text, kind, found, &link.destination)?;
    read.span = link.span.clone();
    read.display = text.get(display.clone()).map(str::to_owned);
    read.written.display = Some(display);
    Some(read)
}

fn definition(text: &str, span: &Range<usize>, meant: &str) -> Option<Link> {
    let whole = text.get(span.clone())?;
    // A bracket in the label is escaped, so the first one that is not ends it.
    let mut escaped = false;
    let label = whole.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == ']' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    let (label_end, _) = label?;
    let found = destination::find(text, span.start + label_end + 2)?;
    let mut read = markdown(text, LinkKind::Definition, found, meant)?;
    read.span = span.clone();
    Some(read)
}

/// A link with a destination; `meant` is the destination without the escapes of Markdown.
fn markdown(text: &str, kind: LinkKind, found: destination::Found, meant: &str) -> Option<Link> {
    let raw = text.get(found.span.clone())?;
    let (path, fragment) = match meant.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment)),
        None => (meant, None),
    };
    if is_address(path) || (path.is_empty() && fragment.is_none()) {
        return None;
    }
    // Without escapes the path can be told from the heading in the text itself. With them both are
    // replaced together.
    let plain = !raw.contains(['\\', '&', '\r']);
    if plain && raw != meant {
        return None;
    }
    let (path_end, tail) = match fragment {
        Some(_) if plain => (found.span.start + path.len(), String::new()),
        Some(fragment) => (found.span.end, format!("#{}", escaped_fragment(fragment, found.angle))),
        None => (found.span.end, String::new()),
    };
    let form = Form::Destination { raw: path.to_owned(), angle: found.angle, tail };
    Some(Link {
        kind,
        span: found.span.clone(),
        target: percent_decoded(path),
        fragment: fragment.map(str::to_owned),
        display: None,
        line: 0,
        written: Written { path: found.span.start..path_end, display: None, form, quoting: Quoting::None },
    })
}

/// A heading with the escapes of Markdown put back. Those of addresses were never taken away.
pub(super) fn escaped_fragment(fragment: &str, angle: bool) -> String {
    let mut written = String::with_capacity(fragment.len());
    for c in fragment.chars() {
        match c {
            '\\' | '<' | '>' | '&' => written.extend(['\\', c]),
            '(' | ')' if !angle => written.extend(['\\', c]),
            c if c.is_control() || (c == ' ' && !angle) => {
                written.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c => written.push(c),
        }
    }
    written
}

/// `https:`, `mailto:`, `//host`: not in the vault. No name in a vault holds a colon.
fn is_address(path: &str) -> bool {
    path.contains(':') || path.starts_with("//")
}

/// Drops the links that stand in math.
///
/// The parser would take two names with a dollar, `[[$a]] and [[b$]]`, for one formula. So dollars in links
/// are covered before it looks for formulas: what a file is called must not change what is a link.
fn drop_math(text: &str, options: Options, links: &mut Vec<Link>) {
    let mut covered = String::with_capacity(text.len());
    for link in links.iter() {
        // A link inside another is covered with it.
        if link.span.start >= covered.len() {
            covered.push_str(&text[covered.len()..link.span.start]);
            covered.push_str(&text[link.span.clone()].replace('$', "x"));
        }
    }
    covered.push_str(&text[covered.len()..]);
    let formulas: Vec<Range<usize>> = Parser::new_ext(&covered, options | Options::ENABLE_MATH)
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::InlineMath(_) | Event::DisplayMath(_)))
        .map(|(_, span)| span)
        .collect();
    let mut formulas = formulas.into_iter().peekable();
    let mut formula_end = 0;
    links.retain(|link| {
        while let Some(formula) = formulas.next_if(|formula| formula.start < link.span.start) {
            formula_end = formula.end;
        }
        link.span.start >= formula_end
    });
}
