//! Every tool of a vault as clients see it.

use expect_test::expect_file;
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
    let tools = listed(ProtocolEra::New, &[]);
    assert_eq!(listed(ProtocolEra::Old, &[]), tools);
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
    for tool in listed(ProtocolEra::New, &[]) {
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
