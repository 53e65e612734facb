//! Puts one table into TOML text and leaves the rest as it is.
//!
//! The text is edited by lines, and what came out is read again: if it does not mean what was there before and the new
//! table, nothing is done.

use serde_json::Value;

/// The text with `entry` as the table `key.name`. Says why if that is not possible.
pub(super) fn put(text: &str, key: &str, name: &str, entry: &Value) -> Result<String, String> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let table = table(key, name, entry).replace('\n', end);
    let head = format!("[{key}.{name}]");
    Ok(match lines_of_table(text, &head) {
        Some((from, to)) => format!("{}{table}{}", &text[..from], &text[to..]),
        None => {
            let gap = match text {
                "" | "\u{feff}" => "",
                text if text.ends_with('\n') => end,
                _ => &format!("{end}{end}"),
            };
            format!("{text}{gap}{table}")
        }
    })
}

/// The table as text, its last line ended.
pub(super) fn table(key: &str, name: &str, entry: &Value) -> String {
    let fields = entry.as_object().into_iter().flatten();
    let lines: String = fields.map(|(field, value)| format!("{field} = {}\n", written(value))).collect();
    format!("[{key}.{name}]\n{lines}")
}

/// What the text means.
pub(super) fn read(text: &str) -> Result<toml::Table, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    toml::from_str(text).map_err(|error: toml::de::Error| error.to_string().trim_end().to_owned())
}

/// A JSON value in TOML. A JSON string is one of TOML too, but for a character that TOML wants spelled out.
fn written(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(field, value)| format!("{field} = {}", written(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            value.to_string().replace('\u{7f}', "\\u007f")
        }
    }
}

/// From the head of a table to the end of its last line with anything but space or a comment, and of the tables in it.
fn lines_of_table(text: &str, head: &str) -> Option<(usize, usize)> {
    let inner = format!("{}.", head.strip_suffix(']')?);
    let mut at = 0;
    let mut found: Option<(usize, usize)> = None;
    for line in text.split_inclusive('\n') {
        let said = line.trim_start_matches('\u{feff}').trim();
        let heads = said
            .strip_prefix(head)
            .is_some_and(|rest| rest.trim().is_empty() || rest.trim().starts_with('#'));
        match &mut found {
            None if heads => found = Some((at, at + line.len())),
            None => {}
            Some(_) if said.starts_with('[') && !said.starts_with(&inner) => break,
            Some((_, to)) if !said.is_empty() && !said.starts_with('#') => *to = at + line.len(),
            Some(_) => {}
        }
        at += line.len();
    }
    found
}
