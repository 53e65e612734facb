//! Name collisions, hidden tools, and the errors of calls to them.

use std::collections::BTreeSet;

use envelope::{Fault, Idempotency, Requirement, Risk, SideEffect, ToolCatalog};
use expect_test::{Expect, expect};
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolkit::{ProjectedResult, Projection, Registry, Surface, SurfaceRules, Tool, ToolCx, ToolVisibility};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The note.
    #[allow(dead_code, reason = "these tools are declared, not run")]
    path: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    path: String,
}

macro_rules! tool {
    ($type:ident, $name:literal, $version:literal, $requires:expr) => {
        struct $type;
        impl Tool for $type {
            const NAME: &'static str = $name;
            const VERSION: &'static str = $version;
            const SUMMARY: &'static str = "Look at a note.";
            const CATEGORY: &'static str = "vault";
            const RISK: Risk = Risk::ReadOnly;
            const SIDE_EFFECTS: &'static [SideEffect] = &[];
            const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
            const REQUIRES: &'static [Requirement] = $requires;
            type Args = Args;
            type Output = Output;
            fn preview(&self, _: &Args) -> String {
                String::new()
            }
            async fn run(&self, _: &ToolCx, _: Args) -> Result<Output, Fault> {
                Ok(Output { path: String::new() })
            }
            fn summary(&self, _: &Output) -> String {
                String::new()
            }

            fn project(
                &self,
                output: &Self::Output,
                with: &mut Projection<'_>,
            ) -> Result<ProjectedResult, Fault> {
                external::project(output, with)
            }
        }
    };
}

tool!(ReadFile, "vault.readFile", "1.0.0", &[Requirement::Vault]);
tool!(ReadFileChanged, "vault.readFile", "1.1.0", &[Requirement::Vault]);
tool!(ListFiles, "vault.listFiles", "1.0.0", &[]);
tool!(Selection, "editor.getSelection", "1.0.0", &[Requirement::Host, Requirement::Server]);
tool!(SameAlias, "vault_readFile", "1.0.0", &[]);
tool!(FirstSplit, "a.b_c", "1.0.0", &[]);
tool!(SecondSplit, "a_b.c", "1.0.0", &[]);
tool!(BadName, "vault/read", "1.0", &[]);
tool!(BadVersion, "vault.read", "1.0", &[]);

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register(ReadFile).unwrap();
    registry.register(Selection).unwrap();
    registry.register(ListFiles).unwrap();
    registry
}

fn surface(rules: &SurfaceRules) -> Surface {
    Surface::new(&registry(), &BTreeSet::from([Requirement::Vault]), rules)
}

#[track_caller]
fn check(surface: &Surface, name: &str, expect: Expect) {
    let answer = match surface.resolve(name) {
        Ok(entry) => format!("{} {}", entry.decl.name, entry.decl.version),
        Err(fault) => format!("{:?}: {} ({})", fault.failure, fault.message, fault.recovery_hint()),
    };
    expect.assert_eq(&answer);
}

#[test]
fn one_spelling_means_one_tool() {
    let mut registry = registry();
    let refused = [
        registry.register(ReadFileChanged).unwrap_err(),
        registry.register(SameAlias).unwrap_err(),
        registry.register(BadName).unwrap_err(),
        registry.register(BadVersion).unwrap_err(),
    ];
    registry.register(FirstSplit).unwrap();
    let split = registry.register(SecondSplit).unwrap_err();
    let told: Vec<String> = refused.iter().chain([&split]).map(ToString::to_string).collect();
    expect![[r#"
        `vault.readFile` cannot be registered:
        - name: `vault.readFile` is registered already
        `vault_readFile` cannot be registered:
        - name: `vault_readFile` would also mean `vault.readFile`; without dots both are `vault_readFile`
        `vault/read` cannot be registered:
        - name: `vault/read` is not a tool name: use words of letters, digits, `_` or `-`, joined by single dots, such as `vault.readFile`
        `vault.read` cannot be registered:
        - version: write `1.0` as three numbers, such as `1.0.0`
        `a_b.c` cannot be registered:
        - name: `a_b_c` would also mean `a.b_c`; without dots both are `a_b_c`"#]].assert_eq(&told.join("\n"));
    let names: Vec<&str> = registry.iter().map(|entry| entry.decl.name.as_str()).collect();
    assert_eq!(names, ["a.b_c", "editor.getSelection", "vault.listFiles", "vault.readFile"]);
    assert_eq!(registry.get("a_b_c").unwrap().decl.name.as_str(), "a.b_c");
}

#[test]
fn the_version_changes_with_any_tool_and_not_with_the_order() {
    let version = registry().version();
    expect!["1.0+b3:8c2883eddbe2b0e6"].assert_eq(&version);
    let mut other_order = Registry::new();
    other_order.register(ListFiles).unwrap();
    other_order.register(ReadFile).unwrap();
    assert_ne!(other_order.version(), version);
    other_order.register(Selection).unwrap();
    assert_eq!(other_order.version(), version);
    let mut changed = Registry::new();
    changed.register(ListFiles).unwrap();
    changed.register(ReadFileChanged).unwrap();
    changed.register(Selection).unwrap();
    assert_ne!(changed.version(), version);
}

#[test]
fn a_published_schema_says_that_nothing_is_required() {
    let registry = registry();
    let schema = &registry.get("vault.listFiles").unwrap().decl.input_schema;
    assert_eq!(schema["required"], json!([]));
}

#[test]
fn a_tool_is_found_by_both_spellings_or_the_way_out_is_told() {
    let surface = surface(&SurfaceRules {
        blocked: vec![("vault_listFiles".to_owned(), "the policy of this folder".to_owned())],
        deferred: BTreeSet::new(),
    });
    check(&surface, "vault.readFile", expect!["vault.readFile 1.0.0"]);
    check(&surface, "vault_readFile", expect!["vault.readFile 1.0.0"]);
    check(
        &surface,
        "vault.readfile",
        expect!["UnknownTool: no tool is named `vault.readfile` (did you mean `vault.readFile`?)"],
    );
    check(
        &surface,
        "vault.raedFiles",
        expect!["UnknownTool: no tool is named `vault.raedFiles` (did you mean `vault.readFile`?)"],
    );
    check(
        &surface,
        "zzz\u{1b}[31m",
        expect![[
            r#"UnknownTool: no tool is named `zzz\u{1b}[31m` (call one of the tools that this run lists)"#
        ]],
    );
    check(
        &surface,
        "vault.listFiles",
        expect![
            "BlockedTool: `vault.listFiles` cannot be used in this run: the policy of this folder (use another tool, or ask the user to allow this one)"
        ],
    );
    check(
        &surface,
        "editor.getSelection",
        expect![
            "BlockedTool: `editor.getSelection` cannot be used in this run: it needs a running application and the server it belongs to, which this run does not have (use another tool, or ask the user to allow this one)"
        ],
    );
}

#[test]
fn a_deferred_tool_is_callable_once_it_is_loaded_and_a_blocked_one_never() {
    let surface = surface(&SurfaceRules {
        blocked: vec![("vault.listFiles".to_owned(), "no".to_owned())],
        deferred: BTreeSet::from(["vault_readFile".to_owned(), "vault.listFiles".to_owned()]),
    });
    check(
        &surface,
        "vault.readFile",
        expect![
            "SchemaNotLoaded: `vault.readFile` cannot be used in this run: its schema has not been loaded (load the schema of `vault.readFile`, then call it again)"
        ],
    );
    assert!(surface.blocked("vault.readFile").is_some());
    surface.load("vault_readFile").unwrap();
    check(&surface, "vault.readFile", expect!["vault.readFile 1.0.0"]);
    assert_eq!(surface.blocked("vault.readFile"), None);
    assert!(surface.load("vault.listFiles").is_err());
    assert!(surface.load("nope").is_err());
}

#[test]
fn a_plan_is_checked_against_what_a_call_would_meet() {
    let surface = surface(&SurfaceRules::default());
    assert_eq!(surface.version(), registry().version());
    assert_eq!(surface.names(), ["vault.listFiles", "vault.readFile"]);
    assert_eq!(surface.tool("vault_readFile").unwrap().name.as_str(), "vault.readFile");
    assert_eq!(surface.check_input("vault_readFile", &json!({"path": "A.md"})), []);
    assert_eq!(surface.check_input("vault_readFile", &json!({"path": 3})).len(), 1);
    let states: Vec<(&str, ToolVisibility)> =
        surface.iter().map(|(entry, state)| (entry.decl.name.as_str(), state)).collect();
    expect![[r#"
        [
            (
                "editor.getSelection",
                Blocked {
                    reason: "it needs a running application and the server it belongs to, which this run does not have",
                },
            ),
            (
                "vault.listFiles",
                Loaded,
            ),
            (
                "vault.readFile",
                Loaded,
            ),
        ]"#]]
    .assert_eq(&format!("{states:#?}"));
}
