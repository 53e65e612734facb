//! The plan that restores a list of changes.

use ::plan::TemplateScope;
use envelope::{PLAN_VERSION, VaultChange};
use serde::Serialize;
use serde_json::{Value, json};

/// Changes per call. A call looks for conflicts with all of its changes before it makes the first; with more changes,
/// the wait and the record line would be long.
pub const CHANGES_A_CALL: usize = 500;

/// Returns a plan that restores the changes in order, and then rewrites the links of notes as `links` says. `overwrite` names
/// entries that are restored without a comparison. Braces in paths and links are never read as templates.
pub fn restore_plan<L: Serialize>(
    goal: &str,
    changes: &[VaultChange],
    links: &[L],
    overwrite: &[String],
) -> Value {
    let mut steps = Vec::new();
    let (mut first, mut before) = (1, None::<String>);
    let all = changes.len() + links.len();
    // The last changes and the first links share a call, so that a small restoration is made as a whole or not at all.
    let cuts = (0..all).step_by(CHANGES_A_CALL).map(|start| start..all.min(start + CHANGES_A_CALL));
    for (number, part) in cuts.enumerate() {
        let id = format!("restore-{}", number + 1);
        let last = first + part.len() - 1;
        let changes_end = changes.len();
        let listed = literals(&changes[part.start.min(changes_end)..part.end.min(changes_end)]);
        let mut step = json!({
            "id": id,
            "tool": "vault.restore",
            "preview": format!("Restore changes {first} to {last} of {all}"),
            "args": { "changes": listed },
        });
        let linked = &links[part.start.saturating_sub(changes_end)..part.end.saturating_sub(changes_end)];
        if !linked.is_empty() {
            step["args"]["links"] = literals(linked);
        }
        if !overwrite.is_empty() {
            step["args"]["overwrite"] = literals(overwrite);
        }
        if let (Some(before), Some(fields)) = (before, step.as_object_mut()) {
            fields.insert("dependsOn".to_owned(), json!([before]));
        }
        (first, before) = (last + 1, Some(id));
        steps.push(step);
    }
    json!({ "version": PLAN_VERSION, "goal": goal, "riskLevel": "writes", "steps": steps })
}

fn literals<T: Serialize>(listed: &[T]) -> Value {
    let listed = listed.iter().map(|entry| serde_json::to_value(entry).unwrap_or_default()).collect();
    ::plan::literal(&Value::Array(listed), &TemplateScope::default())
}

#[cfg(test)]
mod tests {
    use envelope::VaultChange;
    use serde_json::{Value, json};

    use super::{CHANGES_A_CALL, restore_plan};

    fn folders(number: usize) -> Vec<VaultChange> {
        (0..number).map(|n| VaultChange::folder_created(format!("{{vars.x}} {n}"))).collect()
    }

    #[test]
    fn a_long_list_becomes_calls_that_follow_each_other() {
        let plan = restore_plan::<Value>("Undo", &folders(2 * CHANGES_A_CALL + 1), &[], &[]);
        let steps = plan["steps"].as_array().unwrap();
        let sizes: Vec<usize> =
            steps.iter().map(|step| step["args"]["changes"].as_array().unwrap().len()).collect();
        assert_eq!(sizes, [CHANGES_A_CALL, CHANGES_A_CALL, 1]);
        assert_eq!(steps[0].get("dependsOn"), None);
        assert_eq!(steps[2]["dependsOn"], json!(["restore-2"]));
        assert_eq!(steps[2]["preview"], "Restore changes 1001 to 1001 of 1001");
    }

    #[test]
    fn links_follow_the_changes_and_share_the_call_of_the_last_ones() {
        let links: Vec<Value> = (0..CHANGES_A_CALL).map(|n| json!({ "path": format!("{n}.md") })).collect();
        let plan = restore_plan("Undo", &folders(2), &links, &[]);
        let steps = plan["steps"].as_array().unwrap();
        let length = |step: usize, of: &str| steps[step]["args"][of].as_array().map(Vec::len);
        assert_eq!((length(0, "changes"), length(0, "links")), (Some(2), Some(CHANGES_A_CALL - 2)));
        assert_eq!((length(1, "changes"), length(1, "links")), (Some(0), Some(2)));
        assert_eq!(steps[1]["args"]["links"][1]["path"], format!("{}.md", CHANGES_A_CALL - 1));
        assert_eq!(steps[1]["preview"], "Restore changes 501 to 502 of 502");
    }

    #[test]
    fn a_brace_in_a_name_stays_a_brace() {
        let plan = restore_plan::<Value>("Undo", &folders(1), &[], &[]);
        let literal = json!([{ "change": "folder-created", "path": "{{vars.x}} 0" }]);
        assert_eq!(plan["steps"][0]["args"]["changes"], literal);
    }
}
