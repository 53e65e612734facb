//! Tests that no input makes the checker panic, and that a plan with an error cannot run.

use plan::Severity;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use proptest::test_runner::Config;
use serde_json::{Value, json};

use super::{check, plan_files};

/// Checks the invariants of a report, whatever its plan is.
fn holds(text: &str) {
    let report = check(text);
    let errors = report.findings.iter().any(|finding| finding.severity == Severity::Error);
    assert_eq!(report.plan.is_none(), errors, "{text}");
    for finding in &report.findings {
        assert!(finding.hint.is_some(), "no hint: {finding}");
        // The lenient reader must detect everything that the strict reader would refuse.
        assert!(!finding.message.starts_with("the plan cannot be read"), "{finding}: {text}");
        assert!(finding.pointer.is_empty() || finding.pointer.starts_with('/'), "{finding}");
    }
}

/// Words that reach the special cases of the checker.
fn word() -> impl Strategy<Value = String> {
    let known = [
        "$steps.read.content",
        "$steps.parse.items[0].text",
        "$steps.create",
        "$vars.folder",
        "$item.text",
        "$item",
        "{item.text}",
        "{index}",
        "{{item.text}}",
        "${steps.read.path}",
        "$steps.",
        "$steps[\"read\"]",
        "{steps.read",
        "}}",
        "steps.read.content",
        "read",
        "parse",
        "create",
        "vault.readFile",
        "vault_createFile",
        "test.measure",
        "item",
        "steps",
        "vars",
        "<content>",
        "path/to/file",
        "$$",
        "$",
        "{",
        "writes",
        "retry",
        "skip",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        any::<String>(),
        "[$]?[{]{0,3}(steps|vars|item|index)([.][a-z]{1,4}|\\[[0-9]\\]){0,4}[}]{0,3}",
    ]
}

fn key() -> impl Strategy<Value = String> {
    let known = [
        "version",
        "goal",
        "riskLevel",
        "steps",
        "vars",
        "outputs",
        "defaults",
        "id",
        "tool",
        "args",
        "foreach",
        "from",
        "itemName",
        "indexName",
        "dependsOn",
        "captureAs",
        "onError",
        "retry",
        "path",
        "content",
        "text",
        "items",
    ];
    prop_oneof![4 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Replaces the `n`th node of a value, counted in reading order.
fn replace(value: &mut Value, n: &mut usize, with: &Value) -> bool {
    if *n == 0 {
        *value = with.clone();
        return true;
    }
    *n -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| replace(item, n, with)),
        Value::Object(map) => map.values_mut().any(|value| replace(value, n, with)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn any_text_gives_a_report(text in any::<String>()) {
        holds(&text);
    }

    #[test]
    fn any_bytes_that_are_text_give_a_report(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        holds(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_json_gives_a_report(value in json_value()) {
        holds(&value.to_string());
    }

    #[test]
    fn any_step_gives_a_report(args in json_value(), from in json_value(), word in word(), capture in word()) {
        let plan = json!({
            "version": "1.0", "goal": "g", "riskLevel": "writes", "vars": { "folder": "Notes" },
            "steps": [
                { "id": "read", "tool": "vault.readFile", "args": { "path": word }, "captureAs": capture },
                { "id": "parse", "tool": "util.parseMarkdownBullets", "args": { "text": "$steps.read.content" } },
                { "id": "create", "tool": "vault.createFile", "args": args,
                  "foreach": { "from": from, "itemName": "item" } },
            ],
        });
        holds(&plan.to_string());
    }

    #[test]
    fn a_good_plan_with_one_part_replaced_gives_a_report(n in 0_usize..60, with in json_value()) {
        let mut plan = plan_files::good("inbox_to_notes");
        let mut left = n;
        replace(&mut plan, &mut left, &with);
        holds(&plan.to_string());
    }

    #[test]
    fn a_good_plan_cut_off_anywhere_is_refused(share in 0.0_f64..0.99) {
        let text = plan_files::good("inbox_to_notes").to_string();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a short text")]
        let end = (text.len() as f64 * share) as usize;
        let cut: String = text.chars().take(end).collect();
        assert!(check(&cut).plan.is_none());
        holds(&cut);
    }

    #[test]
    fn a_literal_value_resolves_to_itself(value in json_value()) {
        let scope = plan::TemplateScope { item_name: Some("item"), index_name: Some("index"), ..Default::default() };
        let escaped = plan::literal(&value, &scope);
        let template = plan::Template::compile(&escaped, &scope, &mut Vec::new());
        assert_eq!(template, plan::Template::Literal(value));
    }
}
