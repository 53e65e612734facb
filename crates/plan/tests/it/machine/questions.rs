//! Tests of the questions to the user, and of the effects of the answers.

use expect_test::expect;
use plan::RunSpec;
use serde_json::json;

use super::script::check;
use super::world::run_of;

fn confirmed(mut spec: RunSpec) -> RunSpec {
    spec.confirm = true;
    spec.limits.max_foreach_items = 2;
    spec
}

// Conformance: envelope 8.1
#[test]
fn one_yes_starts_the_plan_and_is_named_in_every_call() {
    check(
        confirmed(run_of(json!([{ "id": "a" }, { "id": "b", "dependsOn": ["a"] }]))),
        "
        yes first
        ok a
        ok b
        ",
        &expect![[r#"
              run.started
              run.confirmationRequested {"question":"plan"}
              ask: plan
            > yes first
              run.confirmed
              step.scheduled a {"calls":1}
              start a {} by first
            > ok a
              step.scheduled b {"calls":1}
              start b {} by first
            > ok b
              run.finished {"status":"ok","steps":{"ok":2}}
              finish ok: a ok (1 calls, 0 failed), b ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_no_ends_the_run_before_it_starts() {
    check(
        confirmed(run_of(json!([{ "id": "a" }, { "id": "b" }]))),
        "
        no not today
        yes late
        ",
        &expect![[r#"
              run.started
              run.confirmationRequested {"question":"plan"}
              ask: plan
            > no not today
              run.cancelled {"reason":"not today","openCalls":0,"declined":true}
              settled a skipped: declined: not today
              step.finished a {"status":"skipped"}
              settled b skipped: declined: not today
              step.finished b {"status":"skipped"}
              run.finished {"status":"declined","steps":{"skipped":2}}
              finish declined because "not today": a skipped (0 calls, 0 failed), b skipped (0 calls, 0 failed); outputs {}
            > yes late
        "#]],
    );
}

#[test]
fn a_large_expansion_asks_again_while_other_steps_go_on() {
    check(
        confirmed(run_of(json!([
            { "id": "big", "foreach": { "from": [1, 2, 3], "itemName": "x" } },
            { "id": "huge", "foreach": { "from": [1, 2, 3, 4], "itemName": "x" } },
            { "id": "small", "foreach": { "from": [1, 2], "itemName": "x" } },
        ]))),
        "
        yes plan
        ok small[0]
        yes more
        ok small[1]
        ok big[0]
        ok big[1]
        yes most
        ok big[2]
        ",
        &expect![[r#"
              run.started
              run.confirmationRequested {"question":"plan"}
              ask: plan
            > yes plan
              run.confirmed
              run.confirmationRequested big {"question":"expansion","items":3,"limit":2}
              ask: big for 3 items, limit 2
              step.scheduled small {"calls":2}
              start small[0] {} by plan
              start small[1] {} by plan
            > ok small[0]
              step.progress small {"done":1,"total":2,"failed":0}
            > yes more
              run.confirmed big
              step.scheduled big {"calls":3}
              run.confirmationRequested huge {"question":"expansion","items":4,"limit":2}
              ask: huge for 4 items, limit 2
              start big[0] {} by more
              start big[1] {} by more
              start big[2] {} by more
            > ok small[1]
              step.progress small {"done":2,"total":2,"failed":0}
            > ok big[0]
              step.progress big {"done":1,"total":3,"failed":0}
            > ok big[1]
              step.progress big {"done":2,"total":3,"failed":0}
            > yes most
              run.confirmed huge
              step.scheduled huge {"calls":4}
              start huge[0] {} by most
              start huge[1] {} by most
              start huge[2] {} by most
            > ok big[2]
              step.progress big {"done":3,"total":3,"failed":0}
              start huge[3] {} by most
        "#]],
    );
}

#[test]
fn a_no_to_an_expansion_ends_the_run_after_what_is_open() {
    let mut spec = run_of(json!([
        { "id": "big", "foreach": { "from": [1, 2, 3], "itemName": "x" } },
        { "id": "a" },
        { "id": "b", "dependsOn": ["a"] },
    ]));
    spec.limits.max_foreach_items = 2;
    check(
        spec,
        "
        no too many
        ok a
        ",
        &expect![[r#"
              run.started
              run.confirmationRequested big {"question":"expansion","items":3,"limit":2}
              ask: big for 3 items, limit 2
              step.scheduled a {"calls":1}
              start a {}
            > no too many
              run.cancelled {"reason":"too many","openCalls":1,"declined":true}
            > ok a
              settled big skipped: declined: too many
              step.finished big {"status":"skipped"}
              settled b skipped: declined: too many
              step.finished b {"status":"skipped"}
              run.finished {"status":"declined","steps":{"ok":1,"skipped":2}}
              finish declined because "too many": big skipped (0 calls, 0 failed), a ok (1 calls, 0 failed), b skipped (0 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_failure_elsewhere_leaves_an_open_question_open() {
    let mut spec =
        run_of(json!([{ "id": "big", "foreach": { "from": [1, 2, 3], "itemName": "x" } }, { "id": "a" }]));
    spec.limits.max_foreach_items = 2;
    check(
        spec,
        "
        fail a
        yes later
        ok big[0]
        ok big[1]
        ok big[2]
        ",
        &expect![[r#"
              run.started
              run.confirmationRequested big {"question":"expansion","items":3,"limit":2}
              ask: big for 3 items, limit 2
              step.scheduled a {"calls":1}
              start a {}
            > fail a
            > yes later
              run.confirmed big
              step.scheduled big {"calls":3}
              start big[0] {} by later
              start big[1] {} by later
              start big[2] {} by later
            > ok big[0]
              step.progress big {"done":1,"total":3,"failed":0}
            > ok big[1]
              step.progress big {"done":2,"total":3,"failed":0}
            > ok big[2]
              step.progress big {"done":3,"total":3,"failed":0}
              run.finished {"status":"failed","steps":{"ok":1,"failed":1}}
              finish failed because "step `a` failed: it broke": big ok (3 calls, 0 failed), a failed (1 calls, 1 failed: it broke); outputs {}
        "#]],
    );
}
