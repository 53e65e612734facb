//! Strict YAML parser for the frontmatter body; records the byte range of every value.
//!
//! It rejects everything that two readers could understand differently: a duplicate name, more than one
//! document, a name that is not text. An unquoted `{{title}}` of a template, which to YAML is a map in the position
//! of a name, is read as text: see [`placeholders`](super::placeholders).

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::placeholders;
use super::yaml_node::{NodeMark, NodeValue, QuoteStyle, YamlNode};
use crate::lines::line_number;

/// One property of a note.
#[derive(Debug, PartialEq)]
pub(super) struct FrontmatterProperty {
    pub(super) name: String,
    /// The bytes of the name.
    pub(super) key: Range<usize>,
    pub(super) value: YamlNode,
}

/// The reason why a frontmatter cannot be parsed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct YamlError {
    /// Line number between the fences, counted from 1.
    pub(super) line: usize,
    pub(super) reason: String,
}

/// Maximum nesting depth of a value.
const MAX_DEPTH: usize = 64;

const PLACEHOLDER: &str =
    "a template placeholder such as `{{title}}` cannot be read here unless it is quoted";

/// Parses the properties in `body`, in order. An empty body has no properties.
pub(super) fn parse_properties(body: &str) -> Result<Vec<FrontmatterProperty>, YamlError> {
    let parsed = match parse_document(body) {
        Err(error) if body.contains("{{") => placeholders::parse_with_placeholders(body).ok_or(error)?,
        parsed => parsed?,
    };
    let Some(root) = parsed else { return Ok(Vec::new()) };
    let line = |node: &YamlNode| line_number(body, node.span.start);
    let first = line(&root);
    match root.kind {
        NodeValue::Map { pairs, flow: false, .. } => pairs
            .into_iter()
            .map(|(key, value)| {
                let Some(name) = key.text() else {
                    return Err(YamlError { line: line(&key), reason: "a name is an alias".to_owned() });
                };
                Ok(FrontmatterProperty { name: name.to_owned(), key: key.span, value })
            })
            .collect(),
        NodeValue::Map { .. } => {
            Err(YamlError { line: first, reason: "the properties are in braces and are not JSON".to_owned() })
        }
        NodeValue::Scalar { .. } | NodeValue::List { .. } | NodeValue::Alias(_) => {
            Err(YamlError { line: first, reason: "it is not a list of `name: value` lines".to_owned() })
        }
    }
}

/// A list or map that is not closed yet.
struct OpenCollection {
    is_map: bool,
    flow: bool,
    start: usize,
    mark: NodeMark,
    /// For a map: name, value, name, value …
    nodes: Vec<YamlNode>,
}

pub(super) fn parse_document(body: &str) -> Result<Option<YamlNode>, YamlError> {
    // The parser counts characters, spans count bytes.
    let offsets: Vec<usize> = body.char_indices().map(|(at, _)| at).chain([body.len()]).collect();
    let byte = |index: usize| offsets.get(index).copied().unwrap_or(body.len());
    let mut open: Vec<OpenCollection> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(body) {
        let (event, place) = event.map_err(|error| yaml_error(body, error.marker().line(), error.info()))?;
        let line = place.start.line();
        let span = byte(place.start.index())..byte(place.end.index());
        let finished = match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => continue,
            Event::DocumentStart(_) if root.is_none() => continue,
            Event::DocumentStart(_) => return Err(yaml_error(body, line, "a second document begins")),
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_DEPTH => {
                return Err(yaml_error(body, line, "the values are nested too deep"));
            }
            Event::SequenceStart(anchor, tag) => {
                open.push(open_collection(body, false, span, node_mark(anchor, tag)));
                continue;
            }
            Event::MappingStart(anchor, tag) => {
                open.push(open_collection(body, true, span, node_mark(anchor, tag)));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(done) => close_collection(body, done, span.start)?,
                None => continue,
            },
            Event::Alias(anchor) => YamlNode { kind: NodeValue::Alias(anchor), span },
            Event::Scalar(text, style, anchor, tag) => {
                scalar(body, text, style, node_mark(anchor, tag), span)
            }
        };
        match open.last_mut() {
            Some(parent) => parent.nodes.push(finished),
            None => root = Some(finished),
        }
    }
    Ok(root)
}

fn yaml_error(body: &str, line: usize, reason: &str) -> YamlError {
    let has_placeholder = body.lines().nth(line.saturating_sub(1)).is_some_and(|text| text.contains("{{"));
    YamlError { line, reason: if has_placeholder { PLACEHOLDER } else { reason }.to_owned() }
}

fn node_mark(anchor: usize, tag: Option<Cow<'_, Tag>>) -> NodeMark {
    NodeMark { anchor, tag: tag.map(|tag| tag.to_string()) }
}

fn open_collection(body: &str, is_map: bool, span: Range<usize>, mark: NodeMark) -> OpenCollection {
    let written = &body[span.clone()];
    let brackets = ['[', '{'];
    let flow = if mark == NodeMark::default() {
        written.starts_with(brackets)
    } else {
        written.trim_end().ends_with(brackets)
    };
    OpenCollection { is_map, flow, start: span.start, mark, nodes: Vec::new() }
}

fn close_collection(body: &str, open: OpenCollection, bracket: usize) -> Result<YamlNode, YamlError> {
    let OpenCollection { is_map, flow, start, mark, nodes } = open;
    // A block ends with its last value, but the parser reports the end only at the next event. After a
    // closing bracket the parser's span includes the comment.
    let end = if flow { bracket + 1 } else { nodes.last().map_or(start, |last| last.span.end.max(start)) };
    let kind = if is_map {
        NodeValue::Map { pairs: map_pairs(body, nodes)?, flow, mark }
    } else {
        NodeValue::List { items: nodes, flow, mark }
    };
    Ok(YamlNode { kind, span: start..end })
}

fn map_pairs(body: &str, nodes: Vec<YamlNode>) -> Result<Vec<(YamlNode, YamlNode)>, YamlError> {
    let mut names: HashSet<String> = HashSet::new();
    let mut pairs = Vec::with_capacity(nodes.len() / 2);
    let mut nodes = nodes.into_iter();
    while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
        // Computed only for errors: counting lines for each name would scan the body once for each name.
        let line = || line_number(body, key.span.start);
        match &key.kind {
            NodeValue::Scalar { text, .. } if !names.insert(text.clone()) => {
                return Err(YamlError { line: line(), reason: format!("the name `{text}` appears twice") });
            }
            NodeValue::List { .. } | NodeValue::Map { .. } => {
                return Err(yaml_error(body, line(), "a name is a list or a map"));
            }
            NodeValue::Scalar { .. } | NodeValue::Alias(_) => pairs.push((key, value)),
        }
    }
    Ok(pairs)
}

fn scalar(
    body: &str,
    text: Cow<'_, str>,
    style: ScalarStyle,
    mark: NodeMark,
    span: Range<usize>,
) -> YamlNode {
    let style = match style {
        ScalarStyle::Plain => QuoteStyle::Plain,
        ScalarStyle::SingleQuoted => QuoteStyle::Single,
        ScalarStyle::DoubleQuoted => QuoteStyle::Double,
        ScalarStyle::Literal | ScalarStyle::Folded => QuoteStyle::Block,
    };
    let written = &body[span.clone()];
    let end = match style {
        QuoteStyle::Plain if text.is_empty() && mark == NodeMark::default() => span.start,
        // Trailing empty lines belong to the text only with the `+` indicator (`|+`).
        QuoteStyle::Block if text.ends_with("\n\n") || text == "\n" => {
            span.start + written.trim_end_matches([' ', '\t']).len()
        }
        QuoteStyle::Block => span.start + written.trim_end().len(),
        QuoteStyle::Plain => span.end,
        // The parser's span includes the comment after the quote.
        QuoteStyle::Single => span.start + quoted_end(written, '\''),
        QuoteStyle::Double => span.start + quoted_end(written, '"'),
    };
    YamlNode { kind: NodeValue::Scalar { text: text.into_owned(), style, mark }, span: span.start..end }
}

/// Returns the offset after the closing quote of `written`, which begins with the opening quote.
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
