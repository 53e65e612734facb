//! Merges a new entry into an existing one: Tollgate's own fields are replaced, all others stay.
//!
//! The user may have added variables, limits or approvals for single tools to the entry.

use serde_json::{Map, Value, json};

use super::entry::STATE_VARIABLE;

/// The fields that only Tollgate writes, as paths in the entry.
const OURS: [&[&str]; 8] = [
    &["type"],
    &["command"],
    &["args"],
    &["url"],
    &["httpUrl"],
    &["bearer_token_env_var"],
    &["headers", "Authorization"],
    &["env", STATE_VARIABLE],
];

/// A change of one field of an entry.
#[derive(Debug, PartialEq)]
pub(super) enum EntryChange {
    Set(Vec<String>, Value),
    Remove(Vec<String>),
}

/// Returns the changes that turn `old` into `new`. Returns an error if a field has an unexpected type.
pub(super) fn changes(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Result<Vec<EntryChange>, String> {
    let mut changes = Vec::new();
    for ours in OURS {
        if at(new, ours).is_some() || at(old, ours).is_none_or(|value| is_fitting_type(ours, value, new)) {
            continue;
        }
        // An object that would become empty is removed as a whole.
        let empties = |length: &usize| {
            at(old, &ours[..*length]).and_then(Value::as_object).is_some_and(|held| held.len() == 1)
        };
        let length = (1..ours.len()).find(empties).unwrap_or(ours.len());
        changes.push(EntryChange::Remove(owned(&ours[..length])));
    }
    for (field, value) in new {
        let held = old.get(field);
        match (value, held) {
            (_, None) => changes.push(EntryChange::Set(owned(&[field]), value.clone())),
            (Value::Object(values), Some(Value::Object(held))) => {
                for (name, value) in values {
                    changes.extend(renewed(&[field, name], value, held.get(name)));
                }
            }
            (Value::Object(_), Some(_)) => return Err(format!("`{field}` is not an object")),
            (_, held) => changes.extend(renewed(&[field], value, held)),
        }
    }
    Ok(changes)
}

/// Applies the changes to the entry.
pub(super) fn changed(old: &Map<String, Value>, changes: &[EntryChange]) -> Value {
    let mut entry = json!(old);
    for change in changes {
        match change {
            EntryChange::Set(path, value) => {
                let place = path.iter().fold(&mut entry, |place, name| &mut place[name]);
                *place = value.clone();
            }
            EntryChange::Remove(path) => {
                let Some((last, above)) = path.split_last() else { continue };
                let place = above.iter().fold(&mut entry, |place, name| &mut place[name]);
                if let Some(fields) = place.as_object_mut() {
                    fields.remove(last);
                }
            }
        }
    }
    entry
}

/// Other fields are set only if they are missing: the user may have chosen another value.
fn renewed(path: &[&str], value: &Value, held: Option<&Value>) -> Option<EntryChange> {
    let stays = held.is_some_and(|held| held == value || !OURS.contains(&path));
    (!stays).then(|| EntryChange::Set(owned(path), value.clone()))
}

/// Some clients do not need a type; a correct one stays.
fn is_fitting_type(path: &[&str], value: &Value, new: &Map<String, Value>) -> bool {
    path == ["type"] && (value == "stdio") == new.contains_key("command")
}

fn at<'a>(entry: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(entry.get(*first)?, |value, name| value.get(name))
}

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|name| (*name).to_owned()).collect()
}
