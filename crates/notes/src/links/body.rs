//! Finds the links in Markdown.
//!
//! The Markdown parser decides where links are, so code, HTML blocks and math contain none. The bytes that
//! name a target are then located inside the span from the parser.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::destination::{self, percent_decoded};
use super::link::{LinkKind, LinkSource, LinkSyntax, NoteLink};
use super::quote_format::QuoteFormat;
use crate::hidden_blocks::{HiddenKind, hidden_blocks};

/// Returns every link, in order, of a text that is Markdown from its first byte. Line numbers are not set
/// yet.
pub(super) fn links_in(text: &str) -> Vec<NoteLink> {
    if !may_hold_links(text) {
        return Vec::new();
    }
    let options = Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    let mut links = parse_links(text, options);
    if text.contains('$') && !links.is_empty() {
        drop_math(text, options, &mut links);
    }
    links
}

/// Whether the text contains any of the marks that every link has.
pub(super) fn may_hold_links(text: &str) -> bool {
    text.contains("[[") || text.contains("](") || text.contains("]:")
}

/// A link that the parser has opened and not closed yet.
struct OpenLink<'a> {
    link_type: LinkType,
    image: bool,
    destination: pulldown_cmark::CowStr<'a>,
    span: Range<usize>,
    /// End of the link text, as far as it was read.
    text_end: usize,
}

fn parse_links(text: &str, options: Options) -> Vec<NoteLink> {
    let mut events = Parser::new_ext(text, options).into_offset_iter();
    let definitions = events.reference_definitions().iter();
    let mut links: Vec<NoteLink> =
        definitions.filter_map(|(_, found)| parse_definition(text, &found.span, &found.dest)).collect();
    let mut open: Vec<OpenLink<'_>> = Vec::new();
    for (event, span) in &mut events {
        if matches!(event, Event::End(TagEnd::Link | TagEnd::Image)) {
            links.extend(open.pop().and_then(|link| finish_link(text, link)));
        }
        if let Some(outer) = open.last_mut() {
            outer.text_end = outer.text_end.max(span.end);
        }
        let image = matches!(event, Event::Start(Tag::Image { .. }));
        if let Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) =
            event
        {
            let text_end = span.start + if image { 2 } else { 1 };
            open.push(OpenLink { link_type, image, destination: dest_url, span, text_end });
        }
    }
    links.sort_by_key(|link| link.span.start);
    links
}

fn finish_link(text: &str, link: OpenLink<'_>) -> Option<NoteLink> {
    match link.link_type {
        LinkType::WikiLink { .. } => parse_wikilink(text, link.span, link.image),
        LinkType::Inline => parse_inline_link(text, &link),
        // The destination is in a definition, or it is a web address.
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

fn parse_wikilink(text: &str, span: Range<usize>, image: bool) -> Option<NoteLink> {
    let opening = if image { "![[" } else { "[[" };
    let inner = text.get(span.clone())?.strip_prefix(opening)?.strip_suffix("]]")?;
    // The parser allows a line break in a link; file names have none.
    if inner.contains(['\n', '\r']) {
        return None;
    }
    let start = span.start + opening.len();
    let (address, alias) = match inner.split_once('|') {
        // In a table the bar is escaped so that it does not end the cell.
        Some((address, alias)) => (address.strip_suffix('\\').unwrap_or(address), Some(alias)),
        None => (inner, None),
    };
    let (path, fragment) = match address.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment.to_owned())),
        None => (address, None),
    };
    let target = path.trim();
    if is_wiki_address(target) || (target.is_empty() && fragment.is_none()) {
        return None;
    }
    let path_start = start + (path.len() - path.trim_start().len());
    let end = span.end - 2;
    let written = LinkSource {
        path: path_start..path_start + target.len(),
        display: alias.map(|alias| end - alias.len()..end),
        form: LinkSyntax::Wiki,
        quoting: QuoteFormat::None,
    };
    Some(NoteLink {
        kind: if image { LinkKind::Embed } else { LinkKind::Wiki },
        span,
        target: target.to_owned(),
        fragment,
        display: alias.map(str::to_owned),
        line: 0,
        written,
    })
}

fn parse_inline_link(text: &str, link: &OpenLink<'_>) -> Option<NoteLink> {
    let rest = text.get(link.text_end..link.span.end)?;
    let text_end = link.text_end + rest.find("](")?;
    let display = link.span.start + if link.image { 2 } else { 1 }..text_end;
    let kind = if link.image { LinkKind::MarkdownImage } else { LinkKind::Markdown };
    let found = destination::find(text, text_end + 2)?;
    let mut read = markdown_link(text, kind, found, &link.destination)?;
    read.span = link.span.clone();
    read.display = text.get(display.clone()).map(str::to_owned);
    read.written.display = Some(display);
    Some(read)
}

fn parse_definition(text: &str, span: &Range<usize>, meant: &str) -> Option<NoteLink> {
    let whole = text.get(span.clone())?;
    // A bracket in the label is escaped, so the first unescaped one ends the label.
    let mut escaped = false;
    let label = whole.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == ']' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    let (label_end, _) = label?;
    let found = destination::find(text, span.start + label_end + 2)?;
    let mut read = markdown_link(text, LinkKind::Definition, found, meant)?;
    read.span = span.clone();
    Some(read)
}

/// Builds a link with a destination; `meant` is the destination without Markdown escapes.
fn markdown_link(
    text: &str,
    kind: LinkKind,
    found: destination::DestinationSpan,
    meant: &str,
) -> Option<NoteLink> {
    let raw = text.get(found.span.clone())?;
    let (path, fragment) = match meant.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment)),
        None => (meant, None),
    };
    if is_address(path) || (path.is_empty() && fragment.is_none()) {
        return None;
    }
    // Without escapes, path and heading can be located separately in the text. With escapes, both are
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
    let form = LinkSyntax::Destination { raw: path.to_owned(), angle: found.angle, tail };
    Some(NoteLink {
        kind,
        span: found.span.clone(),
        target: percent_decoded(path),
        fragment: fragment.map(str::to_owned),
        display: None,
        line: 0,
        written: LinkSource {
            path: found.span.start..path_end,
            display: None,
            form,
            quoting: QuoteFormat::None,
        },
    })
}

/// Adds Markdown escapes to a heading. Percent escapes were never removed.
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

/// Whether a destination is a URL such as `https:`, `mailto:` or `//host`. A colon after the first folder, or after a
/// character that no scheme has, belongs to a name.
fn is_address(path: &str) -> bool {
    let scheme = path.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'))
    };
    scheme.is_some_and(is_scheme) || path.starts_with("//")
}

/// Whether a wikilink is a URL. A name can begin like `Plan: today`, so only schemes that say so are taken for one.
fn is_wiki_address(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:") || target.starts_with("//")
}

/// Removes the links that are inside math.
///
/// The parser would read two names with a dollar sign, `[[$a]] and [[b$]]`, as one formula. So the dollar
/// signs in links are masked before formulas are searched: a file name must not decide whether a link counts.
fn drop_math(text: &str, options: Options, links: &mut Vec<NoteLink>) {
    let mut covered = String::with_capacity(text.len());
    for link in links.iter() {
        // A link inside another is masked with it.
        if link.span.start >= covered.len() {
            covered.push_str(&text[covered.len()..link.span.start]);
            covered.push_str(&text[link.span.clone()].replace('$', "x"));
        }
    }
    covered.push_str(&text[covered.len()..]);
    let mut formulas = Vec::new();
    for block in math_blocks(&covered, options) {
        // The parser ends a formula at an empty line, a heading or a list, and would begin another one at the end of
        // the block.
        covered.replace_range(block.clone(), &covered[block.clone()].replace('$', "x"));
        formulas.push(block);
    }
    let parsed = Parser::new_ext(&covered, options | Options::ENABLE_MATH).into_offset_iter();
    let is_formula = |event: &Event<'_>| matches!(event, Event::InlineMath(_) | Event::DisplayMath(_));
    formulas.extend(parsed.filter(|(event, _)| is_formula(event)).map(|(_, span)| span));
    formulas.sort_by_key(|formula| formula.start);
    let mut formulas = formulas.into_iter().peekable();
    let mut formula_end = 0;
    links.retain(|link| {
        while let Some(formula) = formulas.next_if(|formula| formula.start < link.span.start) {
            formula_end = formula.end.max(formula_end);
        }
        link.span.start >= formula_end
    });
}

/// Returns the blocks of math, which are found before formulas.
fn math_blocks(text: &str, options: Options) -> Vec<Range<usize>> {
    if !text.contains("$$") {
        return Vec::new();
    }
    let is_opaque = |event: &Event<'_>| {
        matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock))
    };
    let parsed = Parser::new_ext(text, options).into_offset_iter();
    let opaque: Vec<_> = parsed.filter(|(event, _)| is_opaque(event)).map(|(_, span)| span).collect();
    let blocks = hidden_blocks(text, 0, &opaque).into_iter();
    blocks.filter(|block| block.kind == HiddenKind::Math).map(|block| block.range).collect()
}
