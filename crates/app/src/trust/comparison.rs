//! Differences between settings and the trusted ones, and whether a difference grants more.
//!
//! A pure function over two sets of settings. Changes that only tighten keep the trust: a stricter mode, an added rule
//! that denies or asks, a removed one that allows, a lower limit, a removed server. All others need a new decision.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use engine::{ApprovalSource, Mode, Policy, PolicyLimits, Rule, RuleEffect};
use mcp_client::ServerSettings;
use plan::SiblingPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shell::CommandSettings;

use super::command_differences::command_differences;
use super::rule_text::{hook_words, rule_words};

/// All settings that decide which calls are allowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustedSettings {
    /// Includes the declarations of the hooks with the hashes of their files.
    pub policy: Policy,
    pub commands: CommandSettings,
    pub servers: BTreeMap<String, ServerSettings>,
    /// Folder of runs, if it is outside of the vault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PathBuf>,
}

impl TrustedSettings {
    /// Returns the settings of a vault without a settings file.
    pub fn defaults() -> TrustedSettings {
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
pub struct SettingsDifference {
    pub kind: DifferenceKind,
    /// True if the later settings allow something that the earlier ones did not.
    pub loosens: bool,
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    Added,
    Removed,
    Changed,
}

impl SettingsDifference {
    pub(super) fn new(kind: DifferenceKind, loosens: bool, what: impl Into<String>) -> SettingsDifference {
        SettingsDifference { kind, loosens, what: what.into() }
    }

    /// Creates the difference of a value; `loosens` is about the new one.
    pub(super) fn value(key: &str, old: &str, new: &str, loosens: bool) -> SettingsDifference {
        SettingsDifference::new(DifferenceKind::Changed, loosens, format!("{key}: {old} -> {new}"))
    }

    /// Returns the difference on one line, such as `removed: deny vault.delete Private/**`.
    pub fn line(&self) -> String {
        let word = match self.kind {
            DifferenceKind::Added => "added",
            DifferenceKind::Removed => "removed",
            DifferenceKind::Changed => "changed",
        };
        format!("{word}: {}", self.what)
    }
}

/// Returns every relevant difference, in the order of the settings file. Budgets of receipts are left out: they decide
/// about no call.
pub(super) fn differences(old: &TrustedSettings, new: &TrustedSettings) -> Vec<SettingsDifference> {
    // Every field by name, so that a new one needs a decision here.
    let TrustedSettings { policy, state: _, commands: _, servers: _ } = new;
    let Policy {
        mode: _,
        rules: _,
        hooks: _,
        // The same as `commands` and `servers` of the settings, in the form of the record.
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

fn mode(old: Mode, new: Mode) -> Option<SettingsDifference> {
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
    (old != new).then(|| SettingsDifference::value("mode", name(old), name(new), freedom(new) > freedom(old)))
}

fn state(old: &TrustedSettings, new: &TrustedSettings) -> Option<SettingsDifference> {
    let shown = |state: &Option<PathBuf>| match state {
        Some(folder) => folder.display().to_string(),
        None => ".tollgate".to_owned(),
    };
    // Any change moves where runs are recorded and read.
    (old.state != new.state)
        .then(|| SettingsDifference::value("state", &shown(&old.state), &shown(&new.state), true))
}

fn sibling_failure(old: SiblingPolicy, new: SiblingPolicy) -> Option<SettingsDifference> {
    let name = |policy| match policy {
        SiblingPolicy::Ignore => "ignore",
        SiblingPolicy::CancelSiblings => "cancel-siblings",
        SiblingPolicy::CancelDependents => "cancel-dependents",
    };
    // Both other values cancel calls that `ignore` lets continue.
    let tightens = old == SiblingPolicy::Ignore;
    (old != new).then(|| SettingsDifference::value("sibling_failure", name(old), name(new), !tightens))
}

fn limits(old: &Policy, new: &Policy) -> Vec<SettingsDifference> {
    let (old, new) = (&old.limits, &new.limits);
    let PolicyLimits {
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

/// Returns the differences of limits where a larger number grants more: name, old and new value.
pub(super) fn raised_or_lowered(section: &str, numbers: &[(&str, u64, u64)]) -> Vec<SettingsDifference> {
    let changed = numbers.iter().filter(|(_, old, new)| old != new);
    let described = changed.map(|(name, old, new)| {
        SettingsDifference::value(&format!("{section}.{name}"), &old.to_string(), &new.to_string(), new > old)
    });
    described.collect()
}

fn approval(old: &Policy, new: &Policy) -> Vec<SettingsDifference> {
    let name = |voice| match voice {
        ApprovalSource::Client => "client",
        ApprovalSource::Person => "person",
    };
    let whose = [
        ("approval.writes", old.approval.writes, new.approval.writes),
        ("approval.commands", old.approval.commands, new.approval.commands),
    ];
    let changed = whose.into_iter().filter(|(_, old, new)| old != new);
    changed
        .map(|(key, old, new)| {
            SettingsDifference::value(key, name(old), name(new), new == ApprovalSource::Client)
        })
        .collect()
}

/// Returns the differences of the rules. Their order has no effect: deny wins over ask, and ask over allow.
fn rules(old: &[Rule], new: &[Rule]) -> Vec<SettingsDifference> {
    let removed = old.iter().filter(|rule| !new.contains(rule)).map(|rule| {
        let loosens = match rule.effect {
            RuleEffect::Deny | RuleEffect::Ask => true,
            RuleEffect::Allow => false,
        };
        SettingsDifference::new(DifferenceKind::Removed, loosens, rule_words(rule))
    });
    let added = new.iter().filter(|rule| !old.contains(rule)).map(|rule| {
        let loosens = match rule.effect {
            RuleEffect::Deny | RuleEffect::Ask => false,
            RuleEffect::Allow => true,
        };
        SettingsDifference::new(DifferenceKind::Added, loosens, rule_words(rule))
    });
    removed.chain(added).collect()
}

/// Returns the differences of the hooks. A hook is a program with the user's permissions, so a new one needs trust; it
/// can also stop calls, so a removed one needs trust, too. Each changes the input of the next, so their order counts.
fn hooks(old: &[String], new: &[String]) -> Vec<SettingsDifference> {
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
                found.push(SettingsDifference::new(DifferenceKind::Changed, true, what));
            }
            None => found.push(SettingsDifference::new(DifferenceKind::Removed, true, hook_words(hook))),
        }
    }
    let was_known = |hook: &Value| old.iter().any(|other| other["name"] == hook["name"]);
    let added = new.iter().filter(|hook| !old.contains(hook) && !was_known(hook));
    found.extend(added.map(|hook| SettingsDifference::new(DifferenceKind::Added, true, hook_words(hook))));
    if found.is_empty() {
        found.push(SettingsDifference::new(DifferenceKind::Changed, true, "the order of the hooks"));
    }
    found
}

/// Describes a changed hook. One with the same declaration differs if the content of its files does.
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
) -> Vec<SettingsDifference> {
    let removed = old
        .iter()
        .filter(|(name, _)| !new.contains_key(*name))
        .map(|(name, server)| SettingsDifference::new(DifferenceKind::Removed, false, server.describe(name)));
    let added = new.iter().filter(|(name, server)| old.get(*name) != Some(server)).map(|(name, server)| {
        let kind = match old.contains_key(name) {
            true => DifferenceKind::Changed,
            false => DifferenceKind::Added,
        };
        SettingsDifference::new(kind, true, server.describe(name))
    });
    removed.chain(added).collect()
}
