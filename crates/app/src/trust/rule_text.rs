//! Text of rules and hooks, one line each, for the decision about trust.

use engine::{Rule, RuleEffect};
use serde_json::{Value, json};

/// Returns a rule with all its conditions, such as `deny vault.delete Private/**`.
pub(super) fn rule_words(rule: &Rule) -> String {
    let effect = match rule.effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Ask => "ask",
        RuleEffect::Deny => "deny",
    };
    let Ok(Value::Object(mut fields)) = serde_json::to_value(rule) else { return effect.to_owned() };
    let mut words = vec![effect.to_owned()];
    fields.shift_remove("effect");
    for key in ["tools", "paths"] {
        if let Some(Value::Array(globs)) = fields.shift_remove(key) {
            words.extend(globs.iter().filter_map(Value::as_str).map(str::to_owned));
        }
    }
    if let Some(command) = fields.shift_remove("command") {
        words.push(format!("the command {command}"));
    }
    // Examples add nothing to the command.
    fields.retain(|key, _| key != "match" && key != "not_match");
    words.extend(fields.iter().map(|(key, value)| format!("{key} {value}")));
    words.join(" ")
}

/// Returns a hook, such as `hook guard (before): [".tollgate/guard.sh"]`.
pub(super) fn hook_words(hook: &Value) -> String {
    let text = |key: &str| hook[key].as_str().unwrap_or("?").to_owned();
    format!("hook {} ({}): {}", text("name"), text("when"), json!(hook["command"]))
}
