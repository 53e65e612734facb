//! What becomes of an entry that is there already: what is ours is renewed, and everything else in it stays.
//!
//! A person may have added variables, limits or answers for single tools to the entry. None of that is ours to drop.

use serde_json::{Map, Value, json};

use super::entry::STATE_VARIABLE;

/// What only we write, as paths in the entry.
const OURS: [&[&str]; 7] = [
    &["type"],
    &["command"],
    &["args"],
    &["url"],
    &["bearer_token_env_var"],
    &["headers", "Authorization"],
    &["env", STATE_VARIABLE],
];

/// One thing to do to an entry.
#[derive(Debug, PartialEq)]
pub(super) enum Change {
    Set(Vec<String>, Value),
    Remove(Vec<String>),
}

/// What has to be done to `old` so that it says what `new` does.
pub(super) fn changes(old: &Map<String, Value>, new: &Map<String, Value>) -> Result<Vec<Change>, String> {
    let mut changes = Vec::new();
    for ours in OURS {
        if at(new, ours).is_some() || at(old, ours).is_none_or(|value| is_fitting_type(ours, value, new)) {
            continue;
        }
        // A list that held nothing else is of no use to anyone.
        let empties = |length: &usize| {
            at(old, &ours[..*length]).and_then(Value::as_object).is_some_and(|held| held.len() == 1)
        };
        let length = (1..ours.len()).find(empties).unwrap_or(ours.len());
        changes.push(Change::Remove(owned(&ours[..length])));
    }
    for (field, value) in new {
        let held = old.get(field);
        match (value, held) {
            (_, None) => changes.push(Change::Set(owned(&[field]), value.clone())),
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

/// The entry after these changes.
pub(super) fn changed(old: &Map<String, Value>, changes: &[Change]) -> Value {
    let mut entry = json!(old);
    for change in changes {
        match change {
            Change::Set(path, value) => {
                let place = path.iter().fold(&mut entry, |place, name| &mut place[name]);
                *place = value.clone();
            }
            Change::Remove(path) => {
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

/// What is not ours is only put where there is nothing: a person may have chosen something else.
fn renewed(path: &[&str], value: &Value, held: Option<&Value>) -> Option<Change> {
    let stays = held.is_some_and(|held| held == value || !OURS.contains(&path));
    (!stays).then(|| Change::Set(owned(path), value.clone()))
}

/// Some clients can do without a type; one that is right may stay.
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
