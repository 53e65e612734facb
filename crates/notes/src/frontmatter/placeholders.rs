//! Reads the unquoted placeholders of templates, such as `date: {{date}}`, as text.
//!
//! To YAML, `{{date}}` is a map in the position of a name, and `{{date:YYYY-MM-DD}}` an error. So the placeholders are
//! replaced by letters of the same length, the result is parsed, and each text that has one gets its bytes back. A
//! placeholder in quotes, in a block of text or in a comment stays as it is.

use std::ops::Range;

use super::parser::parse_document;
use super::yaml_node::{NodeValue, QuoteStyle, YamlNode};

/// Parses a body with placeholders; `None` if it is not valid YAML with letters in their place either.
pub(super) fn parse_with_placeholders(body: &str) -> Option<Option<YamlNode>> {
    let mut masked = placeholders(body);
    let mut root = parse_document(&mask(body, &masked)).ok()?;
    // Quotes have the same place in both texts, so a second round settles it.
    let mut kept_as_they_are = Vec::new();
    if let Some(root) = &root {
        quoted_spans(root, &mut kept_as_they_are);
    }
    let before = masked.len();
    masked.retain(|range| {
        !kept_as_they_are.iter().any(|span| span.start < range.end && range.start < span.end)
    });
    if masked.len() < before {
        root = parse_document(&mask(body, &masked)).ok()?;
    }
    if let Some(root) = &mut root {
        restore(root, body, &masked)?;
    }
    Some(root)
}

/// Returns the ranges of `{{…}}`, each on one line.
fn placeholders(body: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = body[at..].find("{{").map(|offset| at + offset) {
        let line = body[open..].lines().next().unwrap_or_default();
        match line.find("}}") {
            Some(length) => {
                at = open + length + 2;
                found.push(open..at);
            }
            None => at = open + 2,
        }
    }
    found
}

fn mask(body: &str, ranges: &[Range<usize>]) -> String {
    let mut text = String::with_capacity(body.len());
    for range in ranges {
        text.push_str(&body[text.len()..range.start]);
        text.extend(std::iter::repeat_n('x', range.len()));
    }
    text.push_str(&body[text.len()..]);
    text
}

/// Collects the spans of texts in quotes and of blocks of text.
fn quoted_spans(node: &YamlNode, found: &mut Vec<Range<usize>>) {
    match &node.kind {
        NodeValue::Scalar { style: QuoteStyle::Plain, .. } | NodeValue::Alias(_) => {}
        NodeValue::Scalar { style: QuoteStyle::Single | QuoteStyle::Double | QuoteStyle::Block, .. } => {
            found.push(node.span.clone());
        }
        NodeValue::List { items, .. } => items.iter().for_each(|item| quoted_spans(item, found)),
        NodeValue::Map { pairs, .. } => pairs.iter().for_each(|(key, value)| {
            quoted_spans(key, found);
            quoted_spans(value, found);
        }),
    }
}

/// Puts the placeholders back into the texts. Returns `None` for one of several lines, whose breaks are not its own.
fn restore(node: &mut YamlNode, body: &str, masked: &[Range<usize>]) -> Option<()> {
    let span = node.span.clone();
    match &mut node.kind {
        NodeValue::Scalar { text, style: QuoteStyle::Plain, .. } => {
            if masked.iter().any(|range| span.start < range.end && range.start < span.end) {
                let source = &body[span];
                // An anchor or a tag before the text is in its span.
                if source.contains(['\n', '\r']) || source.len() != text.len() {
                    return None;
                }
                source.clone_into(text);
            }
            Some(())
        }
        NodeValue::Scalar { .. } | NodeValue::Alias(_) => Some(()),
        NodeValue::List { items, .. } => items.iter_mut().try_for_each(|item| restore(item, body, masked)),
        NodeValue::Map { pairs, .. } => pairs.iter_mut().try_for_each(|(key, value)| {
            restore(key, body, masked)?;
            restore(value, body, masked)
        }),
    }
}
