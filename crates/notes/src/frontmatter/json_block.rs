//! Properties that are written as JSON between the fences. Obsidian reads them and saves them as YAML at the first edit, and so
//! does an edit here: the names, values and their order stay.

use envelope::{Failure, Fault};
use serde_json::{Map, Number, Value};

use super::block::FrontmatterBlock;
use super::parser::{parse_document, parse_properties};
use super::yaml_node::NodeValue;
use super::{cannot_edit, parse_fault};
use crate::splice::{TextSplice, apply_splices};
use crate::yaml;

/// Returns the note with its properties as YAML, or `None` if they are not a JSON object.
///
/// Fails if a name is there twice, if a number would be written in another way, or if the YAML would not read as the JSON.
pub(super) fn as_yaml(note: &str, block: &FrontmatterBlock, newline: &str) -> Result<Option<String>, Fault> {
    let body = &note[block.body.clone()];
    if !body.trim_start().starts_with('{') {
        return Ok(None);
    }
    let Ok(properties) = serde_json::from_str::<Map<String, Value>>(body) else { return Ok(None) };
    if let Some(number) = numbers(body).find(|number| !keeps_its_digits(number)) {
        return Err(Fault::new(
            Failure::PreconditionFailed,
            format!("the properties are JSON, which an edit writes as YAML, and the number `{number}` would change"),
        )
        .hint("write that number without an exponent and with fewer digits, or as a text in quotes"));
    }
    // The reader of JSON takes the last of two equal names, so the stricter reader of YAML reads it, too.
    let read = parse_document(body).map_err(parse_fault)?;
    let is_same = read.is_some_and(|node| match node.kind {
        NodeValue::Map { pairs, .. } => {
            pairs.len() == properties.len()
                && pairs
                    .iter()
                    .zip(&properties)
                    .all(|((key, value), (name, json))| key.text() == Some(name) && value.equals_json(json))
        }
        NodeValue::Scalar { .. } | NodeValue::List { .. } | NodeValue::Alias(_) => false,
    });
    if !is_same {
        return Err(cannot_edit("JSON and YAML read its properties differently"));
    }
    let mut yaml = String::new();
    for (name, value) in &properties {
        yaml::write_property(&mut yaml, name, value, newline);
    }
    let written = parse_properties(&yaml).map_err(parse_fault)?;
    let reads_back = written.len() == properties.len()
        && written
            .iter()
            .zip(&properties)
            .all(|(property, (name, value))| property.name == *name && property.value.equals_json(value));
    if !reads_back {
        return Err(cannot_edit("its JSON cannot be written as YAML"));
    }
    Ok(Some(apply_splices(note, &[TextSplice { range: block.body.clone(), text: yaml }])))
}

/// Returns the numbers of a JSON text as they are written.
fn numbers(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
            rest = &rest[at..];
            if let Some(text) = rest.strip_prefix('"') {
                rest = after_text(text);
                continue;
            }
            let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
            let (number, after) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
            rest = after;
            return Some(number);
        }
    })
}

/// Returns what follows a string, whose first quote is left out.
fn after_text(text: &str) -> &str {
    let mut escaped = false;
    let end = text.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    &text[end.map_or(text.len(), |end| end + 1)..]
}

fn keeps_its_digits(number: &str) -> bool {
    serde_json::from_str::<Number>(number).is_ok_and(|read| read.to_string() == number)
}

#[cfg(test)]
mod tests {
    use super::{keeps_its_digits, numbers};

    #[test]
    fn only_numbers_outside_of_texts_are_numbers() {
        let json = r#"{"a 1": -1.5, "b\"2": [3, "4", 5e6], "c\\": 7}"#;
        assert_eq!(numbers(json).collect::<Vec<_>>(), ["-1.5", "3", "5e6", "7"]);
        let kept: Vec<_> = [
            "0",
            "-1.5",
            "1.0",
            "18446744073709551615",
            "1e3",
            "1.50",
            "123456789012345678901234567890",
            "-0",
        ]
        .into_iter()
        .filter(|number| keeps_its_digits(number))
        .collect();
        assert_eq!(kept, ["0", "-1.5", "1.0", "18446744073709551615"]);
    }
}
