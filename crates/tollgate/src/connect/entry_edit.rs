//! Adds or updates one entry in the text of a settings file, and proves that nothing else has changed.

use serde_json::{Map, Value, json};

use super::client::{ClientKind, ConfigFormat};
use super::entry_merge::{EntryChange, changed, changes};
use super::jsonc_document::JsoncDocument;
use super::{jsonc_edit, toml_edit, toml_text};

/// The result of an edit.
#[derive(Debug, PartialEq)]
pub(crate) enum EditOutcome {
    /// The entry is there already, with the same values.
    Unchanged,
    /// The whole new text.
    Changed {
        text: String,
        /// Whether an entry of the same name had other values.
        replaces: bool,
    },
}

/// Adds the entry to the text, or updates Tollgate's own fields of an existing entry. Returns the reason if the text
/// cannot be parsed or not be changed safely.
pub(crate) fn edit_entry(
    client: ClientKind,
    text: &str,
    name: &str,
    entry: &Value,
) -> Result<EditOutcome, String> {
    let key = client.key();
    let before = parse_config(client, text)?;
    let (new, merged, replaces) = match entry_in(&before, key, name)? {
        None => (insert_entry(client, text, name, entry)?, entry.clone(), false),
        Some(Value::Object(old)) => {
            let fields = entry.as_object().ok_or("the entry is not an object")?;
            let changes = changes(old, fields)?;
            if changes.is_empty() {
                return Ok(EditOutcome::Unchanged);
            }
            (update_entry(client, text, name, &changes)?, changed(old, &changes), true)
        }
        Some(_) => return Err(format!("`{name}` is not an object")),
    };
    // Whatever the file contains, the result must mean the same as before, plus the entry.
    let mut wanted = before;
    let servers = wanted.entry(key).or_insert_with(|| json!({}));
    servers[name] = merged;
    match parse_config(client, &new) {
        Ok(after) if after == wanted => Ok(EditOutcome::Changed { text: new, replaces }),
        Ok(_) | Err(_) => Err(format!("`{key}` is written in a way that cannot be extended safely")),
    }
}

fn insert_entry(client: ClientKind, text: &str, name: &str, entry: &Value) -> Result<String, String> {
    match client.format() {
        ConfigFormat::Json => jsonc_edit::set(text, &[client.key(), name], entry),
        ConfigFormat::Toml => Ok(toml_text::put(text, client.key(), name, entry)),
    }
}

/// Applies the changes to the entry. Returns an error if a comment would be lost.
fn update_entry(
    client: ClientKind,
    text: &str,
    name: &str,
    changes: &[EntryChange],
) -> Result<String, String> {
    let path = |fields: &'_ [String]| -> Vec<String> {
        [client.key(), name].into_iter().map(str::to_owned).chain(fields.iter().cloned()).collect()
    };
    let mut new = text.to_owned();
    match client.format() {
        ConfigFormat::Json => {
            for change in changes {
                new = match change {
                    EntryChange::Set(fields, value) => {
                        jsonc_edit::set(&new, &borrowed(&path(fields)), value)?
                    }
                    EntryChange::Remove(fields) => jsonc_edit::remove(&new, &borrowed(&path(fields)))?,
                };
            }
            if JsoncDocument::parse(&new)?.comments(&new) != JsoncDocument::parse(text)?.comments(text) {
                return Err(format!("there is a comment inside the part that would change in `{name}`"));
            }
        }
        ConfigFormat::Toml => {
            // Each is inserted right after the table header, so they are applied in reverse.
            for change in changes.iter().rev() {
                new = match change {
                    EntryChange::Set(fields, value) => toml_edit::set(&new, &borrowed(&path(fields)), value)?,
                    EntryChange::Remove(fields) => toml_edit::remove(&new, &borrowed(&path(fields)))?,
                };
            }
        }
    }
    Ok(new)
}

fn borrowed(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// Returns the servers in the text.
pub(crate) fn read_entries(client: ClientKind, text: &str) -> Result<Map<String, Value>, String> {
    let mut all = parse_config(client, text)?;
    match all.remove(client.key()) {
        None => Ok(Map::new()),
        Some(Value::Object(servers)) => Ok(servers),
        Some(_) => Err(format!("`{}` is not an object", client.key())),
    }
}

/// Returns a file with only this entry.
pub(crate) fn entry_snippet(client: ClientKind, name: &str, entry: &Value) -> String {
    match client.format() {
        ConfigFormat::Json => jsonc_edit::set("", &[client.key(), name], entry).unwrap_or_default(),
        ConfigFormat::Toml => toml_text::table(client.key(), name, entry),
    }
}

fn entry_in<'a>(all: &'a Map<String, Value>, key: &str, name: &str) -> Result<Option<&'a Value>, String> {
    match all.get(key) {
        None => Ok(None),
        Some(Value::Object(servers)) => Ok(servers.get(name)),
        Some(_) => Err(format!("`{key}` is not an object")),
    }
}

/// Parses the text in either format.
fn parse_config(client: ClientKind, text: &str) -> Result<Map<String, Value>, String> {
    let value = match client.format() {
        ConfigFormat::Json => {
            let root = JsoncDocument::parse(text)?.root;
            root.map_or_else(|| json!({}), |root| root.to_json())
        }
        ConfigFormat::Toml => json!(toml_text::read(text)?),
    };
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("it is not an object".to_owned())
        }
    }
}
