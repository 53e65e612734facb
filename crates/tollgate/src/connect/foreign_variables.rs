//! Finds variables in a Tollgate entry that `connect` did not write. Their author decides, in part, what the program
//! does, and an entry of a project may have come with it. So they are shown before such an entry is kept.

use serde_json::{Map, Value};

use super::client::ClientKind;
use super::entry::STATE_VARIABLE;
use super::entry_edit::read_entries;

/// Returns the names of such variables in the entry of this name. No values: they may be secrets.
pub(crate) fn foreign_variables(client: ClientKind, text: &str, name: &str) -> Result<Vec<String>, String> {
    Ok(read_entries(client, text)?.get(name).and_then(Value::as_object).map(foreign).unwrap_or_default())
}

fn foreign(entry: &Map<String, Value>) -> Vec<String> {
    let set = entry.get("env").and_then(Value::as_object);
    let set = set.into_iter().flat_map(Map::keys).filter(|name| *name != STATE_VARIABLE).cloned();
    // Codex passes on variables of its own environment by name.
    let passed_on = entry.get("env_vars").and_then(Value::as_array);
    let passed_on = passed_on.into_iter().flatten().map(|named| word(named.get("name").unwrap_or(named)));
    // VS Code and Cursor read more variables from a file.
    let file = entry.get("envFile").map(|file| format!("those in {}", word(file)));
    set.chain(passed_on).chain(file).collect()
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::foreign_variables;
    use crate::connect::client::ClientKind;

    #[test]
    fn every_variable_of_an_entry_that_is_not_ours_is_named_without_its_value() {
        let found = |client, text: &str| foreign_variables(client, text, "tollgate").unwrap();
        let json = r#"{"mcpServers": {"tollgate": {
            "env": {"XDG_STATE_HOME": "/s", "LD_PRELOAD": "./evil.so", "KEY": "sk-1"}, "envFile": ".env",
        }, "other": {"env": {"A": "b"}}}}"#;
        assert_eq!(found(ClientKind::Cursor, json), ["LD_PRELOAD", "KEY", "those in .env"]);
        let toml = "[mcp_servers.tollgate]\nenv_vars = [\"HOME_OF\", { name = \"B\" }]\n\n[mcp_servers.tollgate.env]\nA = \"1\"\n";
        assert_eq!(found(ClientKind::Codex, toml), ["A", "HOME_OF", "B"]);
        assert_eq!(
            found(ClientKind::Codex, "[mcp_servers.tollgate]\ncommand = \"t\"\n"),
            Vec::<String>::new()
        );
        assert_eq!(found(ClientKind::Cursor, ""), Vec::<String>::new());
    }
}
