//! Resolves each part of an update to the property it changes.

use std::collections::HashSet;

use envelope::{Failure, Fault};
use serde_json::Value;

use super::FrontmatterUpdate;
use super::parser::FrontmatterProperty;
use super::yaml_node::NodeValue;

/// One change of one property.
pub(super) struct PropertyChange<'a> {
    /// The name as given in the update.
    pub(super) name: &'a str,
    /// Index of the matching property; `None` if the note does not have it.
    pub(super) target: Option<usize>,
    pub(super) work: ChangeAction<'a>,
}

pub(super) enum ChangeAction<'a> {
    Set(&'a Value),
    Remove,
    /// Values that are not in the list yet.
    Append(Vec<Value>),
}

/// Returns the parts of `update`, each resolved to its property.
///
/// Fails if a name is empty, ambiguous or given twice, or if the update is empty.
pub(super) fn resolve_changes<'a>(
    update: &'a FrontmatterUpdate,
    properties: &[FrontmatterProperty],
) -> Result<Vec<PropertyChange<'a>>, Fault> {
    let set = update.set.iter().map(|(name, value)| (name, ChangeAction::Set(value)));
    let remove = update.remove.iter().map(|name| (name, ChangeAction::Remove));
    let append = update.append.iter().map(|(name, value)| (name, ChangeAction::Append(values(value))));
    let mut taken = HashSet::new();
    let mut wishes = Vec::new();
    for (name, work) in set.chain(remove).chain(append) {
        if name.trim().is_empty() {
            return Err(
                Fault::new(Failure::InvalidArguments, "a property has no name").hint("give it a name")
            );
        }
        let target = find_property(name, properties)?;
        let key = target.map_or_else(|| Err(name.to_lowercase()), Ok);
        if !taken.insert(key) {
            return Err(Fault::new(Failure::InvalidArguments, format!("`{name}` is named twice"))
                .hint("name each property once; upper and lower case make no difference"));
        }
        let work = match (work, target.and_then(|at| properties.get(at))) {
            (ChangeAction::Append(values), Some(property)) => {
                ChangeAction::Append(new_values(values, property))
            }
            (work, _) => work,
        };
        wishes.push(PropertyChange { name, target, work });
    }
    if wishes.is_empty() {
        return Err(Fault::new(Failure::InvalidArguments, "the update names no property")
            .hint("give `set`, `remove` or `append`"));
    }
    Ok(wishes)
}

/// Returns the property with the exact name, or the only one whose name differs just in case.
fn find_property(name: &str, properties: &[FrontmatterProperty]) -> Result<Option<usize>, Fault> {
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

/// Returns the values that the property does not have yet.
fn new_values(values: Vec<Value>, property: &FrontmatterProperty) -> Vec<Value> {
    let items = match &property.value.kind {
        NodeValue::List { items, .. } => items.as_slice(),
        NodeValue::Scalar { text, .. } => {
            if let Some(items) = list_in_text(&property.name, text) {
                return values
                    .into_iter()
                    .filter(|value| !items.iter().any(|item| value.as_str() == Some(item)))
                    .collect();
            }
            let single = is_list_property(&property.name, text) && !property.value.is_null();
            if single { std::slice::from_ref(&property.value) } else { &[] }
        }
        NodeValue::Map { .. } | NodeValue::Alias(_) => &[],
    };
    values.into_iter().filter(|value| !items.iter().any(|item| item.equals_json(value))).collect()
}

/// Returns the items of a text such as `a, b` that Obsidian takes as a list of several; `None` for any other text.
/// Tags and classes are also separated by spaces.
pub(super) fn list_in_text(name: &str, text: &str) -> Option<Vec<String>> {
    // In the braces of a placeholder nothing separates.
    if is_list_property(name, text) || text.contains("{{") {
        return None;
    }
    let separators: &[char] = match name.to_lowercase().as_str() {
        "tags" | "cssclasses" => &[',', ' ', '\n'],
        "aliases" => &[',', '\n'],
        _ => return None,
    };
    let items = text.split(separators).map(str::trim).filter(|item| !item.is_empty());
    Some(items.map(str::to_owned).collect())
}

/// Whether Obsidian treats the property as a list, and `text` as a single item of it.
pub(super) fn is_list_property(name: &str, text: &str) -> bool {
    match name.to_lowercase().as_str() {
        "tags" | "cssclasses" => !text.contains([',', ' ', '\n']),
        "aliases" => !text.contains([',', '\n']),
        _ => false,
    }
}
