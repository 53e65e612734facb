//! Reads the YAML between the fences, strictly, with the place of every value.
//!
//! What two readers could understand differently is not read at all: a name that stands twice, more than one
//! document, names that are no text. An unquoted `{{title}}` of a template is such a case: to YAML it is a map
//! in the place of a name.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::node::{Kind, Mark, Node, Style};
use crate::edit::lines::line_number;

/// One property of a note.
#[derive(Debug, PartialEq)]
pub(super) struct Property {
    pub(super) name: String,
    /// The bytes of the name.
    pub(super) key: Range<usize>,
    pub(super) value: Node,
}

/// Why a frontmatter cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    /// Line between the fences, counted from 1.
    pub(super) line: usize,
    pub(super) reason: String,
}

/// Values nested deeper than this are no properties any more.
const MAX_DEPTH: usize = 64;

const PLACEHOLDER: &str = "a template placeholder such as `{{title}}` is no YAML unless it is quoted";

/// The properties in `body`, in order. An empty body has none.
pub(super) fn read(body: &str) -> Result<Vec<Property>, Unreadable> {
    let Some(root) = document(body)? else { return Ok(Vec::new()) };
    let line = |node: &Node| line_number(body, node.span.start);
    let first = line(&root);
    match root.kind {
        Kind::Map { pairs, flow: false, .. } => pairs
            .into_iter()
            .map(|(key, value)| {
                let Some(name) = key.text() else {
                    return Err(Unreadable { line: line(&key), reason: "a name is an alias".to_owned() });
                };
                Ok(Property { name: name.to_owned(), key: key.span, value })
            })
            .collect(),
        Kind::Map { .. } => Err(Unreadable {
            line: first,
            reason: "the properties are written as JSON, which is read but not edited here".to_owned(),
        }),
        Kind::Scalar { .. } | Kind::List { .. } | Kind::Alias(_) => {
            Err(Unreadable { line: first, reason: "it is no list of `name: value` lines".to_owned() })
        }
    }
}

/// A list or map that is not closed yet.
struct Open {
    is_map: bool,
    flow: bool,
    start: usize,
    mark: Mark,
    /// In a map: name, value, name, value …
    nodes: Vec<Node>,
}

fn document(body: &str) -> Result<Option<Node>, Unreadable> {
    // The parser counts characters; places are bytes.
    let offsets: Vec<usize> = body.char_indices().map(|(at, _)| at).chain([body.len()]).collect();
    let byte = |index: usize| offsets.get(index).copied().unwrap_or(body.len());
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(body) {
        let (event, place) = event.map_err(|error| unreadable(body, error.marker().line(), error.info()))?;
        let line = place.start.line();
        let span = byte(place.start.index())..byte(place.end.index());
        let finished = match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => continue,
            Event::DocumentStart(_) if root.is_none() => continue,
            Event::DocumentStart(_) => return Err(unreadable(body, line, "a second document begins")),
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_DEPTH => {
                return Err(unreadable(body, line, "the values are nested too deep"));
            }
            Event::SequenceStart(anchor, tag) => {
                open.push(opened(body, false, span, mark(anchor, tag)));
                continue;
            }
            Event::MappingStart(anchor, tag) => {
                open.push(opened(body, true, span, mark(anchor, tag)));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(done) => closed(body, done, span.start)?,
                None => continue,
            },
            Event::Alias(anchor) => Node { kind: Kind::Alias(anchor), span },
            Event::Scalar(text, style, anchor, tag) => scalar(body, text, style, mark(anchor, tag), span),
        };
        match open.last_mut() {
            Some(parent) => parent.nodes.push(finished),
            None => root = Some(finished),
        }
    }
    Ok(root)
}

fn unreadable(body: &str, line: usize, reason: &str) -> Unreadable {
    let has_placeholder = body.lines().nth(line.saturating_sub(1)).is_some_and(|text| text.contains("{{"));
    Unreadable { line, reason: if has_placeholder { PLACEHOLDER } else { reason }.to_owned() }
}

fn mark(anchor: usize, tag: Option<Cow<'_, Tag>>) -> Mark {
    Mark { anchor, tag: tag.map(|tag| tag.to_string()) }
}

fn opened(body: &str, is_map: bool, span: Range<usize>, mark: Mark) -> Open {
    let written = &body[span.clone()];
    let brackets = ['[', '{'];
    let flow = if mark == Mark::default() {
        written.starts_with(brackets)
    } else {
        written.trim_end().ends_with(brackets)
    };
    Open { is_map, flow, start: span.start, mark, nodes: Vec::new() }
}

fn closed(body: &str, open: Open, bracket: usize) -> Result<Node, Unreadable> {
    let Open { is_map, flow, start, mark, nodes } = open;
    // A block ends with its last value; the parser says so only when the next thing begins. Behind a closing
    // bracket it goes on to the comment.
    let end = if flow { bracket + 1 } else { nodes.last().map_or(start, |last| last.span.end.max(start)) };
    let kind = if is_map {
        Kind::Map { pairs: pairs(body, nodes)?, flow, mark }
    } else {
        Kind::List { items: nodes, flow, mark }
    };
    Ok(Node { kind, span: start..end })
}

fn pairs(body: &str, nodes: Vec<Node>) -> Result<Vec<(Node, Node)>, Unreadable> {
    let mut names: HashSet<String> = HashSet::new();
    let mut pairs = Vec::with_capacity(nodes.len() / 2);
    let mut nodes = nodes.into_iter();
    while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
        // Looked up on the way out only: a count of lines for each name would be a scan for each.
        let line = || line_number(body, key.span.start);
        match &key.kind {
            Kind::Scalar { text, .. } if !names.insert(text.clone()) => {
                return Err(Unreadable { line: line(), reason: format!("the name `{text}` stands twice") });
            }
            Kind::List { .. } | Kind::Map { .. } => {
                return Err(unreadable(body, line(), "a name is a list or a map"));
            }
            Kind::Scalar { .. } | Kind::Alias(_) => pairs.push((key, value)),
        }
    }
    Ok(pairs)
}

fn scalar(body: &str, text: Cow<'_, str>, style: ScalarStyle, mark: Mark, span: Range<usize>) -> Node {
    let style = match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::Single,
        ScalarStyle::DoubleQuoted => Style::Double,
        ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
    };
    let written = &body[span.clone()];
    let end = match style {
        Style::Plain if text.is_empty() && mark == Mark::default() => span.start,
        // The empty lines below belong to the text only if it says so (`|+`).
        Style::Block if text.ends_with("\n\n") || text == "\n" => {
            span.start + written.trim_end_matches([' ', '\t']).len()
        }
        Style::Block => span.start + written.trim_end().len(),
        Style::Plain => span.end,
        // The parser goes on to the comment behind the quote.
        Style::Single => span.start + quoted_end(written, '\''),
        Style::Double => span.start + quoted_end(written, '"'),
    };
    Node { kind: Kind::Scalar { text: text.into_owned(), style, mark }, span: span.start..end }
}

/// Where the quote that `written` begins with is closed.
fn quoted_end(written: &str, quote: char) -> usize {
    let mut signs = written.char_indices().skip_while(|(_, c)| *c != quote).skip(1).peekable();
    while let Some((at, c)) = signs.next() {
        if c == '\\' && quote == '"' {
            signs.next();
        } else if c == quote && (quote == '"' || signs.next_if(|(_, next)| *next == quote).is_none()) {
            return at + quote.len_utf8();
        }
    }
    written.len()
}
