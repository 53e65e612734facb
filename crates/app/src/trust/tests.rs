//! Which changes of settings keep the trust, as a table.

use std::num::NonZeroU32;

use engine::{ApprovalSource, Mode, Rule};
use expect_test::expect;
use mcp_client::ServerSettings;
use plan::SiblingPolicy;
use serde_json::{Value, json};
use shell::SandboxRequirement;

use super::comparison::{TrustedSettings, differences};

type Edit = fn(&mut TrustedSettings);

fn rule(rule: Value) -> Rule {
    serde_json::from_value(rule).unwrap()
}

fn deny() -> Rule {
    rule(json!({ "effect": "deny", "tools": ["vault.delete"], "paths": ["Private/**"] }))
}

fn ask() -> Rule {
    rule(json!({ "effect": "ask", "tools": ["vault.*"], "risk": "writes", "reason": "look" }))
}

fn allow() -> Rule {
    rule(json!({ "effect": "allow", "command": ["git", ["status", "log"]],
                 "match": ["git log"], "not_match": ["git push"] }))
}

fn hook(hash: &str) -> String {
    json!({ "name": "guard", "command": ["python3", ".tollgate/g.py"], "when": "before",
            "files": { ".tollgate/g.py": hash, "/usr/bin/python3": "b3:p" } })
    .to_string()
}

/// Trusted settings with a value of every kind.
fn trusted() -> TrustedSettings {
    let mut settings = TrustedSettings::defaults();
    settings.policy.mode = Mode::Ask;
    settings.policy.rules = vec![deny(), ask(), allow()];
    settings.policy.hooks = vec![hook("b3:1")];
    settings.policy.approval.writes = ApprovalSource::Person;
    settings.commands.readable = vec!["/opt/a".into()];
    settings.commands.env = vec!["LANG".to_owned()];
    settings.servers.insert("fs".to_owned(), server("fs-server"));
    settings.state = Some("/var/state".into());
    settings
}

fn server(program: &str) -> ServerSettings {
    ServerSettings { command: Some(vec![program.to_owned()]), ..ServerSettings::default() }
}

/// The verdict on each edit of the trusted settings, one line each.
fn verdicts(edits: &[Edit]) -> String {
    let mut shown = String::new();
    for edit in edits {
        let mut now = trusted();
        edit(&mut now);
        let found = differences(&trusted(), &now);
        assert!(!found.is_empty(), "an edit that changes nothing");
        let keeps = !found.iter().any(|difference| difference.loosens);
        let lines: Vec<String> = found.iter().map(|difference| difference.line()).collect();
        shown += &format!("{} {}\n", if keeps { "keeps" } else { "ENDS " }, lines.join("; "));
    }
    shown
}

#[test]
fn settings_that_only_tighten_keep_the_trust() {
    let edits: [Edit; 13] = [
        |now| now.policy.mode = Mode::ReadOnly,
        |now| now.policy.rules.push(rule(json!({ "effect": "deny", "tools": ["ExecCommand"] }))),
        |now| now.policy.rules.push(rule(json!({ "effect": "ask", "paths": ["Work/**"] }))),
        |now| now.policy.rules.retain(|kept| *kept != allow()),
        |now| now.policy.limits.max_attempts = NonZeroU32::MIN,
        |now| now.policy.limits.max_foreach_items = 1,
        |now| now.policy.approval.commands = ApprovalSource::Person,
        |now| now.policy.sibling_failure = SiblingPolicy::CancelSiblings,
        |now| now.commands.readable.clear(),
        |now| now.commands.env.clear(),
        |now| now.commands.memory_mb = 1,
        |now| now.servers.clear(),
        |now| {
            now.policy.mode = Mode::ReadOnly;
            now.policy.rules.retain(|kept| *kept != allow());
            now.policy.limits.max_backoff_ms = 0;
        },
    ];
    expect![[r#"
        keeps changed: mode: ask -> read-only
        keeps added: deny ExecCommand
        keeps added: ask Work/**
        keeps removed: allow the command ["git",["status","log"]]
        keeps changed: limits.max_attempts: 5 -> 1
        keeps changed: limits.max_foreach_items: 1000 -> 1
        keeps changed: approval.commands: client -> person
        keeps changed: sibling_failure: ignore -> cancel-siblings
        keeps removed: commands read /opt/a
        keeps removed: commands get the variable LANG
        keeps changed: commands.memory_mb: 4096 -> 1
        keeps removed: server fs runs ["fs-server"] in the sandbox of commands
        keeps changed: mode: ask -> read-only; changed: limits.max_backoff_ms: 60000 -> 0; removed: allow the command ["git",["status","log"]]
    "#]]
    .assert_eq(&verdicts(&edits));
}

#[test]
fn anything_that_grants_more_or_is_unclear_ends_the_trust() {
    let edits: [Edit; 27] = [
        |now| now.policy.mode = Mode::Trusted,
        |now| now.policy.rules.retain(|kept| *kept != deny()),
        |now| now.policy.rules.retain(|kept| *kept != ask()),
        |now| now.policy.rules[0].paths = vec!["Private/Deep/**".to_owned()],
        |now| now.policy.rules[1].reason = None,
        |now| now.policy.rules.push(rule(json!({ "effect": "allow", "tools": ["vault.*"] }))),
        |now| now.policy.rules[2].command = None,
        |now| now.policy.rules.clear(),
        |now| now.policy.limits.max_attempts = NonZeroU32::MAX,
        |now| now.policy.limits.cancel_grace_ms = 1001,
        |now| now.policy.limits.max_result_bytes += 1,
        |now| now.policy.approval.writes = ApprovalSource::Client,
        |now| now.policy.hooks = vec![hook("b3:2")],
        |now| now.policy.hooks.clear(),
        |now| now.policy.hooks.push(r#"{"name":"more","command":["x"],"when":"after"}"#.to_owned()),
        |now| now.policy.hooks = vec![hook("b3:1").replace("before", "after")],
        |now| now.commands.sandbox = SandboxRequirement::Off,
        |now| now.commands.network = true,
        |now| now.commands.readable.push("/opt/b".into()),
        |now| now.commands.env.push("TOKEN".to_owned()),
        |now| now.commands.path = "/tmp".to_owned(),
        |now| now.commands.processes += 1,
        |now| now.commands.execute_vault_files = true,
        |now| drop(now.servers.insert("other".to_owned(), server("x"))),
        |now| drop(now.servers.insert("fs".to_owned(), server("other-server"))),
        |now| now.state = Some("/elsewhere".into()),
        |now| now.state = None,
    ];
    expect![[r#"
        ENDS  changed: mode: ask -> trusted (nothing is asked)
        ENDS  removed: deny vault.delete Private/**
        ENDS  removed: ask vault.* risk "writes" reason "look"
        ENDS  removed: deny vault.delete Private/**; added: deny vault.delete Private/Deep/**
        ENDS  removed: ask vault.* risk "writes" reason "look"; added: ask vault.* risk "writes"
        ENDS  added: allow vault.*
        ENDS  removed: allow the command ["git",["status","log"]]; added: allow
        ENDS  removed: deny vault.delete Private/**; removed: ask vault.* risk "writes" reason "look"; removed: allow the command ["git",["status","log"]]
        ENDS  changed: limits.max_attempts: 5 -> 4294967295
        ENDS  changed: limits.cancel_grace_ms: 1000 -> 1001
        ENDS  changed: limits.max_result_bytes: 16777216 -> 16777217
        ENDS  changed: approval.writes: person -> client
        ENDS  changed: hook guard (before): ["python3",".tollgate/g.py"]: the content of .tollgate/g.py
        ENDS  removed: hook guard (before): ["python3",".tollgate/g.py"]
        ENDS  added: hook more (after): ["x"]
        ENDS  changed: hook guard (before): ["python3",".tollgate/g.py"] is now hook guard (after): ["python3",".tollgate/g.py"]
        ENDS  changed: commands.sandbox: required -> off (commands run without a sandbox)
        ENDS  changed: commands.network: false -> true (commands reach the network)
        ENDS  added: commands read /opt/b
        ENDS  added: commands get the variable TOKEN
        ENDS  changed: commands.path: /usr/local/bin:/usr/bin:/bin -> /tmp
        ENDS  changed: commands.processes: 512 -> 513
        ENDS  changed: commands.execute_vault_files: false -> true (commands that a rule allows execute any file of the vault)
        ENDS  added: server other runs ["x"] in the sandbox of commands
        ENDS  changed: server fs runs ["other-server"] in the sandbox of commands
        ENDS  changed: state: /var/state -> /elsewhere
        ENDS  changed: state: /var/state -> .tollgate
    "#]].assert_eq(&verdicts(&edits));
}

#[test]
fn one_loosening_among_many_tightenings_ends_the_trust() {
    let edits: [Edit; 1] = [|now| {
        now.policy.mode = Mode::ReadOnly;
        now.policy.limits.max_attempts = NonZeroU32::MIN;
        now.policy.rules = vec![deny()];
    }];
    assert!(verdicts(&edits).starts_with("ENDS "));
}

#[test]
fn order_and_repetition_of_rules_and_budgets_of_receipts_decide_nothing() {
    let mut now = trusted();
    now.policy.rules.reverse();
    now.policy.rules.push(deny());
    now.policy.receipts.max_tokens = 30_000;
    assert_eq!(differences(&trusted(), &now), []);
}

#[test]
fn what_is_kept_reads_back_as_what_was_trusted() {
    let text = serde_json::to_string(&trusted()).unwrap();
    assert_eq!(serde_json::from_str::<TrustedSettings>(&text).unwrap(), trusted());
}
