//! Puts a new table behind TOML text.
//!
//! Whoever asks for it reads what came out again: if it does not mean what was there before and the new table, nothing
//! is done.

use serde_json::Value;

/// The text with `entry` as the new table `key.name`.
pub(super) fn put(text: &str, key: &str, name: &str, entry: &Value) -> String {
    let end = line_end(text);
    let table = table(key, name, entry).replace('\n', end);
    let gap = match text {
        "" | "\u{feff}" => "",
        text if text.ends_with('\n') => end,
        _ => &format!("{end}{end}"),
    };
    format!("{text}{gap}{table}")
}

/// How the lines of a text end.
pub(super) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
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
pub(super) fn written(value: &Value) -> String {
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
