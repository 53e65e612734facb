//! One tool as a server declares it: everything that the model sees and that defines what a call means.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest tool name on the wire.
const MAX_NAME: usize = 128;
/// Longest text about one tool that a model should have to read.
const MAX_TEXT: usize = 32 * 1024;

/// A declaration as it is pinned. Icons and metadata are left out, because this crate does not use them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolDeclaration {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub input_schema: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
}

/// A list entry that is not a valid tool, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidDeclaration {
    pub name: String,
    pub why: String,
}

impl ToolDeclaration {
    /// Parses one entry of a list of tools.
    pub fn parse(entry: &Value) -> Result<ToolDeclaration, InvalidDeclaration> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        let name = text("name").unwrap_or_default();
        let refuse = |why: &str| Err(InvalidDeclaration { name: name.clone(), why: why.to_owned() });
        if name.is_empty() {
            return refuse("it has no name");
        }
        if name.len() > MAX_NAME {
            return refuse("its name is longer than 128 bytes");
        }
        let described = [text("title"), text("description")];
        if described.iter().flatten().any(|text| text.len() > MAX_TEXT) {
            return refuse("its description is longer than 32 KiB");
        }
        let Some(input_schema) = entry.get("inputSchema").filter(|schema| schema.is_object()) else {
            return refuse("its inputSchema is not an object");
        };
        let output_schema = entry.get("outputSchema").filter(|schema| !schema.is_null()).cloned();
        let annotations = entry.get("annotations").filter(|hints| !hints.is_null()).cloned();
        let [title, description] = described;
        Ok(ToolDeclaration {
            name,
            title,
            description,
            input_schema: input_schema.clone(),
            output_schema,
            annotations,
        })
    }

    /// Returns an annotation of the tool. Annotations are hints and cannot be relied on.
    pub(crate) fn hint(&self, name: &str) -> Option<bool> {
        self.annotations.as_ref()?.get(name)?.as_bool()
    }
}
