//! One entry put into the text of a file, and proof that nothing else has changed.

use serde_json::{Map, Value, json};

use super::client::{Client, Format};
use super::merge::{Change, changed, changes};
use super::{jsonc, jsonc_edit, toml_edit, toml_text};

/// What has to be done to a file.
#[derive(Debug, PartialEq)]
pub(crate) enum Edited {
    /// It says so already.
    Already,
    /// The whole new text.
    New {
        text: String,
        /// Whether an entry of the same name said something else.
        replaces: bool,
    },
}

/// Puts the entry into the text. Of one that is there already, only what is ours is renewed. Says why if the text
/// cannot be understood.
pub(crate) fn edit(client: Client, text: &str, name: &str, entry: &Value) -> Result<Edited, String> {
    let key = client.key();
    let before = meaning(client, text)?;
    let (new, merged, replaces) = match entry_in(&before, key, name)? {
        None => (added(client, text, name, entry)?, entry.clone(), false),
        Some(Value::Object(old)) => {
            let fields = entry.as_object().ok_or("the entry is not an object")?;
            let changes = changes(old, fields)?;
            if changes.is_empty() {
                return Ok(Edited::Already);
            }
            (renewed(client, text, name, &changes)?, changed(old, &changes), true)
        }
        Some(_) => return Err(format!("`{name}` is not an object")),
    };
    // Whatever this file is made of, the result must mean what it meant and the entry.
    let mut wanted = before;
    let servers = wanted.entry(key).or_insert_with(|| json!({}));
    servers[name] = merged;
    match meaning(client, &new) {
        Ok(after) if after == wanted => Ok(Edited::New { text: new, replaces }),
        Ok(_) | Err(_) => Err(format!("`{key}` is written in a way that cannot be extended safely")),
    }
}

fn added(client: Client, text: &str, name: &str, entry: &Value) -> Result<String, String> {
    match client.format() {
        Format::Json => jsonc_edit::set(text, &[client.key(), name], entry),
        Format::Toml => Ok(toml_text::put(text, client.key(), name, entry)),
    }
}

/// The text with these changes of one entry, and with every comment that it had.
fn renewed(client: Client, text: &str, name: &str, changes: &[Change]) -> Result<String, String> {
    let path = |fields: &'_ [String]| -> Vec<String> {
        [client.key(), name].into_iter().map(str::to_owned).chain(fields.iter().cloned()).collect()
    };
    let mut new = text.to_owned();
    match client.format() {
        Format::Json => {
            for change in changes {
                new = match change {
                    Change::Set(fields, value) => jsonc_edit::set(&new, &borrowed(&path(fields)), value)?,
                    Change::Remove(fields) => jsonc_edit::remove(&new, &borrowed(&path(fields)))?,
                };
            }
            if jsonc::comments(&new) != jsonc::comments(text) {
                return Err(format!("a comment stands inside of what would change in `{name}`"));
            }
        }
        Format::Toml => {
            // Each is put right behind the head, so the last one comes first.
            for change in changes.iter().rev() {
                new = match change {
                    Change::Set(fields, value) => toml_edit::set(&new, &borrowed(&path(fields)), value)?,
                    Change::Remove(fields) => toml_edit::remove(&new, &borrowed(&path(fields)))?,
                };
            }
        }
    }
    Ok(new)
}

fn borrowed(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// The servers that the text names.
pub(crate) fn entries(client: Client, text: &str) -> Result<Map<String, Value>, String> {
    let mut all = meaning(client, text)?;
    match all.remove(client.key()) {
        None => Ok(Map::new()),
        Some(Value::Object(servers)) => Ok(servers),
        Some(_) => Err(format!("`{}` is not an object", client.key())),
    }
}

/// A file with this entry and nothing else.
pub(crate) fn snippet(client: Client, name: &str, entry: &Value) -> String {
    match client.format() {
        Format::Json => jsonc_edit::set("", &[client.key(), name], entry).unwrap_or_default(),
        Format::Toml => toml_text::table(client.key(), name, entry),
    }
}

fn entry_in<'a>(all: &'a Map<String, Value>, key: &str, name: &str) -> Result<Option<&'a Value>, String> {
    match all.get(key) {
        None => Ok(None),
        Some(Value::Object(servers)) => Ok(servers.get(name)),
        Some(_) => Err(format!("`{key}` is not an object")),
    }
}

/// What a text means, whatever it is written in.
fn meaning(client: Client, text: &str) -> Result<Map<String, Value>, String> {
    let value = match client.format() {
        Format::Json => jsonc::read(text)?.map_or_else(|| json!({}), |root| root.value()),
        Format::Toml => json!(toml_text::read(text)?),
    };
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("it is not an object".to_owned())
        }
    }
}
