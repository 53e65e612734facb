//! External tools are registered with their own schemas, and every name means one tool.
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use envelope::{Concurrency, Fault, Idempotency, ReceiptFamily, Risk, SideEffect, ToolDecl, ToolName};
use expect_test::expect;
use proptest::prelude::proptest;
use receipts::families::external;
use serde_json::{Value, json};
use toolkit::{BoxFuture, CancelToken, JsonTool, PathKeys, ProjectedResult, Projection, Registry, ToolCx};

struct Theirs(ToolDecl);

impl JsonTool for Theirs {
    fn decl(&self) -> &ToolDecl {
        &self.0
    }

    fn paths(&self, _args: &Value) -> PathKeys {
        PathKeys::default()
    }

    fn preview(&self, args: &Value) -> String {
        format!("Call with {args}")
    }

    fn run<'a>(&'a self, _cx: &'a ToolCx, args: Value) -> BoxFuture<'a, Result<Value, Fault>> {
        Box::pin(async move { Ok(json!({ "echo": args })) })
    }

    fn summary(&self, _output: &Value) -> String {
        "It answered".to_owned()
    }

    fn project(&self, output: &Value, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

pub(crate) fn theirs(name: &str, input_schema: Value) -> Arc<dyn JsonTool> {
    Arc::new(Theirs(ToolDecl {
        name: ToolName::parse(name).unwrap(),
        version: "1.0.0".to_owned(),
        summary: "the tool for everything".to_owned(),
        category: "mcp".to_owned(),
        family: ReceiptFamily::External,
        risk_level: Risk::Commands,
        side_effects: vec![SideEffect::RunCommand],
        availability: Vec::new(),
        concurrency: Concurrency::Parallel,
        idempotency: Idempotency::NotIdempotent,
        cancellable: true,
        timeout_ms: 1_000,
        input_schema,
        output_schema: json!(true),
    }))
}

#[tokio::test]
async fn a_schema_that_breaks_our_conventions_is_taken_and_enforced() {
    let mut registry = Registry::new();
    let loose =
        json!({"type": "object", "properties": {"Path_Name": {"type": "string"}}, "required": ["Path_Name"]});
    registry.register_json_tool(theirs("mcp.other.do-it", loose)).unwrap();
    let entry = registry.get("mcp_other_do_it").unwrap();
    assert_eq!(entry.input.validate(&json!({"Path_Name": "a", "more": 1})), []);
    assert_eq!(entry.input.validate(&json!({})).len(), 1);

    let args = entry.tool.decode(&json!({"Path_Name": "a"})).unwrap();
    assert_eq!(entry.tool.preview(&args), r#"Call with {"Path_Name":"a"}"#);
    let cx = ToolCx::new(envelope::CallId::parse("c").unwrap(), CancelToken::new(), None);
    let mapped = entry.tool.run(&cx, args).await.unwrap().map(Projection::new(200, None)).unwrap();
    assert_eq!(mapped.data, json!({"echo": {"Path_Name": "a"}}));
    expect![[r#"
        It answered
        echo: {Path_Name: a}"#]]
    .assert_eq(&mapped.receipt);
}

#[test]
fn a_schema_that_leads_outside_is_refused_and_the_others_stay() {
    let mut registry = Registry::new();
    registry.register_json_tool(theirs("mcp.other.good", json!({"type": "object"}))).unwrap();
    let outside = json!({"$ref": "http://127.0.0.1:9/schema.json"});
    let refused = registry.register_json_tool(theirs("mcp.other.bad", outside)).unwrap_err();
    expect![[r#"
        `mcp.other.bad` cannot be registered:
        - input: `/$ref` refers to `http://127.0.0.1:9/schema.json`, outside this schema; copy what it names under `$defs` and write `#/$defs/<name>`"#]]
    .assert_eq(&refused.to_string());
    assert!(registry.get("mcp.other.good").is_some() && registry.get("mcp.other.bad").is_none());
}

proptest! {
    /// Names consist of few letters, so that they collide.
    #[test]
    fn every_spelling_means_one_tool(names in proptest::collection::hash_set("mcp\\.[ab]{1,2}[._-][ab_-]{1,3}(x{50})?", 1..30)) {
        let mut registry = Registry::new();
        for name in &names {
            registry.register_json_tool(theirs(name, json!({"type": "object"}))).unwrap();
        }
        let aliases: HashMap<&str, &str> =
            registry.iter().map(|entry| (entry.alias(), entry.decl.name.as_str())).collect();
        assert_eq!(aliases.len(), names.len());
        for (alias, name) in &aliases {
            assert!((1..=48).contains(&alias.len()), "{alias}");
            assert!(alias.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{alias}");
            assert_eq!(registry.get(alias).unwrap().decl.name.as_str(), *name);
            assert_eq!(registry.get(name).unwrap().alias(), *alias);
        }
        let known: HashSet<&str> = aliases.values().copied().collect();
        assert!(names.iter().all(|name| known.contains(name.as_str())));
    }
}
