//! Every tool of a vault as clients see it.

use expect_test::expect_file;
use receipts::preview::tokenizer::estimate;
use serde_json::{Value, json};

use crate::mcp::pipe::{McpPipe, ProtocolEra};
use crate::support::TestVault;

fn listed(era: ProtocolEra, args: &[&str]) -> Vec<Value> {
    let sandbox = TestVault::new();
    let mut pipe = McpPipe::open(&sandbox, era, args);
    let mut tools = Vec::new();
    let mut params = json!({});
    loop {
        let page = pipe.request("tools/list", params);
        tools.extend(page["tools"].as_array().unwrap().clone());
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        params = json!({ "cursor": cursor });
    }
    pipe.leave();
    tools
}

#[test]
fn names_titles_and_hints_are_as_written_down() {
    let tools = listed(ProtocolEra::New, &["--tools", "notes,commands,text,host,servers,plans"]);
    assert_eq!(listed(ProtocolEra::Old, &["--tools=notes,commands,text,host,servers,plans"]), tools);
    let mut told = String::new();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(name.len() <= 48 && name.chars().all(is_word) && !name.contains("__"), "{name}");
        let hints = &tool["annotations"];
        let hint = |word: &str, short| match hints[word].as_bool() {
            Some(true) => short,
            Some(false) => "-",
            None => panic!("{name} says nothing of {word}"),
        };
        told += &format!(
            "{name} | {} | {} {} {} {} | {}\n",
            tool["title"].as_str().unwrap(),
            hint("readOnlyHint", "reads"),
            hint("destructiveHint", "destructive"),
            hint("idempotentHint", "idempotent"),
            hint("openWorldHint", "open"),
            tool["description"].as_str().unwrap(),
        );
    }
    expect_file!["tools.txt"].assert_eq(&told);
}

#[test]
fn schemas_are_objects_whose_references_lead_somewhere() {
    for tool in listed(ProtocolEra::New, &["--output-schemas"]) {
        for which in ["inputSchema", "outputSchema"] {
            let schema = &tool[which];
            assert_eq!(schema["type"], "object", "{}", tool["name"]);
            let mut references = Vec::new();
            collect(schema, &mut references);
            for reference in references {
                let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference}"));
                assert!(schema.pointer(pointer).is_some(), "{} {which}: {reference}", tool["name"]);
            }
        }
    }
}

fn collect(schema: &Value, references: &mut Vec<String>) {
    match schema {
        Value::Object(words) => {
            references.extend(words.get("$ref").and_then(Value::as_str).map(str::to_owned));
            words.values().for_each(|value| collect(value, references));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn dots_and_text_only_are_a_matter_of_the_command_line() {
    let tools = listed(ProtocolEra::New, &["--dotted", "--text-only"]);
    assert!(tools.iter().any(|tool| tool["name"] == "vault.createFile"));
    assert!(tools.iter().all(|tool| tool.get("outputSchema").is_none()));
}

/// Tokens of the definitions as clients hand them to a model.
fn definition_tokens(tools: &[Value]) -> usize {
    let shown = |tool: &Value| {
        let mut shown = json!({
            "name": tool["name"],
            "description": tool["description"],
            "parameters": tool["inputSchema"],
        });
        if let Some(output) = tool.get("outputSchema") {
            shown["output"] = output.clone();
        }
        shown
    };
    tools.iter().map(|tool| estimate(&shown(tool).to_string())).sum()
}

#[test]
fn the_definitions_of_the_default_tools_cost_at_most_4000_tokens() {
    let tools = listed(ProtocolEra::New, &[]);
    let costs: Vec<_> = tools
        .iter()
        .map(|tool| (definition_tokens(std::slice::from_ref(tool)), tool["name"].to_string()))
        .collect();
    let sum = definition_tokens(&tools);
    assert!(sum <= 4_000, "{sum} tokens: {costs:?}");
    assert!(tools.iter().any(|tool| tool["name"] == "ExecCommand"));
    assert!(tools.iter().any(|tool| tool["name"] == "plan_run"));
}

#[test]
fn only_tools_that_can_be_used_are_listed() {
    let names = |args: &[&str], settings: &str| -> Vec<String> {
        let sandbox = TestVault::new();
        if !settings.is_empty() {
            sandbox.config(settings);
        }
        let mut pipe = McpPipe::open(&sandbox, ProtocolEra::New, args);
        let page = pipe.request("tools/list", json!({}));
        pipe.leave();
        page["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let has = |names: &[String], name: &str| names.iter().any(|other| other == name);
    let all = names(&[], "");
    assert!(has(&all, "vault_createFile") && has(&all, "ExecCommand") && !has(&all, "editor_getSelection"));
    let chosen = names(&["--tools", "commands,host"], "");
    assert!(
        !has(&chosen, "vault_createFile") && has(&chosen, "ExecCommand") && has(&chosen, "artifact_read")
    );
    assert!(has(&chosen, "editor_getSelection") && !has(&chosen, "plan_run"));
    let reading = names(&[], "mode = \"read-only\"\n");
    assert!(
        !has(&reading, "vault_createFile")
            && has(&reading, "vault_readFile")
            && !has(&reading, "ExecCommand")
    );
    let denied = names(&[], "[[rules]]\neffect = \"deny\"\ntools = [\"vault.delete\"]\n");
    assert!(!has(&denied, "vault_delete") && has(&denied, "vault_createFile"));
}
