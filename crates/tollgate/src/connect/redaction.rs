//! Replaces values that may be secrets in the text of a settings file, in all entries.
//!
//! Each value is replaced at its own position, whatever its syntax, and nowhere else. The author of the file chooses
//! the secret, and must not be able to hide other fields with it: a user who looks for `LD_PRELOAD = "./evil.so"` has
//! to find it, whatever else has the same value.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::client::{ClientKind, ConfigFormat};
use super::jsonc_document::{JsoncDocument, JsoncKind, JsoncMember, JsoncNode};

/// The fields of an entry that contain values by name.
const HOLDERS: [&str; 3] = ["env", "headers", "http_headers"];
/// Parts of names whose values are secret.
const SECRET: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE"];
/// Length of a value that may be a key: as long as most keys, and as few words and paths.
const LONG: usize = 20;
/// Replaces a secret. A string in JSON and in TOML.
const HIDDEN: &str = "\"***\"";

/// Returns the text with every value replaced that may be a secret.
pub(crate) fn redact_secrets(client: ClientKind, text: &str) -> String {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut secrets = match client.format() {
        ConfigFormat::Json => in_json(body, client.key()),
        ConfigFormat::Toml => in_toml(body, client.key()),
    };
    secrets.sort_unstable_by_key(|span| span.start);
    let mut shown = text[..text.len() - body.len()].to_owned();
    let mut at = 0;
    for span in secrets {
        shown.push_str(&body[at..span.start]);
        shown.push_str(HIDDEN);
        at = span.end;
    }
    shown + &body[at..]
}

/// Returns the positions of the secrets, with their quotes.
fn in_json(text: &str, key: &str) -> Vec<Range<usize>> {
    let Ok(JsoncDocument { root: Some(root), .. }) = JsoncDocument::parse(text) else { return Vec::new() };
    let servers = members(&root).iter().filter(|servers| servers.key == key);
    let entries = servers.flat_map(|servers| members(&servers.value));
    let holders = entries.flat_map(|entry| members(&entry.value));
    let holders = holders.filter(|holder| HOLDERS.contains(&holder.key.as_str()));
    let fields = holders.flat_map(|holder| members(&holder.value));
    let secrets = fields.filter(|field| match &field.value.kind {
        JsoncKind::Scalar(Value::String(value)) => may_be_secret(&field.key, value),
        JsoncKind::Scalar(_) | JsoncKind::Array(_) | JsoncKind::Object(_) => false,
    });
    secrets.map(|field| field.value.span.clone()).collect()
}

fn members(node: &JsoncNode) -> &[JsoncMember] {
    match &node.kind {
        JsoncKind::Object(members) => members,
        JsoncKind::Array(_) | JsoncKind::Scalar(_) => &[],
    }
}

/// The same for TOML.
fn in_toml(text: &str, key: &str) -> Vec<Range<usize>> {
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let servers = root.get_ref().iter().filter(|(name, _)| name.get_ref() == key);
    let entries = servers.flat_map(|(_, servers)| fields(servers));
    let holders = entries.flat_map(|(_, entry)| fields(entry));
    let holders = holders.filter(|(name, _)| HOLDERS.contains(name));
    let secrets = holders.flat_map(|(_, holder)| fields(holder)).filter(
        |(name, value)| matches!(value.get_ref(), DeValue::String(value) if may_be_secret(name, value)),
    );
    secrets.map(|(_, value)| value.span()).collect()
}

fn fields<'a, 't>(
    value: &'a Spanned<DeValue<'t>>,
) -> impl Iterator<Item = (&'a str, &'a Spanned<DeValue<'t>>)> {
    let table = value.get_ref().as_table();
    table.into_iter().flat_map(DeTable::iter).map(|(name, value)| (name.get_ref().as_ref(), value))
}

fn may_be_secret(name: &str, value: &str) -> bool {
    let name = name.to_uppercase();
    let is_named_so = SECRET.iter().any(|part| name.contains(part));
    let looks_so = value.len() >= LONG
        && !value.contains(['/', ' '])
        && value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic());
    // A reference to a variable is not its value.
    (is_named_so || looks_so) && !value.is_empty() && !value.contains("${")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use serde_json::json;

    use super::redact_secrets;
    use crate::connect::client::ClientKind;

    #[test]
    fn what_may_be_a_secret_is_not_shown_whoever_it_belongs_to() {
        let toml = r#"[mcp_servers.tollgate.env]
LD_PRELOAD = "./evil.so"
API_KEY = "sk-secret"
ID = "0123456789abcdefghijk"
XDG_STATE_HOME = "/home/me/state/of/mine/0123456789"
[mcp_servers.other]
http_headers = { Authorization = "Bearer abcdef", X-Auth = "${env:TOKEN}" }
"#;
        let shown = r#"[mcp_servers.tollgate.env]
LD_PRELOAD = "./evil.so"
API_KEY = "***"
ID = "***"
XDG_STATE_HOME = "/home/me/state/of/mine/0123456789"
[mcp_servers.other]
http_headers = { Authorization = "***", X-Auth = "${env:TOKEN}" }
"#;
        assert_eq!(redact_secrets(ClientKind::Codex, toml), shown);
        assert_eq!(redact_secrets(ClientKind::Codex, &format!("\u{feff}{toml}")), format!("\u{feff}{shown}"));
        assert_eq!(redact_secrets(ClientKind::Codex, "= broken"), "= broken");
    }

    #[test]
    fn a_secret_is_hidden_however_it_is_written() {
        let json = r#"{"mcpServers": {"other": { // env
            "env": {"A_KEY": "sk-ab\/cd", "B\u005fKEY": "sk-\u0061b", "C_KEY": "x", "NAME": "sk-ab\/cd"},
            "headers": {"Cookie": "a=\"b\""}, "args": ["sk-ab"],
        }}}"#;
        let shown = r#"{"mcpServers": {"other": { // env
            "env": {"A_KEY": "***", "B\u005fKEY": "***", "C_KEY": "***", "NAME": "sk-ab\/cd"},
            "headers": {"Cookie": "***"}, "args": ["sk-ab"],
        }}}"#;
        assert_eq!(redact_secrets(ClientKind::Cursor, json), shown);
        let toml =
            "[mcp_servers.o.env]\nA_KEY = 'a\\b'\nB_KEY = \"\"\"\nab\ncd\"\"\"\nmcp_servers.KEY = 'shown'\n";
        let shown = "[mcp_servers.o.env]\nA_KEY = \"***\"\nB_KEY = \"***\"\nmcp_servers.KEY = 'shown'\n";
        assert_eq!(redact_secrets(ClientKind::Codex, toml), shown);
    }

    #[test]
    fn a_secret_that_begins_another_leaves_nothing_of_it() {
        let text =
            |a: &str, b: &str| json!({"mcpServers": {"o": {"env": {"A_KEY": a, "B_KEY": b}}}}).to_string();
        assert_eq!(redact_secrets(ClientKind::Cursor, &text("abcd", "abcdef")), text("***", "***"));
    }

    #[test]
    fn nobody_can_hide_a_field_behind_another_of_the_same_value() {
        let text = |key: &str| {
            let env = json!({"LD_PRELOAD": "./evil.so", "X_KEY": key});
            json!({"mcpServers": {"tollgate": {"command": "./evil.so", "env": env}}}).to_string()
        };
        assert_eq!(redact_secrets(ClientKind::Cursor, &text("./evil.so")), text("***"));
    }

    proptest! {
        #[test]
        fn whatever_a_secret_is_nothing_else_is_hidden_with_it(secret in "[^$]{1,20}", other in any::<String>()) {
            let text = |key: &str| {
                let env = json!({"A": "a", "KEY": key, "Z": "z"});
                json!({"mcpServers": {"o": {"args": [other], "env": env}}}).to_string()
            };
            prop_assert_eq!(redact_secrets(ClientKind::Cursor, &text(&secret)), text("***"));
        }
    }
}
