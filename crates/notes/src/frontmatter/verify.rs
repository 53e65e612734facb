//! Verifies an edit by parsing its result.
//!
//! The edited note is returned only if a strict parser finds the old properties with exactly the requested
//! changes, and every other property in its original bytes.

use std::collections::HashSet;

use serde_json::Value;

use super::block;
use super::parser::{FrontmatterProperty, parse_properties};
use super::position::PropertyPosition;
use super::yaml_node::{NodeValue, YamlNode};
use crate::splice::{TextSplice, apply_splices};

/// The expected state of one property in the new note.
pub(super) enum ExpectedProperty<'a> {
    /// Unchanged; the index of the property in the old note.
    Same(usize),
    /// Set to this value.
    Is { name: &'a str, value: &'a Value },
    /// A list with the old items followed by the added ones.
    Longer { name: &'a str, before: &'a [YamlNode], added: &'a [Value] },
    /// A list that was one text before.
    Whole { name: &'a str, value: Value },
}

/// Whether `new` is `old` with the expected properties and without a changed byte outside of their lines.
pub(super) fn is_expected_result(
    old: &str,
    properties: &[FrontmatterProperty],
    new: &str,
    expected: &[ExpectedProperty<'_>],
) -> bool {
    let (old_start, new_start) = (block::note_start(old), block::note_start(new));
    if old[..old_start] != new[..new_start] || old[block::text_start(old)..] != new[block::text_start(new)..]
    {
        return false;
    }
    let body = |note| block::find(note).map(|block| &note[block.body]);
    let (old_body, new_body) = (body(old).unwrap_or_default(), body(new));
    let Ok(found) = parse_properties(new_body.unwrap_or_default()) else { return false };
    let as_expected = found.len() == expected.len()
        && found.iter().zip(expected).all(|(property, expected)| match expected {
            ExpectedProperty::Same(at) => properties
                .get(*at)
                .is_some_and(|before| before.name == property.name && before.value == property.value),
            ExpectedProperty::Is { name, value } => {
                property.name == *name && property.value.equals_json(value)
            }
            ExpectedProperty::Whole { name, value } => {
                property.name == *name && property.value.equals_json(value)
            }
            ExpectedProperty::Longer { name, before, added } => {
                property.name == *name && is_appended_list(&property.value, before, added)
            }
        });
    let kept: HashSet<usize> = expected.iter().filter_map(ExpectedProperty::kept_index).collect();
    let Some(old_rest) = unchanged_lines(old_body, properties, |at| kept.contains(&at)) else { return false };
    let is_kept = |at: usize| expected.get(at).is_some_and(|expected| expected.kept_index().is_some());
    as_expected
        && match new_body {
            Some(new_body) => unchanged_lines(new_body, &found, is_kept) == Some(old_rest),
            // The block was removed, and nothing was left in it.
            None => old_rest.trim().is_empty(),
        }
}

impl ExpectedProperty<'_> {
    /// Returns the old index of a property that must not change.
    fn kept_index(&self) -> Option<usize> {
        match self {
            ExpectedProperty::Same(at) => Some(*at),
            ExpectedProperty::Is { .. }
            | ExpectedProperty::Longer { .. }
            | ExpectedProperty::Whole { .. } => None,
        }
    }
}

fn is_appended_list(value: &YamlNode, before: &[YamlNode], added: &[Value]) -> bool {
    match &value.kind {
        NodeValue::List { items, .. } => match items.split_at_checked(before.len()) {
            Some((kept, new)) => {
                kept == before
                    && new.len() == added.len()
                    && new.iter().zip(added).all(|(node, value)| node.equals_json(value))
            }
            None => false,
        },
        NodeValue::Scalar { .. } | NodeValue::Map { .. } | NodeValue::Alias(_) => false,
    }
}

/// Returns `body` without the lines of the changed properties: the part that an edit must not touch. Returns
/// `None` if those lines cannot be determined.
fn unchanged_lines(
    body: &str,
    properties: &[FrontmatterProperty],
    is_kept: impl Fn(usize) -> bool,
) -> Option<String> {
    let mut cuts = Vec::new();
    for (at, property) in properties.iter().enumerate().filter(|(at, _)| !is_kept(*at)) {
        let next = properties.get(at + 1).map_or(body.len(), |next| next.key.start);
        let place = PropertyPosition::find(body, property, next)?;
        cuts.push(TextSplice { range: place.start..place.end, text: String::new() });
    }
    Some(apply_splices(body, &cuts))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parser::parse_properties;
    use super::{ExpectedProperty, is_expected_result};

    #[test]
    fn a_wrong_result_is_never_taken_for_the_right_one() {
        let old = "\u{feff}---\na: 1 # c\n# why\nb: 'x'\nc:\n  - y\n---\nText\n";
        let properties = parse_properties("a: 1 # c\n# why\nb: 'x'\nc:\n  - y\n").unwrap();
        let two = json!(2);
        let check = |new: &str| {
            let expected = [
                ExpectedProperty::Is { name: "a", value: &two },
                ExpectedProperty::Same(1),
                ExpectedProperty::Same(2),
            ];
            is_expected_result(old, &properties, new, &expected)
        };
        assert!(check("\u{feff}---\na: 2 # c\n# why\nb: 'x'\nc:\n  - y\n---\nText\n"));
        for wrong in [
            old,
            "---\na: 2 # c\n# why\nb: 'x'\nc:\n  - y\n---\nText\n",
            "\u{feff}---\na: '2' # c\n# why\nb: 'x'\nc:\n  - y\n---\nText\n",
            "\u{feff}---\na: 2 # c\nb: 'x'\nc:\n  - y\n---\nText\n",
            "\u{feff}---\na: 2 # c\n# Why\nb: 'x'\nc:\n  - y\n---\nText\n",
            "\u{feff}---\na: 2 # c\n# why\nb: \"x\"\nc:\n  - y\n---\nText\n",
            "\u{feff}---\na: 2 # c\n# why\nb: 'x'\nc:\n- y\n---\nText\n",
            "\u{feff}---\na: 2 # c\n# why\nb: 'x'\nc: [y]\n---\nText\n",
            "\u{feff}---\na: 2 # c\n# why\nc:\n  - y\nb: 'x'\n---\nText\n",
            "\u{feff}---\na: 2 # c\n# why\nb: 'x'\nc:\n  - y\nd: 1\n---\nText\n",
            "\u{feff}---\na: 2 # c\n# why\nb: 'x'\nc:\n  - y\n---\ntext\n",
            "\u{feff}---\na: 2 # c\n# why\nb: 'x'\nc:\n  - y\nText\n",
            "\u{feff}---\na: 2 # c\n# why\nb: 'x\nc:\n  - y\n---\nText\n",
            "\u{feff}Text\n",
        ] {
            assert!(!check(wrong), "{wrong}");
        }
    }
}
