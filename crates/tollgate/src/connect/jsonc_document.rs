//! A parsed JSON document with comments and trailing commas, with the position of every value, comma and comment.
//!
//! `jsonc-parser` parses the text. Its own editor reformats what is around an edit; `connect` promises to keep every
//! other byte, so edits splice the text at these positions instead.

use std::borrow::Cow;
use std::ops::Range;

use jsonc_parser::ast::{self, Value as AstValue};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseError;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

/// Limit of nesting. No client settings are nested so deeply.
const MAX_DEPTH: usize = 64;

/// JSON with comments and trailing commas, and no other extension.
const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A parsed text.
pub(super) struct JsoncDocument {
    /// `None` if the text holds nothing but whitespace and comments.
    pub(super) root: Option<JsoncNode>,
    commas: Vec<usize>,
    comments: Vec<Range<usize>>,
}

/// A value and its position.
#[derive(Debug)]
pub(super) struct JsoncNode {
    pub(super) span: Range<usize>,
    pub(super) kind: JsoncKind,
}

#[derive(Debug)]
pub(super) enum JsoncKind {
    Object(Vec<JsoncMember>),
    Array(Vec<JsoncNode>),
    /// A string, a number, true, false or null.
    Scalar(Value),
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct JsoncMember {
    pub(super) key: String,
    pub(super) key_start: usize,
    pub(super) value: JsoncNode,
}

impl JsoncNode {
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            JsoncKind::Scalar(value) => value.clone(),
            JsoncKind::Array(items) => Value::Array(items.iter().map(JsoncNode::to_json).collect()),
            JsoncKind::Object(members) => {
                let fields = members.iter().map(|member| (member.key.clone(), member.value.to_json()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

impl JsoncDocument {
    /// Parses the text. Returns the reason, with its line, if the text is not JSON with comments, or has a duplicate
    /// key.
    pub(super) fn parse(text: &str) -> Result<JsoncDocument, String> {
        // Spaces in place of the byte order mark keep all positions.
        let body: Cow<'_, str> = match text.strip_prefix('\u{feff}') {
            Some(rest) => format!("   {rest}").into(),
            None => text.into(),
        };
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(&body, &collect, &DIALECT).map_err(|error| with_line(&error))?;
        let (mut commas, mut comments) = (Vec::new(), Vec::new());
        for token in parsed.tokens.into_iter().flatten() {
            if token.token == Token::Comma {
                commas.push(token.range.start);
            } else if matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_)) {
                comments.push(comment_span(text, token.range()));
            }
        }
        let root = parsed.value.map(|root| node(&body, root, 0)).transpose()?;
        Ok(JsoncDocument { root, commas, comments })
    }

    /// Returns the first comma in this range of the text.
    pub(super) fn comma_in(&self, range: &Range<usize>) -> Option<usize> {
        self.commas.iter().copied().find(|comma| range.contains(comma))
    }

    /// Returns the end of the last comment in this range of the text.
    pub(super) fn comment_end_in(&self, range: &Range<usize>) -> Option<usize> {
        self.comments.iter().rev().find(|comment| range.contains(&comment.start)).map(|comment| comment.end)
    }

    /// Returns the text of every comment, in order.
    pub(super) fn comments<'t>(&self, text: &'t str) -> Vec<&'t str> {
        self.comments.iter().filter_map(|span| text.get(span.clone())).collect()
    }
}

/// The line break after a `//` comment is not part of it.
fn comment_span(text: &str, range: jsonc_parser::common::Range) -> Range<usize> {
    let end = if text[..range.end].ends_with('\r') { range.end - 1 } else { range.end };
    range.start..end
}

fn node(text: &str, value: AstValue<'_>, depth: usize) -> Result<JsoncNode, String> {
    let span = value.start()..value.end();
    if depth > MAX_DEPTH {
        return Err(at_line(text, span.start, "too deeply nested"));
    }
    let kind = match value {
        AstValue::Object(object) => JsoncKind::Object(members(text, object, depth)?),
        AstValue::Array(array) => {
            let items = array.elements.into_iter().map(|item| node(text, item, depth + 1));
            JsoncKind::Array(items.collect::<Result<_, _>>()?)
        }
        AstValue::StringLit(_)
        | AstValue::NumberLit(_)
        | AstValue::BooleanLit(_)
        | AstValue::NullKeyword(_) => {
            // The value is parsed as strict JSON, because `jsonc-parser` accepts line breaks in strings.
            let value = serde_json::from_str(&text[span.clone()]);
            JsoncKind::Scalar(value.map_err(|_bad| at_line(text, span.start, "not a JSON value"))?)
        }
    };
    Ok(JsoncNode { span, kind })
}

fn members(text: &str, object: ast::Object<'_>, depth: usize) -> Result<Vec<JsoncMember>, String> {
    let mut members: Vec<JsoncMember> = Vec::new();
    for property in object.properties {
        let key_start = property.range.start;
        // Parsed as strict JSON for the same reason as a value.
        let name = &text[property.name.start()..property.name.end()];
        let key: String =
            serde_json::from_str(name).map_err(|_bad| at_line(text, key_start, "not a JSON key"))?;
        if members.iter().any(|member| member.key == key) {
            return Err(at_line(text, key_start, &format!("duplicate key `{key}`")));
        }
        members.push(JsoncMember { key, key_start, value: node(text, property.value, depth + 1)? });
    }
    Ok(members)
}

fn with_line(error: &ParseError) -> String {
    format!("line {}: {}", error.line_display(), error.kind())
}

fn at_line(text: &str, at: usize, what: &str) -> String {
    format!("line {}: {what}", 1 + text[..at].matches('\n').count())
}
