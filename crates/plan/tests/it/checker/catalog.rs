//! A few tools like the real ones, with hand-written schemas.

use std::sync::LazyLock;

use envelope::{Concurrency, Idempotency, Risk, SchemaProblem, ToolCatalog, ToolDecl, ToolName};
use serde_json::{Value, json};

use super::validator;

pub(crate) struct Tools(Vec<ToolDecl>);

pub(crate) fn shared() -> &'static Tools {
    static TOOLS: LazyLock<Tools> = LazyLock::new(|| Tools(tools()));
    &TOOLS
}

impl ToolCatalog for Tools {
    fn tool(&self, name: &str) -> Option<&ToolDecl> {
        self.0.iter().find(|tool| tool.name.as_str() == name || tool.alias() == name)
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|tool| tool.name.as_str()).collect()
    }

    fn blocked(&self, name: &str) -> Option<String> {
        (self.tool(name)?.name.as_str() == "vault.delete").then(|| "the settings forbid deleting".to_owned())
    }

    fn check_input(&self, name: &str, args: &Value) -> Vec<SchemaProblem> {
        self.tool(name).map(|tool| validator::check(&tool.input_schema, args)).unwrap_or_default()
    }
}

fn tool(name: &str, risk_level: Risk, input_schema: Value, output_schema: Value) -> ToolDecl {
    ToolDecl {
        name: ToolName::parse(name).unwrap(),
        version: "1.0.0".to_owned(),
        summary: "Does what its name says".to_owned(),
        category: name.split('.').next().unwrap_or_default().to_owned(),
        family: envelope::ReceiptFamily::External,
        risk_level,
        side_effects: Vec::new(),
        availability: Vec::new(),
        concurrency: Concurrency::Parallel,
        idempotency: Idempotency::Idempotent,
        cancellable: true,
        timeout_ms: 30_000,
        input_schema,
        output_schema,
    }
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn tools() -> Vec<ToolDecl> {
    let mut tools = vault_tools();
    tools.extend(other_tools());
    tools
}

fn vault_tools() -> Vec<ToolDecl> {
    let entry = object(
        &json!({
            "path": { "type": "string" },
            "kind": { "enum": ["file", "folder"] },
            "sizeBytes": { "type": "integer" },
            "mtimeMs": { "type": "integer" }
        }),
        &["path", "kind"],
    );
    let mut listing = object(
        &json!({
            "items": { "type": "array", "items": { "$ref": "#/$defs/FileEntry" } },
            "nextOffset": { "type": "integer" },
            "truncated": { "type": "boolean" }
        }),
        &["items", "truncated"],
    );
    listing["$defs"] = json!({ "FileEntry": entry });
    vec![
        tool(
            "vault.readFile",
            Risk::ReadOnly,
            object(
                &json!({
                    "path": { "type": "string", "minLength": 1 },
                    "maxBytes": { "type": ["integer", "null"], "minimum": 1 },
                    "as": { "enum": ["text", "base64"] }
                }),
                &["path"],
            ),
            object(
                &json!({
                    "path": { "type": "string" },
                    "content": { "type": "string" },
                    "etag": { "type": "string" },
                    "mtimeMs": { "type": "integer" },
                    "truncated": { "type": "boolean" }
                }),
                &["path", "content", "truncated"],
            ),
        ),
        tool(
            "vault.listFiles",
            Risk::ReadOnly,
            object(
                &json!({
                    "prefix": { "type": "string" },
                    "recursive": { "type": "boolean" },
                    "extensions": { "type": "array", "items": { "type": "string" } },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 10000 }
                }),
                &[],
            ),
            listing,
        ),
        tool(
            "vault.ensureFolder",
            Risk::Writes,
            object(&json!({ "path": { "type": "string", "minLength": 1 } }), &["path"]),
            object(
                &json!({ "path": { "type": "string" }, "created": { "type": "boolean" } }),
                &["path", "created"],
            ),
        ),
        tool(
            "vault.createFile",
            Risk::Writes,
            object(
                &json!({
                    "path": { "type": "string", "minLength": 1 },
                    "content": { "type": "string" },
                    "ifNotExists": { "type": "boolean" },
                    "collisionStrategy": { "enum": ["error", "create-unique", "overwrite"] },
                    "frontmatter": { "type": "object" }
                }),
                &["path", "content"],
            ),
            object(
                &json!({
                    "path": { "type": "string" },
                    "created": { "type": "boolean" },
                    "etag": { "type": "string" },
                    "mtimeMs": { "type": "integer" }
                }),
                &["path", "created"],
            ),
        ),
        tool(
            "vault.delete",
            Risk::Writes,
            object(&json!({ "path": { "type": "string" } }), &["path"]),
            object(&json!({ "deleted": { "type": "boolean" } }), &["deleted"]),
        ),
    ]
}

fn other_tools() -> Vec<ToolDecl> {
    let bullet = object(
        &json!({ "text": { "type": "string" }, "raw": { "type": "string" }, "depth": { "type": "integer" } }),
        &["text", "raw", "depth"],
    );
    let node = object(
        &json!({ "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } } }),
        &["name", "children"],
    );
    let point = object(&json!({ "x": { "type": "number" }, "y": { "type": "number" } }), &["x", "y"]);
    let mut measured = object(
        &json!({
            "total": { "type": "integer" },
            "ratio": { "type": "number" },
            "mode": { "enum": ["fast", "slow"] },
            "tags": { "type": "array", "items": { "type": "string" } },
            "label": { "type": ["string", "null"] },
            "best": { "anyOf": [{ "$ref": "#/$defs/Point" }, { "type": "null" }] },
            "points": { "type": "array", "items": { "$ref": "#/$defs/Point" } },
            "tree": { "$ref": "#/$defs/Node" },
            "extra": { "type": "object", "additionalProperties": { "type": "integer" } }
        }),
        &["total", "ratio", "mode", "tags", "label", "best", "points", "tree", "extra"],
    );
    measured["$defs"] = json!({ "Point": point, "Node": node });
    vec![
        tool(
            "util.parseMarkdownBullets",
            Risk::ReadOnly,
            object(&json!({ "text": { "type": "string" }, "allowNested": { "type": "boolean" } }), &["text"]),
            object(
                &json!({ "items": { "type": "array", "items": bullet }, "count": { "type": "integer" } }),
                &["items", "count"],
            ),
        ),
        tool(
            "util.slugifyTitle",
            Risk::ReadOnly,
            object(
                &json!({ "title": { "type": "string" }, "maxLength": { "type": "integer", "minimum": 1 } }),
                &["title"],
            ),
            object(&json!({ "slug": { "type": "string" } }), &["slug"]),
        ),
        tool(
            "test.measure",
            Risk::ReadOnly,
            object(
                &json!({
                    "count": { "type": "integer", "minimum": 1, "maximum": 100 },
                    "ratio": { "type": "number" },
                    "mode": { "enum": ["fast", "slow"] },
                    "tags": { "type": "array", "items": { "type": "string" } },
                    "point": point,
                    "target": {
                        "anyOf": [
                            { "type": "string" },
                            object(&json!({ "path": { "type": "string" }, "line": { "type": "integer" } }), &["path"])
                        ]
                    },
                    "flag": { "type": "boolean" },
                    "anything": true
                }),
                &[],
            ),
            measured,
        ),
        tool(
            "commands.run",
            Risk::Commands,
            object(&json!({ "commandId": { "type": "string" } }), &["commandId"]),
            object(&json!({ "ran": { "type": "boolean" } }), &["ran"]),
        ),
    ]
}
