//! Which property each part of an update means.

use std::collections::HashSet;

use envelope::{Failure, Fault};
use serde_json::Value;

use super::Update;
use super::node::Kind;
use super::read::Property;

/// One thing to do to one property.
pub(super) struct Wish<'a> {
    /// As it was given.
    pub(super) name: &'a str,
    /// The property it means, by its place in the note; `None` when the note has none.
    pub(super) target: Option<usize>,
    pub(super) work: Work<'a>,
}

pub(super) enum Work<'a> {
    Set(&'a Value),
    Remove,
    /// What is not in the list yet.
    Append(Vec<Value>),
}

/// The parts of `update`, each with the property it means.
pub(super) fn wishes<'a>(update: &'a Update, properties: &[Property]) -> Result<Vec<Wish<'a>>, Fault> {
    let set = update.set.iter().map(|(name, value)| (name, Work::Set(value)));
    let remove = update.remove.iter().map(|name| (name, Work::Remove));
    let append = update.append.iter().map(|(name, value)| (name, Work::Append(values(value))));
    let mut taken = HashSet::new();
    let mut wishes = Vec::new();
    for (name, work) in set.chain(remove).chain(append) {
        if name.trim().is_empty() {
            return Err(
                Fault::new(Failure::InvalidArguments, "a property has no name").hint("give it a name")
            );
        }
        let target = target(name, properties)?;
        let key = target.map_or_else(|| Err(name.to_lowercase()), Ok);
        if !taken.insert(key) {
            return Err(Fault::new(Failure::InvalidArguments, format!("`{name}` is named twice"))
                .hint("name each property once; upper and lower case make no difference"));
        }
        let work = match (work, target.and_then(|at| properties.get(at))) {
            (Work::Append(values), Some(property)) => Work::Append(missing(values, property)),
            (work, _) => work,
        };
        wishes.push(Wish { name, target, work });
    }
    if wishes.is_empty() {
        return Err(Fault::new(Failure::InvalidArguments, "the update names no property")
            .hint("give `set`, `remove` or `append`"));
    }
    Ok(wishes)
}

/// The exact name, or the only one that differs in case.
fn target(name: &str, properties: &[Property]) -> Result<Option<usize>, Fault> {
    if let Some(at) = properties.iter().position(|property| property.name == name) {
        return Ok(Some(at));
    }
    let folded = name.to_lowercase();
    let mut alike = properties
        .iter()
        .enumerate()
        .filter(|(_, property)| property.name.to_lowercase() == folded)
        .map(|(at, property)| (at, &property.name));
    match (alike.next(), alike.next()) {
        (Some((_, first)), Some((_, second))) => {
            Err(Fault::new(Failure::Conflict, format!("`{name}` could mean `{first}` or `{second}`"))
                .hint("spell the name as the note does"))
        }
        (found, _) => Ok(found.map(|(at, _)| at)),
    }
}

fn values(value: &Value) -> Vec<Value> {
    let given = match value {
        Value::Array(items) => items.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            vec![value.clone()]
        }
    };
    let mut seen = HashSet::new();
    given.into_iter().filter(|value| seen.insert(value.to_string())).collect()
}

/// The values that the property does not hold yet.
fn missing(values: Vec<Value>, property: &Property) -> Vec<Value> {
    let items = match &property.value.kind {
        Kind::List { items, .. } => items.as_slice(),
        Kind::Scalar { text, .. }
            if is_list_by_meaning(&property.name, text) && !property.value.is_null() =>
        {
            std::slice::from_ref(&property.value)
        }
        Kind::Scalar { .. } | Kind::Map { .. } | Kind::Alias(_) => &[],
    };
    values.into_iter().filter(|value| !items.iter().any(|item| item.means(value))).collect()
}

/// Whether Obsidian takes the property for a list, and `text` for one item of it.
pub(super) fn is_list_by_meaning(name: &str, text: &str) -> bool {
    match name.to_lowercase().as_str() {
        "tags" | "cssclasses" => !text.contains([',', ' ', '\n']),
        "aliases" => !text.contains([',', '\n']),
        _ => false,
    }
}
