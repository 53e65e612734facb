//! Variables that an entry of ours hands on and that are not ours: whoever wrote them decides, in part, what our
//! program does. An entry of a project may have come with it, so they are told before such an entry is kept. What may
//! be a secret among their values, and among those of other entries, is shown to nobody.

use serde_json::{Map, Value};

use super::client::Client;
use super::edit::entries;
use super::entry::STATE_VARIABLE;

/// What the entry of this name has of them, by name: a value may be a secret.
pub(crate) fn foreign_variables(client: Client, text: &str, name: &str) -> Result<Vec<String>, String> {
    Ok(entries(client, text)?.get(name).and_then(Value::as_object).map(foreign).unwrap_or_default())
}

fn foreign(entry: &Map<String, Value>) -> Vec<String> {
    let set = entry.get("env").and_then(Value::as_object);
    let set = set.into_iter().flat_map(Map::keys).filter(|name| *name != STATE_VARIABLE).cloned();
    // Codex hands on variables of its own by their names.
    let passed_on = entry.get("env_vars").and_then(Value::as_array);
    let passed_on = passed_on.into_iter().flatten().map(|named| word(named.get("name").unwrap_or(named)));
    // VS Code and Cursor read more of them from a file.
    let file = entry.get("envFile").map(|file| format!("those in {}", word(file)));
    set.chain(passed_on).chain(file).collect()
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Part of the name of whatever is kept from others.
const SECRET: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE"];
/// Shorter ones would be found everywhere in a text.
const SHORTEST: usize = 4;
/// As long as most keys are, and as few words and paths.
const LONG: usize = 20;

/// The text without the values that may be secrets, to be looked at.
pub(crate) fn without_secrets(client: Client, text: &str) -> String {
    let all = entries(client, text).unwrap_or_default();
    let fields = |entry: &Value| -> Vec<(String, String)> {
        let held =
            ["env", "headers", "http_headers"].map(|field| entry.get(field).and_then(Value::as_object));
        let held = held.into_iter().flatten().flatten();
        held.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    };
    let values = all.values().flat_map(fields).filter(|(name, value)| may_be_secret(name, value));
    values.fold(text.to_owned(), |text, (_, value)| text.replace(&value, "***"))
}

fn may_be_secret(name: &str, value: &str) -> bool {
    let name = name.to_uppercase();
    let is_named_so = SECRET.iter().any(|part| name.contains(part));
    let looks_so = value.len() >= LONG
        && !value.contains(['/', ' '])
        && value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic());
    // What names a variable is not its value.
    (is_named_so || looks_so) && value.len() >= SHORTEST && !value.contains("${")
}

#[cfg(test)]
mod tests {
    use super::{foreign_variables, without_secrets};
    use crate::connect::client::Client;

    #[test]
    fn every_variable_of_an_entry_that_is_not_ours_is_named_without_its_value() {
        let told = |client, text: &str| foreign_variables(client, text, "tollgate").unwrap();
        let json = r#"{"mcpServers": {"tollgate": {
            "env": {"XDG_STATE_HOME": "/s", "LD_PRELOAD": "./evil.so", "KEY": "sk-1"}, "envFile": ".env",
        }, "other": {"env": {"A": "b"}}}}"#;
        assert_eq!(told(Client::Cursor, json), ["LD_PRELOAD", "KEY", "those in .env"]);
        let toml = "[mcp_servers.tollgate]\nenv_vars = [\"HOME_OF\", { name = \"B\" }]\n\n[mcp_servers.tollgate.env]\nA = \"1\"\n";
        assert_eq!(told(Client::Codex, toml), ["A", "HOME_OF", "B"]);
        assert_eq!(told(Client::Codex, "[mcp_servers.tollgate]\ncommand = \"t\"\n"), Vec::<String>::new());
        assert_eq!(told(Client::Cursor, ""), Vec::<String>::new());
    }

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
        assert_eq!(without_secrets(Client::Codex, toml), shown);
        assert_eq!(without_secrets(Client::Codex, "= broken"), "= broken");
    }
}
