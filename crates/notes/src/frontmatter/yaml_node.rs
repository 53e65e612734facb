//! Parsed YAML values with the byte range of each.

use std::ops::Range;

use serde_json::{Number, Value};

/// One YAML value. Two nodes are equal if content and style are equal; their spans are not compared.
#[derive(Debug, Clone)]
pub(super) struct YamlNode {
    pub(super) kind: NodeValue,
    /// From the first byte of the value to the last. Empty for a value that is left out.
    pub(super) span: Range<usize>,
}

impl PartialEq for YamlNode {
    fn eq(&self, other: &YamlNode) -> bool {
        self.kind == other.kind
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum NodeValue {
    Scalar {
        text: String,
        style: QuoteStyle,
        mark: NodeMark,
    },
    List {
        items: Vec<YamlNode>,
        flow: bool,
        mark: NodeMark,
    },
    Map {
        pairs: Vec<(YamlNode, YamlNode)>,
        flow: bool,
        mark: NodeMark,
    },
    /// An alias, with the number of the anchor it repeats.
    Alias(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuoteStyle {
    Plain,
    Single,
    Double,
    Block,
}

/// The anchor (0 for none) and the tag of a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NodeMark {
    pub(super) anchor: usize,
    pub(super) tag: Option<String>,
}

impl YamlNode {
    pub(super) fn is_null(&self) -> bool {
        self.equals_json(&Value::Null)
    }

    /// Returns true if a YAML 1.2 reader gets exactly `value` from this node. Always false for a node with a tag and
    /// for an alias, because JSON cannot express either.
    pub(super) fn equals_json(&self, value: &Value) -> bool {
        match &self.kind {
            NodeValue::Scalar { text, style, mark } => {
                mark.tag.is_none() && scalar_means(text, *style, value)
            }
            NodeValue::List { items, mark, .. } => match value {
                Value::Array(values) => {
                    mark.tag.is_none()
                        && items.len() == values.len()
                        && items.iter().zip(values).all(|(item, value)| item.equals_json(value))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                    false
                }
            },
            NodeValue::Map { pairs, mark, .. } => match value {
                Value::Object(fields) => {
                    mark.tag.is_none()
                        && pairs.len() == fields.len()
                        && pairs
                            .iter()
                            .zip(fields)
                            .all(|((key, node), (name, value))| key.is_text(name) && node.equals_json(value))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
            },
            NodeValue::Alias(_) => false,
        }
    }

    /// Returns the text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeValue::Scalar { text, .. } => Some(text),
            NodeValue::List { .. } | NodeValue::Map { .. } | NodeValue::Alias(_) => None,
        }
    }

    fn is_text(&self, name: &str) -> bool {
        self.text() == Some(name)
    }
}

fn scalar_means(text: &str, style: QuoteStyle, value: &Value) -> bool {
    let plain = style == QuoteStyle::Plain;
    match value {
        Value::Null => plain && is_null(text),
        Value::Bool(flag) => plain && parse_bool(text) == Some(*flag),
        Value::Number(number) => plain && is_number(text) && same_number(text, number),
        Value::String(wanted) => {
            text == wanted && !(plain && (is_null(text) || parse_bool(text).is_some() || is_number(text)))
        }
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn parse_bool(text: &str) -> Option<bool> {
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

/// Compares exactly: an integer is never equal to a number with a decimal point, because a reader can
/// distinguish them.
fn same_number(text: &str, number: &Number) -> bool {
    if number.is_f64() {
        text.contains(['.', 'e', 'E']) && text.parse().ok() == number.as_f64()
    } else {
        number.as_i64().is_some_and(|wanted| text.parse() == Ok(wanted))
            || number.as_u64().is_some_and(|wanted| text.parse() == Ok(wanted))
    }
}
