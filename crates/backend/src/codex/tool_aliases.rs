//! Aliases for tool names that codex reserves for itself.
//!
//! A tool under such a name is refused, or worse: left out without a word. The name comes back as it was.

use std::collections::{HashMap, HashSet};

use crate::{BackendError, BackendErrorKind, NativeTool};

/// The first two are left out without a word; the third is a tool that a model may bring along.
const TAKEN: [&str; 3] = ["exec_command", "shell_command", "apply_patch"];

/// Limit of the Responses API, which codex checks.
const MAX_NAME: usize = 128;

/// Both directions. Only renamed tools are in the maps.
#[derive(Debug, Default)]
pub(super) struct ToolAliases {
    to_model: HashMap<String, String>,
    to_client: HashMap<String, String>,
}

impl ToolAliases {
    /// Finds a name for each tool. Two tools of one name are refused, as codex would do.
    pub(super) fn of(tools: &[NativeTool]) -> Result<ToolAliases, BackendError> {
        let mut taken: HashSet<String> = HashSet::with_capacity(tools.len());
        for tool in tools {
            if !taken.insert(tool.name.clone()) {
                let message = format!("two tools are named `{}`", tool.name);
                return Err(BackendError::new(BackendErrorKind::BadRequest, message));
            }
        }
        let mut aliases = ToolAliases::default();
        for tool in tools.iter().filter(|tool| !is_free(&tool.name)) {
            let stem = stem(&tool.name);
            let mut alias = stem.clone();
            let mut number = 2_usize;
            while !taken.insert(alias.clone()) {
                alias = format!("{stem}_{number}");
                number += 1;
            }
            aliases.to_client.insert(alias.clone(), tool.name.clone());
            aliases.to_model.insert(tool.name.clone(), alias);
        }
        Ok(aliases)
    }

    pub(super) fn to_model<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_model.get(name).map_or(name, String::as_str)
    }

    pub(super) fn to_client(&self, name: String) -> String {
        match self.to_client.get(&name) {
            Some(original) => original.clone(),
            None => name,
        }
    }
}

fn is_free(name: &str) -> bool {
    let spelled = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !TAKEN.contains(&name)
        && name != "mcp"
        && !name.starts_with("mcp__")
        && !name.is_empty()
        && name.len() <= MAX_NAME
        && name.bytes().all(spelled)
}

/// Short enough for a number behind it.
fn stem(name: &str) -> String {
    let spelled = |letter: char| {
        let kept = letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if kept { letter } else { '_' }
    };
    format!("client_{}", name.chars().map(spelled).take(MAX_NAME - 16).collect::<String>())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;
    use serde_json::json;

    use super::{ToolAliases, is_free};
    use crate::NativeTool;

    fn tools(names: &[&str]) -> Vec<NativeTool> {
        let tool = |name: &&str| NativeTool {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: json!({}),
        };
        names.iter().map(tool).collect()
    }

    #[test]
    fn only_names_that_codex_keeps_are_changed() {
        let names =
            ["get_weather", "exec_command", "client_exec_command", "mcp__a", "mcpx", "vault.read", ""];
        let aliases = ToolAliases::of(&tools(&names)).unwrap();
        let shown: Vec<_> = names.iter().map(|name| aliases.to_model(name)).collect();
        expect![[r#"["get_weather", "client_exec_command_2", "client_exec_command", "client_mcp__a", "mcpx", "client_vault_read", "client_"]"#]]
            .assert_eq(&format!("{shown:?}"));
    }

    #[test]
    fn a_name_that_comes_twice_is_refused() {
        let refused = ToolAliases::of(&tools(&["a", "b", "a"])).unwrap_err();
        expect!["two tools are named `a`"].assert_eq(&refused.to_string());
    }

    proptest! {
        #[test]
        fn every_name_comes_back_and_every_alias_is_free(
            names in proptest::collection::hash_set("(mcp__|client_|exec_command|.)[a-zé._2-]{0,140}", 0..12),
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let aliases = ToolAliases::of(&tools(&names)).unwrap();
            let mut seen = std::collections::HashSet::new();
            for name in names {
                let alias = aliases.to_model(name).to_owned();
                prop_assert!(is_free(&alias), "{alias}");
                prop_assert!(seen.insert(alias.clone()));
                prop_assert_eq!(aliases.to_client(alias), name);
            }
        }
    }
}
