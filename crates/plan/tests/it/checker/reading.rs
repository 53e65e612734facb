//! Tests of the `CheckedPlan` that the checker returns.

use expect_test::expect;
use serde_json::json;

use super::{check, plan_files};

#[test]
fn references_and_dependencies_become_an_order_and_decide_what_is_kept() {
    let report = check(&plan_files::good("inbox_to_notes").to_string());
    let plan = report.plan.unwrap();
    let steps: String = plan
        .steps
        .iter()
        .map(|step| {
            format!(
                "{} {} after {:?} keep {} {:?} {}x {} ms\n",
                step.id,
                step.decl.name,
                step.after,
                step.keep_output,
                step.on_error,
                step.retry.max_attempts,
                step.timeout_ms
            )
        })
        .collect();
    expect![[r#"
        read vault.readFile after [] keep true Stop 3x 20000 ms
        parse util.parseMarkdownBullets after [0] keep true Stop 3x 20000 ms
        dir vault.ensureFolder after [] keep false Stop 3x 20000 ms
        create vault.createFile after [1, 2] keep true Skip 3x 20000 ms
    "#]]
    .assert_eq(&steps);
}

#[test]
fn an_alias_is_replaced_by_the_real_name_and_the_limit_lowers_the_timeout() {
    let plan = json!({
        "version": "1.0", "goal": "Read", "riskLevel": "read-only",
        "steps": [
            { "id": "a", "tool": "vault_readFile", "args": { "path": "A.md" }, "timeoutMs": 3_600_000 },
            { "id": "b", "tool": "vault.readFile", "args": { "path": "B.md" } },
        ],
    });
    let steps = check(&plan.to_string()).plan.unwrap().steps;
    assert_eq!(steps[0].decl.name.as_str(), "vault.readFile");
    assert_eq!((steps[0].timeout_ms, steps[1].timeout_ms), (600_000, 30_000));
    // Both steps share one declaration.
    assert!(std::sync::Arc::ptr_eq(&steps[0].decl, &steps[1].decl));
}

#[test]
fn the_hash_does_not_depend_on_the_order_of_keys() {
    let one = r#"{"version": "1.0", "goal": "g", "riskLevel": "read-only", "steps": [{"id": "a", "tool": "vault.readFile", "args": {"path": "A.md"}}]}"#;
    let two = r#"{"steps": [{"args": {"path": "A.md"}, "tool": "vault.readFile", "id": "a"}], "riskLevel": "read-only", "goal": "g", "version": "1.0"}"#;
    assert_eq!(check(one).plan.unwrap().hash, check(two).plan.unwrap().hash);
}

#[test]
fn a_captured_variable_orders_its_reader_after_the_step_that_captures() {
    let report = check(&plan_files::good("captured_variable").to_string());
    let steps = report.plan.unwrap().steps;
    assert_eq!(steps[1].after, [0]);
    assert!(steps[0].keep_output);
}

#[test]
fn a_long_plan_that_is_wrong_everywhere_is_still_checked_whole() {
    let steps: Vec<_> = (0..1_000)
        .map(|n| json!({ "id": format!("s{n}"), "tool": "util.slugifyTitle", "args": { "title": "$steps.nowhere.x" }, "dependsOn": [format!("s{}", (n + 1) % 1_000)] }))
        .collect();
    let plan = json!({ "version": "1.0", "goal": "g", "riskLevel": "read-only", "steps": steps });
    // One unknown step for each, and one cycle through all of them.
    assert_eq!(check(&plan.to_string()).findings.len(), 1_001);
}
