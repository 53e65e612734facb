//! Parses TOML, writes values, and appends a new table.
//!
//! The caller parses the result again and drops it if it does not mean the old text plus the new table.

use serde_json::Value;

/// Appends `entry` as the new table `key.name`.
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

/// Returns the line end of the text.
pub(super) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Returns the table as text, with its last line end.
pub(super) fn table(key: &str, name: &str, entry: &Value) -> String {
    let fields = entry.as_object().into_iter().flatten();
    let lines: String = fields.map(|(field, value)| format!("{field} = {}\n", written(value))).collect();
    format!("[{key}.{name}]\n{lines}")
}

/// Parses the text.
pub(super) fn read(text: &str) -> Result<toml::Table, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    toml::from_str(text).map_err(|error: toml::de::Error| error.to_string().trim_end().to_owned())
}

/// Writes a JSON value as TOML. A JSON string is a TOML string too, except for one character that TOML wants escaped.
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
