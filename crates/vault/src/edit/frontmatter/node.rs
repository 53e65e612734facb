//! What a YAML text says, and where each part of it stands.

use std::ops::Range;

use serde_json::{Number, Value};

/// One value. Two nodes are equal when they say the same in the same way, wherever they stand.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// The bytes from its first sign to its last; empty for a value that is not written.
    pub(super) span: Range<usize>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.kind == other.kind
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Scalar {
        text: String,
        style: Style,
        mark: Mark,
    },
    List {
        items: Vec<Node>,
        flow: bool,
        mark: Mark,
    },
    Map {
        pairs: Vec<(Node, Node)>,
        flow: bool,
        mark: Mark,
    },
    /// The number of the anchor it repeats.
    Alias(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Block,
}

/// What may stand before a value: an anchor (0 for none) and a tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) anchor: usize,
    pub(super) tag: Option<String>,
}

impl Node {
    pub(super) fn is_null(&self) -> bool {
        self.means(&Value::Null)
    }

    /// Whether a reader of YAML 1.2 gets exactly `value` out of this node. What has a tag or is an alias
    /// never does: JSON has no words for those.
    pub(super) fn means(&self, value: &Value) -> bool {
        match &self.kind {
            Kind::Scalar { text, style, mark } => mark.tag.is_none() && scalar_means(text, *style, value),
            Kind::List { items, mark, .. } => match value {
                Value::Array(values) => {
                    mark.tag.is_none()
                        && items.len() == values.len()
                        && items.iter().zip(values).all(|(item, value)| item.means(value))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                    false
                }
            },
            Kind::Map { pairs, mark, .. } => match value {
                Value::Object(fields) => {
                    mark.tag.is_none()
                        && pairs.len() == fields.len()
                        && pairs
                            .iter()
                            .zip(fields)
                            .all(|((key, node), (name, value))| key.is_text(name) && node.means(value))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
            },
            Kind::Alias(_) => false,
        }
    }

    /// The text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            Kind::List { .. } | Kind::Map { .. } | Kind::Alias(_) => None,
        }
    }

    fn is_text(&self, name: &str) -> bool {
        self.text() == Some(name)
    }
}

fn scalar_means(text: &str, style: Style, value: &Value) -> bool {
    let plain = style == Style::Plain;
    match value {
        Value::Null => plain && is_null(text),
        Value::Bool(flag) => plain && truth(text) == Some(*flag),
        Value::Number(number) => plain && is_number(text) && same_number(text, number),
        Value::String(wanted) => {
            text == wanted && !(plain && (is_null(text) || truth(text).is_some() || is_number(text)))
        }
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Whether the core schema of YAML 1.2 reads a plain text as a number.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    if text.len() - digits.len() > 1 {
        return false;
    }
    let based = |prefix: &str, radix: u32| {
        text.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix)))
    };
    based("0x", 16)
        || based("0o", 8)
        || matches!(digits, ".inf" | ".Inf" | ".INF")
        || matches!(text, ".nan" | ".NaN" | ".NAN")
        || (digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && digits.chars().all(|c| c.is_ascii_digit() || ".eE+-".contains(c))
            && digits.parse::<f64>().is_ok())
}

/// A whole number is never the same as one with a point: a reader may tell them apart.
fn same_number(text: &str, number: &Number) -> bool {
    if number.is_f64() {
        text.contains(['.', 'e', 'E']) && text.parse().ok() == number.as_f64()
    } else {
        number.as_i64().is_some_and(|wanted| text.parse() == Ok(wanted))
            || number.as_u64().is_some_and(|wanted| text.parse() == Ok(wanted))
    }
}
