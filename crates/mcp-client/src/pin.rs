//! Approved declarations of a server's tools, and their comparison with the current ones.

use std::collections::BTreeMap;

use envelope::Hash;
use serde::{Deserialize, Serialize};

use crate::ToolDeclaration;

/// The approved tools of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerPin {
    /// Hash of the settings that define the server.
    pub identity: Hash,
    pub tools: Vec<ToolDeclaration>,
}

/// Differences between a list and a pin, by tool name, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclarationDiff {
    /// Listed but not approved.
    pub added: Vec<String>,
    /// Approved but listed with other parts, and which parts differ.
    pub changed: BTreeMap<String, Vec<&'static str>>,
    /// Approved but not listed.
    pub gone: Vec<String>,
}

impl ServerPin {
    pub fn find(&self, name: &str) -> Option<&ToolDeclaration> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub fn compare(&self, listed: &[ToolDeclaration]) -> DeclarationDiff {
        let mut drift = DeclarationDiff::default();
        let live: BTreeMap<&str, &ToolDeclaration> =
            listed.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        let known: BTreeMap<&str, &ToolDeclaration> =
            self.tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        for (name, tool) in &live {
            match known.get(name) {
                None => drift.added.push((*name).to_owned()),
                Some(pinned) if pinned != tool => {
                    drift.changed.insert((*name).to_owned(), differing_parts(pinned, tool));
                }
                Some(_) => {}
            }
        }
        drift.gone =
            known.keys().filter(|name| !live.contains_key(*name)).map(|name| (*name).to_owned()).collect();
        drift
    }
}

impl DeclarationDiff {
    pub fn is_none(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.gone.is_empty()
    }
}

/// Returns the parts in which two declarations of one tool differ.
fn differing_parts(pinned: &ToolDeclaration, listed: &ToolDeclaration) -> Vec<&'static str> {
    let compared = [
        ("title", pinned.title == listed.title),
        ("description", pinned.description == listed.description),
        ("input schema", pinned.input_schema == listed.input_schema),
        ("output schema", pinned.output_schema == listed.output_schema),
        ("annotations", pinned.annotations == listed.annotations),
    ];
    compared.into_iter().filter(|(_, same)| !same).map(|(part, _)| part).collect()
}

#[cfg(test)]
mod tests {
    use envelope::Hash;
    use serde_json::json;

    use super::ServerPin;
    use crate::ToolDeclaration;

    fn tool(name: &str, description: &str) -> ToolDeclaration {
        ToolDeclaration::parse(
            &json!({"name": name, "description": description, "inputSchema": {"type": "object"}}),
        )
        .unwrap()
    }

    #[test]
    fn what_is_new_changed_or_gone_is_told_apart() {
        let pin = ServerPin {
            identity: Hash::of(b""),
            tools: vec![tool("a", "x"), tool("b", "x"), tool("c", "x")],
        };
        assert!(pin.compare(&pin.tools).is_none());
        let drift = pin.compare(&[tool("d", "x"), tool("b", "y"), tool("a", "x")]);
        assert_eq!(drift.added, ["d"]);
        assert_eq!(drift.changed, [("b".to_owned(), vec!["description"])].into());
        assert_eq!(drift.gone, ["c"]);
    }

    #[test]
    fn the_order_of_keys_is_no_change_and_a_hidden_character_is() {
        let read = |text: &str| ToolDeclaration::parse(&serde_json::from_str(text).unwrap()).unwrap();
        let pinned = read(r#"{"name":"a","inputSchema":{"type":"object","title":"t"},"_meta":{"x":1}}"#);
        let pin = ServerPin { identity: Hash::of(b""), tools: vec![pinned] };
        assert!(
            pin.compare(&[read(r#"{"inputSchema":{"title":"t","type":"object"},"name":"a"}"#)]).is_none()
        );
        assert!(
            !pin.compare(&[read(r#"{"inputSchema":{"title":"t\u200b","type":"object"},"name":"a"}"#)])
                .is_none()
        );
    }
}
