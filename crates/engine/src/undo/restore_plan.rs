//! The plan that restores a list of changes.

use ::plan::TemplateScope;
use envelope::{PLAN_VERSION, VaultChange};
use serde_json::{Value, json};

/// Changes per call. A call looks for conflicts with all of its changes before it makes the first; with more changes,
/// the wait and the record line would be long.
pub const CHANGES_A_CALL: usize = 500;

/// Returns a plan that restores the changes in order. Braces in paths are never read as templates.
pub fn restore_plan(goal: &str, changes: &[VaultChange]) -> Value {
    let mut steps = Vec::new();
    let (mut first, mut before) = (1, None::<String>);
    for (number, part) in changes.chunks(CHANGES_A_CALL).enumerate() {
        let id = format!("restore-{}", number + 1);
        let last = first + part.len() - 1;
        let listed: Vec<Value> =
            part.iter().map(|change| serde_json::to_value(change).unwrap_or_default()).collect();
        let mut step = json!({
            "id": id,
            "tool": "vault.restore",
            "preview": format!("Restore changes {first} to {last} of {}", changes.len()),
            "args": { "changes": ::plan::literal(&Value::Array(listed), &TemplateScope::default()) },
        });
        if let (Some(before), Some(fields)) = (before, step.as_object_mut()) {
            fields.insert("dependsOn".to_owned(), json!([before]));
        }
        (first, before) = (last + 1, Some(id));
        steps.push(step);
    }
    json!({ "version": PLAN_VERSION, "goal": goal, "riskLevel": "writes", "steps": steps })
}

#[cfg(test)]
mod tests {
    use envelope::VaultChange;
    use serde_json::json;

    use super::{CHANGES_A_CALL, restore_plan};

    fn folders(number: usize) -> Vec<VaultChange> {
        (0..number).map(|n| VaultChange::folder_created(format!("{{vars.x}} {n}"))).collect()
    }

    #[test]
    fn a_long_list_becomes_calls_that_follow_each_other() {
        let plan = restore_plan("Undo", &folders(2 * CHANGES_A_CALL + 1));
        let steps = plan["steps"].as_array().unwrap();
        let sizes: Vec<usize> =
            steps.iter().map(|step| step["args"]["changes"].as_array().unwrap().len()).collect();
        assert_eq!(sizes, [CHANGES_A_CALL, CHANGES_A_CALL, 1]);
        assert_eq!(steps[0].get("dependsOn"), None);
        assert_eq!(steps[2]["dependsOn"], json!(["restore-2"]));
        assert_eq!(steps[2]["preview"], "Restore changes 1001 to 1001 of 1001");
    }

    #[test]
    fn a_brace_in_a_name_stays_a_brace() {
        let plan = restore_plan("Undo", &folders(1));
        let literal = json!([{ "change": "folder-created", "path": "{{vars.x}} 0" }]);
        assert_eq!(plan["steps"][0]["args"]["changes"], literal);
    }
}
