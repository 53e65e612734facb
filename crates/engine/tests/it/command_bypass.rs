//! Attempts to get a command past the rules, as data: the rule, the call, and the decision of the real engine.
//!
//! `allow.json` has calls that do more than the words of an allow rule, in mode `ask`. `deny.json` has calls that
//! reach a denied program by another way, in mode `trusted`. Each group also has harmless calls that must run, so
//! that an engine which refuses everything does not pass.
//!
//! A call is a text for a shell, the words of a program, or the arguments of the tool.

use crate::support::{Build, ScriptedApprover, TestEngine};
use engine::{Mode, Policy, Rule};
use envelope::Failure;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Runs,
    Asks,
    Denies,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowGroup {
    rule: Rule,
    allowed: Vec<Value>,
    asked: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DenyGroup {
    rule: Rule,
    denied: Vec<Value>,
    asked: Vec<Value>,
    runs: Vec<Value>,
}

/// Programs that a denied one can be replaced by, and files that hold it. README names them as what a deny rule
/// cannot prevent.
const OUT_OF_REACH: [&str; 7] = [
    "unlink x",
    "find build -delete",
    "git clean -f",
    "truncate -s 0 x",
    "python3 clean.py",
    "npm test",
    "mv x /tmp",
];

fn test_engine(mode: Mode, rules: Vec<Rule>) -> TestEngine {
    let policy = Policy { mode, rules, ..Policy::cautious() };
    Build { policy, approver: ScriptedApprover::no(), ..Build::default() }.test_engine()
}

async fn decide(test_engine: &TestEngine, call: &Value) -> Decision {
    let args = match call {
        Value::String(cmd) => json!({ "cmd": cmd }),
        Value::Array(argv) => json!({ "argv": argv }),
        args @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => args.clone(),
    };
    let result = test_engine.call("test.exec", args).await;
    match result.error.and_then(|error| error.kind) {
        None => Decision::Runs,
        Some(Failure::ApprovalRejected) => Decision::Asks,
        Some(Failure::PermissionDenied) => Decision::Denies,
        Some(other) => panic!("{call}: {other:?}"),
    }
}

/// Collects all surprises, so that one run shows every one of them.
async fn compare(test_engine: &TestEngine, calls: &[Value], expected: Decision, surprises: &mut Vec<String>) {
    for call in calls {
        let decision = decide(test_engine, call).await;
        if decision != expected {
            surprises.push(format!("{call}: {decision:?} instead of {expected:?}"));
        }
    }
}

#[tokio::test]
async fn no_call_passes_an_allow_rule_that_does_more_than_its_words() {
    let groups: Vec<AllowGroup> = serde_json::from_str(include_str!("command_bypass/allow.json")).unwrap();
    let mut surprises = Vec::new();
    for group in &groups {
        let test_engine = test_engine(Mode::Ask, vec![group.rule.clone()]);
        compare(&test_engine, &group.allowed, Decision::Runs, &mut surprises).await;
        compare(&test_engine, &group.asked, Decision::Asks, &mut surprises).await;
        assert_eq!(test_engine.work.begun().len(), group.allowed.len(), "{:?}", group.rule.command);
    }
    assert_eq!(surprises, Vec::<String>::new());
    let attempts: usize = groups.iter().map(|group| group.asked.len()).sum();
    assert!(attempts >= 150, "{attempts} attempts");
}

#[tokio::test]
async fn rules_that_allow_do_not_add_up_to_more_than_each_of_them() {
    let groups: Vec<AllowGroup> = serde_json::from_str(include_str!("command_bypass/allow.json")).unwrap();
    let test_engine = test_engine(Mode::Ask, groups.iter().map(|group| group.rule.clone()).collect());
    let mut covered = Vec::new();
    for call in groups.iter().flat_map(|group| &group.asked) {
        if decide(&test_engine, call).await == Decision::Runs {
            covered.push(call.clone());
        }
    }
    // `make site` and `touch *` have rules of their own.
    let others = [
        json!({ "argv": ["make", "site"] }),
        json!("ls; touch x"),
        json!("ls && touch x"),
        json!("ls\ntouch x"),
    ];
    assert_eq!(covered, others);
}

#[tokio::test]
async fn no_other_way_leads_to_a_denied_program_unasked() {
    let groups: Vec<DenyGroup> = serde_json::from_str(include_str!("command_bypass/deny.json")).unwrap();
    let mut surprises = Vec::new();
    for group in &groups {
        let test_engine = test_engine(Mode::Trusted, vec![group.rule.clone()]);
        compare(&test_engine, &group.denied, Decision::Denies, &mut surprises).await;
        compare(&test_engine, &group.asked, Decision::Asks, &mut surprises).await;
        compare(&test_engine, &group.runs, Decision::Runs, &mut surprises).await;
        assert_eq!(test_engine.work.begun().len(), group.runs.len(), "{:?}", group.rule.command);
    }
    assert_eq!(surprises, Vec::<String>::new());
    let attempts: usize = groups.iter().map(|group| group.denied.len() + group.asked.len()).sum();
    assert!(attempts >= 100, "{attempts} attempts");
}

#[tokio::test]
async fn a_deny_rule_does_not_know_other_programs_with_the_same_effect() {
    let deny = json!({ "effect": "deny", "command": ["rm"], "match": ["rm x"], "not_match": ["ls"] });
    let test_engine = test_engine(Mode::Trusted, vec![serde_json::from_value(deny).unwrap()]);
    for text in OUT_OF_REACH {
        assert_eq!(decide(&test_engine, &json!(text)).await, Decision::Runs, "{text}");
    }
}
