//! Proves an edit by reading its result.
//!
//! Whatever the edit did, the note is returned only if a strict reader finds in it what was there before with
//! exactly the change that was asked for, and every other property in the very bytes it had.

use serde_json::Value;

use super::block;
use super::node::{Kind, Node};
use super::place::Place;
use super::read::{Property, read};

/// What a property of the new note must be.
pub(super) enum Expected<'a> {
    /// The one at this place in the old note, unchanged.
    Same(usize),
    /// Set to this.
    Is { name: &'a str, value: &'a Value },
    /// A list of what was there and what was added.
    Longer { name: &'a str, before: &'a [Node], added: &'a [Value] },
}

/// Whether `new` is `old` with the properties that are expected, and nothing else changed.
pub(super) fn holds(old: &str, properties: &[Property], new: &str, expected: &[Expected<'_>]) -> bool {
    let start = block::note_start(old);
    if old[..start] != new[..block::note_start(new)]
        || old[block::text_start(old)..] != new[block::text_start(new)..]
    {
        return false;
    }
    let old_body = block::find(old).map_or("", |block| &old[block.body]);
    let new_body = block::find(new).map_or("", |block| &new[block.body]);
    let Ok(found) = read(new_body) else { return false };
    found.len() == expected.len()
        && found.iter().zip(expected).enumerate().all(|(n, (property, expected))| match expected {
            Expected::Same(at) => properties.get(*at).is_some_and(|before| {
                before.name == property.name
                    && before.value == property.value
                    && source(old_body, properties, *at) == source(new_body, &found, n)
            }),
            Expected::Is { name, value } => property.name == *name && property.value.means(value),
            Expected::Longer { name, before, added } => {
                property.name == *name && is_longer(&property.value, before, added)
            }
        })
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

/// The lines of a property as they are written; from its name on where they cannot be told apart.
fn source<'a>(body: &'a str, properties: &[Property], at: usize) -> Option<&'a str> {
    let property = properties.get(at)?;
    let next = properties.get(at + 1).map_or(body.len(), |next| next.key.start);
    match Place::find(body, property, next) {
        Some(place) => Some(&body[place.start..place.end]),
        None => Some(&body[property.key.start..property.value.span.end.max(property.key.end)]),
    }
}
