//! How settings differ from those that were trusted, and whether a difference grants more.
//!
//! A pure function over two sets of settings. What only tightens keeps the trust: a stricter mode, another rule that
//! denies or asks, one less that allows, a lower limit, one server less. Everything else needs a new decision.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use engine::{Limits, Mode, Policy, Rule, RuleEffect, Voice};
use plan::SiblingPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shell::CommandSettings;
use upstream::ServerSettings;

use super::command_differences::command_differences;
use super::wording::{hook_words, rule_words};

/// Everything of the settings that decides what may happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TrustedSettings {
    /// With the declarations of the hooks, which name the hashes of their files.
    pub(crate) policy: Policy,
    pub(crate) commands: CommandSettings,
    pub(crate) servers: BTreeMap<String, ServerSettings>,
    /// Where runs are kept, if that is outside of the vault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<PathBuf>,
}

impl TrustedSettings {
    /// The settings of a vault whose owner has set nothing.
    pub(crate) fn defaults() -> TrustedSettings {
        TrustedSettings {
            policy: Policy::cautious(),
            commands: CommandSettings::default(),
            servers: BTreeMap::new(),
            state: None,
        }
    }
}

/// One difference between two sets of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) kind: DifferenceKind,
    /// Whether the later settings let something happen that the earlier ones did not.
    pub(crate) loosens: bool,
    pub(crate) what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DifferenceKind {
    Added,
    Removed,
    Changed,
}

impl Difference {
    pub(super) fn new(kind: DifferenceKind, loosens: bool, what: impl Into<String>) -> Difference {
        Difference { kind, loosens, what: what.into() }
    }

    /// A value that can be compared; `loosens` says so of the new one.
    pub(super) fn value(key: &str, old: &str, new: &str, loosens: bool) -> Difference {
        Difference::new(DifferenceKind::Changed, loosens, format!("{key}: {old} -> {new}"))
    }

    /// `removed: deny vault.delete Private/**`
    pub(crate) fn line(&self) -> String {
        let word = match self.kind {
            DifferenceKind::Added => "added",
            DifferenceKind::Removed => "removed",
            DifferenceKind::Changed => "changed",
        };
        format!("{word}: {}", self.what)
    }
}

/// Every difference that matters, in the order of the settings file. What a receipt may hold decides about no call,
/// so budgets of receipts are left out.
pub(crate) fn differences(old: &TrustedSettings, new: &TrustedSettings) -> Vec<Difference> {
    // Every field by name: a new one has to be decided about here.
    let TrustedSettings { policy, state: _, commands: _, servers: _ } = new;
    let Policy {
        mode: _,
        rules: _,
        hooks: _,
        // The same as `commands` and `servers` of the settings, in the words of the record.
        commands: _,
        servers: _,
        approval: _,
        limits: _,
        receipts: _,
        sibling_failure: _,
    } = policy;
    let mut found = Vec::new();
    found.extend(mode(old.policy.mode, new.policy.mode));
    found.extend(state(old, new));
    found.extend(sibling_failure(old.policy.sibling_failure, new.policy.sibling_failure));
    found.extend(limits(&old.policy, &new.policy));
    found.extend(command_differences(&old.commands, &new.commands));
    found.extend(approval(&old.policy, &new.policy));
    found.extend(rules(&old.policy.rules, &new.policy.rules));
    found.extend(hooks(&old.policy.hooks, &new.policy.hooks));
    found.extend(servers(&old.servers, &new.servers));
    found
}

fn mode(old: Mode, new: Mode) -> Option<Difference> {
    let freedom = |mode| match mode {
        Mode::ReadOnly => 0,
        Mode::Ask => 1,
        Mode::Trusted => 2,
    };
    let name = |mode| match mode {
        Mode::ReadOnly => "read-only",
        Mode::Ask => "ask",
        Mode::Trusted => "trusted (nothing is asked)",
    };
    (old != new).then(|| Difference::value("mode", name(old), name(new), freedom(new) > freedom(old)))
}

fn state(old: &TrustedSettings, new: &TrustedSettings) -> Option<Difference> {
    let shown = |state: &Option<PathBuf>| match state {
        Some(folder) => folder.display().to_string(),
        None => ".tollgate".to_owned(),
    };
    // Wherever it moves, runs are recorded and looked for elsewhere.
    (old.state != new.state).then(|| Difference::value("state", &shown(&old.state), &shown(&new.state), true))
}

fn sibling_failure(old: SiblingPolicy, new: SiblingPolicy) -> Option<Difference> {
    let name = |policy| match policy {
        SiblingPolicy::Ignore => "ignore",
        SiblingPolicy::CancelSiblings => "cancel-siblings",
        SiblingPolicy::CancelDependents => "cancel-dependents",
    };
    // Both others cancel calls that go on under `ignore`.
    let tightens = old == SiblingPolicy::Ignore;
    (old != new).then(|| Difference::value("sibling_failure", name(old), name(new), !tightens))
}

fn limits(old: &Policy, new: &Policy) -> Vec<Difference> {
    let (old, new) = (&old.limits, &new.limits);
    let Limits {
        max_concurrency: _,
        max_attempts: _,
        call_timeout_ms: _,
        max_foreach_items: _,
        max_backoff_ms: _,
        max_result_bytes: _,
        cancel_grace_ms: _,
    } = new;
    let numbers = [
        ("max_concurrency", old.max_concurrency.get().into(), new.max_concurrency.get().into()),
        ("max_attempts", old.max_attempts.get().into(), new.max_attempts.get().into()),
        ("call_timeout_ms", old.call_timeout_ms.get(), new.call_timeout_ms.get()),
        ("max_foreach_items", old.max_foreach_items, new.max_foreach_items),
        ("max_backoff_ms", old.max_backoff_ms, new.max_backoff_ms),
        ("max_result_bytes", old.max_result_bytes, new.max_result_bytes),
        ("cancel_grace_ms", old.cancel_grace_ms, new.cancel_grace_ms),
    ];
    raised_or_lowered("limits", &numbers)
}

/// Numbers of which more is more freedom: the name, the old and the new one.
pub(super) fn raised_or_lowered(section: &str, numbers: &[(&str, u64, u64)]) -> Vec<Difference> {
    let changed = numbers.iter().filter(|(_, old, new)| old != new);
    let told = changed.map(|(name, old, new)| {
        Difference::value(&format!("{section}.{name}"), &old.to_string(), &new.to_string(), new > old)
    });
    told.collect()
}

fn approval(old: &Policy, new: &Policy) -> Vec<Difference> {
    let name = |voice| match voice {
        Voice::Client => "client",
        Voice::Person => "person",
    };
    let whose = [
        ("approval.writes", old.approval.writes, new.approval.writes),
        ("approval.commands", old.approval.commands, new.approval.commands),
    ];
    let changed = whose.into_iter().filter(|(_, old, new)| old != new);
    changed
        .map(|(key, old, new)| Difference::value(key, name(old), name(new), new == Voice::Client))
        .collect()
}

/// Which rules there are decides, not their order: deny wins over ask, and ask over allow.
fn rules(old: &[Rule], new: &[Rule]) -> Vec<Difference> {
    let removed = old.iter().filter(|rule| !new.contains(rule)).map(|rule| {
        let loosens = match rule.effect {
            RuleEffect::Deny | RuleEffect::Ask => true,
            RuleEffect::Allow => false,
        };
        Difference::new(DifferenceKind::Removed, loosens, rule_words(rule))
    });
    let added = new.iter().filter(|rule| !old.contains(rule)).map(|rule| {
        let loosens = match rule.effect {
            RuleEffect::Deny | RuleEffect::Ask => false,
            RuleEffect::Allow => true,
        };
        Difference::new(DifferenceKind::Added, loosens, rule_words(rule))
    });
    removed.chain(added).collect()
}

/// A hook is a program with the user's permissions, so a new one needs trust; it may also be what stops calls, so one
/// that is gone does, too. They change what the next one sees, so their order counts.
fn hooks(old: &[String], new: &[String]) -> Vec<Difference> {
    if old == new {
        return Vec::new();
    }
    let parsed = |hooks: &[String]| -> Vec<Value> {
        hooks.iter().map(|hook| serde_json::from_str(hook).unwrap_or_else(|_| hook.as_str().into())).collect()
    };
    let (old, new) = (parsed(old), parsed(new));
    let mut found = Vec::new();
    for hook in old.iter().filter(|hook| !new.contains(hook)) {
        match new.iter().find(|other| other["name"] == hook["name"] && !old.contains(other)) {
            Some(other) => {
                let what = changed_hook(hook, other);
                found.push(Difference::new(DifferenceKind::Changed, true, what));
            }
            None => found.push(Difference::new(DifferenceKind::Removed, true, hook_words(hook))),
        }
    }
    let was_known = |hook: &Value| old.iter().any(|other| other["name"] == hook["name"]);
    let added = new.iter().filter(|hook| !old.contains(hook) && !was_known(hook));
    found.extend(added.map(|hook| Difference::new(DifferenceKind::Added, true, hook_words(hook))));
    if found.is_empty() {
        found.push(Difference::new(DifferenceKind::Changed, true, "the order of the hooks"));
    }
    found
}

/// A hook that is declared as before is another one if its files hold something else.
fn changed_hook(old: &Value, new: &Value) -> String {
    let files = |hook: &Value| -> BTreeMap<String, Value> {
        let files = hook["files"].as_object().cloned().unwrap_or_default();
        files.into_iter().collect()
    };
    let without_files = |hook: &Value| {
        let mut hook = hook.clone();
        hook["files"] = Value::Null;
        hook
    };
    if without_files(old) != without_files(new) {
        return format!("{} is now {}", hook_words(old), hook_words(new));
    }
    let (old, before, after) = (hook_words(old), files(old), files(new));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let other: Vec<&str> =
        names.into_iter().filter(|name| before.get(*name) != after.get(*name)).map(String::as_str).collect();
    format!("{old}: the content of {}", other.join(", "))
}

fn servers(
    old: &BTreeMap<String, ServerSettings>,
    new: &BTreeMap<String, ServerSettings>,
) -> Vec<Difference> {
    let removed = old
        .iter()
        .filter(|(name, _)| !new.contains_key(*name))
        .map(|(name, server)| Difference::new(DifferenceKind::Removed, false, server.in_words(name)));
    let added = new.iter().filter(|(name, server)| old.get(*name) != Some(server)).map(|(name, server)| {
        let kind = match old.contains_key(name) {
            true => DifferenceKind::Changed,
            false => DifferenceKind::Added,
        };
        Difference::new(kind, true, server.in_words(name))
    });
    removed.chain(added).collect()
}
