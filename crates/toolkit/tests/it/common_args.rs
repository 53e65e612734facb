//! `note` and `requestId`: every tool takes them, and none receives them unless they are its own.

use std::sync::Arc;

use envelope::{Fault, Idempotency, Risk, SideEffect, ToolCatalog};
use expect_test::expect;
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::{
    CancelToken, JsonTool, ProjectedResult, Projection, RegisteredTool, Registry, Surface, SurfaceRules,
    Tool, ToolCx,
};

use crate::foreign::theirs;

/// A tool with strict arguments.
struct Strict;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// What to repeat.
    text: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    text: String,
}

impl Tool for Strict {
    const NAME: &'static str = "test.strict";
    const SUMMARY: &'static str = "Repeat a text.";
    const CATEGORY: &'static str = "test";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    type Args = Args;
    type Output = Output;

    fn preview(&self, args: &Args) -> String {
        format!("Repeat {}", args.text)
    }

    async fn run(&self, _cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        Ok(Output { text: args.text })
    }

    fn summary(&self, output: &Output) -> String {
        output.text.clone()
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

fn strict() -> Registry {
    let mut registry = Registry::new();
    registry.register(Strict).unwrap();
    registry
}

fn foreign(input_schema: Value) -> Arc<RegisteredTool> {
    let mut registry = Registry::new();
    let tool: Arc<dyn JsonTool> = theirs("mcp.other.tool", input_schema);
    registry.register_json_tool(tool).unwrap();
    registry.get("mcp.other.tool").unwrap().clone()
}

/// Returns what the tool receives.
async fn received(entry: &RegisteredTool, args: &Value) -> Value {
    assert_eq!(entry.check_args(args), []);
    let decoded = entry.tool.decode(args).unwrap();
    let cx = ToolCx::new(envelope::CallId::parse("c").unwrap(), CancelToken::new(), None);
    entry.tool.run(&cx, decoded).await.unwrap().map(Projection::new(200, None)).unwrap().data
}

// Conformance: tool 1.3
#[tokio::test]
async fn a_strict_tool_takes_both_and_receives_neither() {
    let registry = strict();
    let entry = registry.get("test.strict").unwrap();
    let args = json!({ "text": "a", "note": "for the report", "requestId": "r-1" });
    assert_eq!(received(entry, &args).await, json!({ "text": "a" }));
    assert_eq!((entry.note(&args), entry.request_id(&args)), (Some("for the report"), Some("r-1")));
    let declared = serde_json::to_string(&entry.decl.input_schema).unwrap();
    assert!(!declared.contains("requestId"), "published schemas stay short: {declared}");
}

#[test]
fn they_are_texts_of_a_bounded_length() {
    let registry = strict();
    let surface = Surface::new(&registry, &std::collections::BTreeSet::new(), &SurfaceRules::default());
    let args = json!({ "text": "a", "note": 7, "requestId": "x".repeat(201), "nte": "b" });
    let problems = surface.check_input("test.strict", &args);
    let told: Vec<String> = problems
        .iter()
        .map(|problem| format!("{} {} ({:?})", problem.pointer, problem.message, problem.hint))
        .collect();
    expect![[r#"
         unknown field `nte` (Some("known fields: `text`"))
        /note expected a string of at most 1000 characters, found the number 7 (Some("`note` is a remark for people, shown in the question and the record; every tool takes it, and it can be left out"))
        /requestId expected a string of at most 200 characters, found 201 characters (Some("`requestId` is the id of the call in your own records; every tool takes it, and it can be left out"))"#]]
    .assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn a_tool_of_another_server_keeps_fields_that_its_schema_accepts() {
    let args = json!({ "note": "theirs", "requestId": "theirs too" });
    let none = json!({});
    for (schema, kept) in [
        (json!({ "type": "object" }), args.clone()),
        (json!({ "type": "object", "additionalProperties": { "type": "string" } }), args.clone()),
        (
            json!({ "type": "object", "additionalProperties": false, "patternProperties": { "^[a-zI]+$": {} } }),
            args.clone(),
        ),
        (
            json!({ "type": "object", "additionalProperties": false, "properties": { "note": { "type": "string" } } }),
            json!({ "note": "theirs" }),
        ),
        (json!({ "type": "object", "additionalProperties": false, "properties": {} }), none),
    ] {
        let entry = foreign(schema.clone());
        assert_eq!(received(&entry, &args).await, json!({ "echo": kept }), "{schema}");
        let keeps_note = kept.get("note").is_some();
        assert_eq!(entry.note(&args), (!keeps_note).then_some("theirs"), "{schema}");
    }
}
