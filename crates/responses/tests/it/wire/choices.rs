//! `tool_choice` in every form.

use expect_test::expect;
use responses::tools::ToolChoice;
use serde_json::{Value, json};

use crate::wire::reading::{all_refused, read, with};

fn body(choice: &Value) -> Value {
    with(json!({
        "tools": [
            { "type": "function", "name": "a" },
            { "type": "function", "name": "b.c" },
            { "type": "custom", "name": "sql" },
            { "type": "namespace", "name": "n", "tools": [
                { "type": "function", "name": "a" }, { "type": "function", "name": "x" },
            ] },
            { "type": "namespace", "name": "o", "tools": [{ "type": "function", "name": "x" }] },
            { "type": "web_search" },
        ],
        "tool_choice": choice,
    }))
}

#[track_caller]
fn choice(choice: &Value) -> ToolChoice {
    let request = read(&body(choice));
    assert_eq!(&request.echoed_choice, choice);
    request.choice
}

fn one(name: &str) -> ToolChoice {
    ToolChoice::Tool(name.to_owned())
}

fn allowed(names: &[&str], required: bool) -> ToolChoice {
    ToolChoice::Allowed { names: names.iter().map(|name| (*name).to_owned()).collect(), required }
}

#[test]
fn a_word_is_a_choice_and_no_word_is_auto() {
    assert_eq!(choice(&json!("auto")), ToolChoice::Auto);
    assert_eq!(choice(&json!("none")), ToolChoice::None);
    assert_eq!(choice(&json!("required")), ToolChoice::Required);
    let absent = read(&with(json!({})));
    assert_eq!((absent.choice, absent.echoed_choice), (ToolChoice::Auto, json!("auto")));
}

#[test]
fn one_tool_is_chosen_by_the_name_that_the_model_sees() {
    assert_eq!(choice(&json!({ "type": "function", "name": "a" })), one("a"));
    assert_eq!(choice(&json!({ "type": "function", "function": { "name": "a" } })), one("a"));
    assert_eq!(choice(&json!({ "type": "function", "name": "b.c" })), one("b_c"));
    assert_eq!(choice(&json!({ "type": "custom", "name": "sql" })), one("sql"));
    assert_eq!(choice(&json!({ "type": "function", "name": "a", "namespace": "n" })), one("n__a"));
}

#[test]
fn some_tools_are_allowed() {
    let function = |name: &str| json!({ "type": "function", "name": name });
    assert_eq!(
        choice(&json!({ "type": "allowed_tools", "mode": "required", "tools": [function("a")] })),
        allowed(&["a"], true)
    );
    assert_eq!(
        choice(&json!({ "type": "allowed_tools", "mode": "auto", "tools": [
            function("b.c"), { "type": "custom", "name": "sql" }, { "type": "namespace", "name": "n" },
        ] })),
        allowed(&["b_c", "sql", "n__a", "n__x"], false)
    );
    assert_eq!(
        choice(
            &json!({ "type": "allowed_tools", "allowed_tools": { "mode": "auto", "tools": [function("a")] } })
        ),
        allowed(&["a"], false)
    );
    let hosted = json!({ "type": "allowed_tools", "mode": "auto", "tools": [{ "type": "web_search" }] });
    let hosted = read(&body(&hosted));
    assert_eq!(hosted.choice, allowed(&[], false));
    assert_eq!(hosted.ignored, ["tools[5].web_search", "tool_choice.tools[0].web_search"]);
}

// Conformance: proxy 2.1
#[test]
fn a_choice_that_cannot_be_met_is_refused() {
    expect![[r#"
        invalid_value tool_choice: `tool_choice` must be one of "auto", "none", "required", or an object that names tools, and is "any"
        invalid_type tool_choice: `tool_choice` must be one of "auto", "none", "required", or an object that names tools, and is a boolean
        missing_required_parameter tool_choice.type: `tool_choice.type` is missing; it must be a string
        invalid_value tool_choice.type: `tool_choice.type` must be one of "function", "custom", "allowed_tools", and is "tool"
        missing_required_parameter tool_choice.name: `tool_choice.name` is missing; it must be a string
        unknown_tool tool_choice: `tool_choice` names "z", which is not among `tools`; add the tool or choose one that is there
        unknown_tool tool_choice: `tool_choice` names "sql", which is not among `tools`; add the tool or choose one that is there
        invalid_value tool_choice: `tool_choice` names `x`, which several namespaces have; add `namespace`
        unsupported_parameter tool_choice: `tool_choice` is not supported here; `web_search` is a tool that this server does not run; choose a function of yours, or "auto"
        missing_required_parameter tool_choice.tools: `tool_choice.tools` is missing; it must be an array of tools
        invalid_value tool_choice.mode: `tool_choice.mode` must be one of "auto", "required", and is "always"
        unknown_tool tool_choice.tools[1]: `tool_choice.tools[1]` names "z", which is not among `tools`; add the tool or choose one that is there
        invalid_value tool_choice.tools: `tool_choice.tools` must be a list of tools that the model can call, and is without one
        invalid_value tool_choice: `tool_choice` requires a call, and `tools` has no tool that the model could call
    "#]].assert_eq(&all_refused(&[
        body(&json!("any")),
        body(&json!(true)),
        body(&json!({ "name": "a" })),
        body(&json!({ "type": "tool", "name": "a" })),
        body(&json!({ "type": "function" })),
        body(&json!({ "type": "function", "name": "z" })),
        body(&json!({ "type": "function", "name": "sql" })),
        body(&json!({ "type": "function", "name": "x" })),
        body(&json!({ "type": "web_search" })),
        body(&json!({ "type": "allowed_tools", "mode": "auto" })),
        body(&json!({ "type": "allowed_tools", "mode": "always", "tools": [] })),
        body(&json!({ "type": "allowed_tools", "mode": "auto", "tools": [
            { "type": "function", "name": "a" }, { "type": "function", "name": "z" },
        ] })),
        body(&json!({ "type": "allowed_tools", "mode": "required", "tools": [{ "type": "web_search" }] })),
        with(json!({ "tools": [{ "type": "web_search" }], "tool_choice": "required" })),
    ]));
}

#[test]
fn a_server_side_tool_can_be_chosen_by_its_name() {
    let body = |tool: Value| {
        with(json!({ "tools": [tool], "tool_choice": { "type": "function", "name": "vault.readFile" } }))
    };
    assert_eq!(read(&body(json!({ "type": "tollgate" }))).choice, one("vault.readFile"));
    assert_eq!(
        read(&body(json!({ "type": "tollgate", "names": ["vault.readFile"] }))).choice,
        one("vault.readFile")
    );
    expect![[r#"
        unknown_tool tool_choice: `tool_choice` names "vault.readFile", which is not among `tools`; add the tool or choose one that is there
    "#]].assert_eq(&all_refused(&[body(json!({ "type": "tollgate", "names": ["vault.search"] }))]));
}
