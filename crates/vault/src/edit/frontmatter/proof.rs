//! Proves an edit by reading its result.
//!
//! Whatever the edit did, the note is returned only if a strict reader finds in it what was there before with
//! exactly the change that was asked for, and every other property in the very bytes it had.

use std::collections::HashSet;

use serde_json::Value;

use super::block;
use super::node::{Kind, Node};
use super::place::Place;
use super::read::{Property, read};
use crate::edit::splice::{Splice, spliced};

/// What a property of the new note must be.
pub(super) enum Expected<'a> {
    /// The one at this place in the old note, unchanged.
    Same(usize),
    /// Set to this.
    Is { name: &'a str, value: &'a Value },
    /// A list of what was there and what was added.
    Longer { name: &'a str, before: &'a [Node], added: &'a [Value] },
}

/// Whether `new` is `old` with the properties that are expected, and no byte changed but in their lines.
pub(super) fn holds(old: &str, properties: &[Property], new: &str, expected: &[Expected<'_>]) -> bool {
    let (old_start, new_start) = (block::note_start(old), block::note_start(new));
    if old[..old_start] != new[..new_start] || old[block::text_start(old)..] != new[block::text_start(new)..]
    {
        return false;
    }
    let body = |note| block::find(note).map(|block| &note[block.body]);
    let (old_body, new_body) = (body(old).unwrap_or_default(), body(new));
    let Ok(found) = read(new_body.unwrap_or_default()) else { return false };
    let as_expected = found.len() == expected.len()
        && found.iter().zip(expected).all(|(property, expected)| match expected {
            Expected::Same(at) => properties
                .get(*at)
                .is_some_and(|before| before.name == property.name && before.value == property.value),
            Expected::Is { name, value } => property.name == *name && property.value.means(value),
            Expected::Longer { name, before, added } => {
                property.name == *name && is_longer(&property.value, before, added)
            }
        });
    let kept: HashSet<usize> = expected.iter().filter_map(Expected::place).collect();
    let Some(old_rest) = rest(old_body, properties, |at| kept.contains(&at)) else { return false };
    let is_kept = |at: usize| expected.get(at).is_some_and(|expected| expected.place().is_some());
    as_expected
        && match new_body {
            Some(new_body) => rest(new_body, &found, is_kept) == Some(old_rest),
            // The block is gone, and there was nothing left in it.
            None => old_rest.trim().is_empty(),
        }
}

impl Expected<'_> {
    /// Where the property was, if it must not change.
    fn place(&self) -> Option<usize> {
        match self {
            Expected::Same(at) => Some(*at),
            Expected::Is { .. } | Expected::Longer { .. } => None,
        }
    }
}

fn is_longer(value: &Node, before: &[Node], added: &[Value]) -> bool {
    match &value.kind {
        Kind::List { items, .. } => match items.split_at_checked(before.len()) {
            Some((kept, new)) => {
                kept == before
                    && new.len() == added.len()
                    && new.iter().zip(added).all(|(node, value)| node.means(value))
            }
            None => false,
        },
        Kind::Scalar { .. } | Kind::Map { .. } | Kind::Alias(_) => false,
    }
}

/// `body` without the lines of the properties that are not kept: what no edit may touch. `None` when those lines
/// cannot be told.
fn rest(body: &str, properties: &[Property], is_kept: impl Fn(usize) -> bool) -> Option<String> {
    let mut cuts = Vec::new();
    for (at, property) in properties.iter().enumerate().filter(|(at, _)| !is_kept(*at)) {
        let next = properties.get(at + 1).map_or(body.len(), |next| next.key.start);
        let place = Place::find(body, property, next)?;
        cuts.push(Splice { range: place.start..place.end, text: String::new() });
    }
    Some(spliced(body, &cuts))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read::read;
    use super::{Expected, holds};

    #[test]
    fn a_wrong_result_is_never_taken_for_the_right_one() {
        let old = "\u{feff}---\na: 1 # c\n# why\nb: 'x'\nc:\n  - y\n---\nText\n";
        let properties = read("a: 1 # c\n# why\nb: 'x'\nc:\n  - y\n").unwrap();
        let two = json!(2);
        let check = |new: &str| {
            let expected = [Expected::Is { name: "a", value: &two }, Expected::Same(1), Expected::Same(2)];
            holds(old, &properties, new, &expected)
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
