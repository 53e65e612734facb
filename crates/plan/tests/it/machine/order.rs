//! Tests of the order in which steps start, and of the arguments of their calls.

use expect_test::expect;
use serde_json::json;

use super::script::check;
use super::world::{run_of, run_of_plan};

// Conformance: envelope 1.2
//     Steps run one by one, each with its own calls, in an order that respects what they depend on.
//     In: plan/machine/mod.rs
// Conformance: envelope 3.6
//     It carries a preview, the tool's own risk and its category, for people.
//     In: plan/machine/call_draft.rs
#[test]
fn steps_run_one_after_the_other_when_each_reads_the_one_before() {
    check(
        run_of(json!([
            { "id": "a", "args": { "n": 1 } },
            { "id": "b", "args": { "path": "$steps.a.path", "text": "see {steps.a.path}" }, "preview": "Read {steps.a.path}" },
            { "id": "c", "dependsOn": ["b"], "tags": ["last"] },
        ])),
        r#"
        ok a {"path": "x.md"}
        ok b
        ok c
        "#,
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {"n":1}
            > ok a {"path": "x.md"}
              step.scheduled b {"calls":1}
              start b {"path":"x.md","text":"see x.md"} (Read x.md)
            > ok b
              step.scheduled c {"calls":1,"tags":["last"]}
              start c {}
            > ok c
              run.finished {"status":"ok","steps":{"ok":3}}
              finish ok: a ok (1 calls, 0 failed), b ok (1 calls, 0 failed), c ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

// Conformance: envelope 1.2
#[test]
fn independent_steps_start_together_in_plan_order_as_slots_allow() {
    let mut spec = run_of(json!([
        { "id": "a" }, { "id": "b" }, { "id": "c" },
        { "id": "d", "dependsOn": ["a", "c"] }, { "id": "e" },
    ]));
    spec.limits.max_parallel = 2;
    check(
        spec,
        "
        ok b
        ok a
        ok c
        ok d
        ok e
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              step.scheduled b {"calls":1}
              step.scheduled c {"calls":1}
              step.scheduled e {"calls":1}
              start a {}
              start b {}
            > ok b
              start c {}
            > ok a
              start e {}
            > ok c
              step.scheduled d {"calls":1}
              start d {}
            > ok d
            > ok e
              run.finished {"status":"ok","steps":{"ok":5}}
              finish ok: a ok (1 calls, 0 failed), b ok (1 calls, 0 failed), c ok (1 calls, 0 failed), d ok (1 calls, 0 failed), e ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

// Conformance: envelope 6.2
#[test]
fn a_captured_output_is_a_variable_beside_those_of_the_plan() {
    check(
        run_of_plan(json!({
            "vars": { "folder": "Inbox", "list": [1, 2] },
            "steps": [
                { "id": "a", "args": { "path": "{vars.folder}/x.md" }, "captureAs": "note" },
                { "id": "b", "args": { "text": "$vars.note.lines[1]", "list": "$vars.list" } },
            ],
            "outputs": { "lines": "$vars.note.lines", "said": "read {vars.note.lines[0]}", "fixed": 1 },
        })),
        r#"
        ok a {"lines": ["one", "two"]}
        ok b
        "#,
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {"path":"Inbox/x.md"}
            > ok a {"lines": ["one", "two"]}
              step.scheduled b {"calls":1}
              start b {"text":"two","list":[1,2]}
            > ok b
              run.finished {"status":"ok","steps":{"ok":2}}
              finish ok: a ok (1 calls, 0 failed), b ok (1 calls, 0 failed); outputs {"lines":["one","two"],"said":"read one","fixed":1}
        "#]],
    );
}

#[test]
fn an_output_without_a_value_is_left_out_and_named() {
    check(
        run_of_plan(json!({
            "steps": [{ "id": "a" }],
            "outputs": { "there": "$steps.a.x", "absent": "$steps.a.y" },
        })),
        r#"ok a {"x": 1}"#,
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > ok a {"x": 1}
              run.finished {"status":"ok","steps":{"ok":1},"missingOutputs":{"absent":"`$steps.a.y` has no value: there is no `y`"}}
              finish ok: a ok (1 calls, 0 failed); outputs {"there":1}
        "#]],
    );
}

// Conformance: envelope 6.4
#[test]
fn a_field_that_is_absent_at_run_time_fails_the_step_without_a_call() {
    check(
        run_of(json!([
            { "id": "a" },
            { "id": "b", "args": { "deep": [{ "x": "$steps.a.maybe" }] } },
            { "id": "c" },
        ])),
        "
        ok a
        ok c
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              step.scheduled c {"calls":1}
              start a {}
              start c {}
            > ok a
              step.scheduled b {"calls":1}
              settled b error invalid_arguments: cannot fill in `/args/deep/0/x`: `$steps.a.maybe` has no value: there is no `maybe`
              step.failed b {"status":"error","code":"VALIDATION_ERROR","kind":"invalid_arguments"}
            > ok c
              run.finished {"status":"failed","steps":{"ok":2,"failed":1}}
              finish failed because "step `b` failed: cannot fill in `/args/deep/0/x`: `$steps.a.maybe` has no value: there is no `maybe`": a ok (1 calls, 0 failed), b failed (0 calls, 1 failed: cannot fill in `/args/deep/0/x`: `$steps.a.maybe` has no value: there is no `maybe`), c ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn text_needs_a_scalar_at_run_time_too() {
    check(
        run_of(json!([{ "id": "a" }, { "id": "b", "onError": "skip", "args": { "x": "<{steps.a.list}>" } }])),
        r#"ok a {"list": []}"#,
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > ok a {"list": []}
              step.scheduled b {"calls":1}
              settled b error invalid_arguments: cannot fill in `/args/x`: `{steps.a.list}` is a list, but text needs a string, a number or a boolean
              step.failed b {"status":"error","code":"VALIDATION_ERROR","kind":"invalid_arguments"}
              run.finished {"status":"failed","steps":{"ok":1,"failed":1}}
              finish failed because "finished with failures": a ok (1 calls, 0 failed), b failed (0 calls, 1 failed: cannot fill in `/args/x`: `{steps.a.list}` is a list, but text needs a string, a number or a boolean); outputs {}
        "#]],
    );
}
