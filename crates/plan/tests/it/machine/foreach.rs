//! Tests of foreach: one call for each item of a list.

use expect_test::expect;
use serde_json::json;

use super::script::check;
use super::world::{run_of, run_of_plan};

// Conformance: envelope 1.3
//     A step over a list becomes one call an item, each of which knows its item.
//     In: plan/machine/expand.rs
// Conformance: envelope 3.4
//     Inside a repetition it carries index, item name and item value, and the id of the whole repetition.
//     In: plan/machine/call_draft.rs
// Conformance: envelope 6.3
#[test]
fn items_run_as_many_at_a_time_as_the_step_says_and_keep_their_order() {
    check(
        run_of_plan(json!({
            "steps": [{
                "id": "a",
                "args": { "title": "{index}: {note.t}", "n": "$note.n", "i": "$index", "whole": "$note" },
                "foreach": {
                    "from": [{ "t": "x", "n": 1 }, { "t": "y", "n": 2 }, { "t": "z", "n": 3 }],
                    "itemName": "note", "concurrency": 2,
                },
            }],
            "outputs": { "all": "$steps.a" },
        })),
        r#"
        ok a[1] {"at": 1}
        ok a[0] {"at": 0}
        ok a[2] {"at": 2}
        "#,
        &expect![[r#"
              run.started
              step.scheduled a {"calls":3}
              start a[0] {"title":"0: x","n":1,"i":0,"whole":{"t":"x","n":1}}
              start a[1] {"title":"1: y","n":2,"i":1,"whole":{"t":"y","n":2}}
            > ok a[1] {"at": 1}
              step.progress a {"done":1,"total":3,"failed":0}
              start a[2] {"title":"2: z","n":3,"i":2,"whole":{"t":"z","n":3}}
            > ok a[0] {"at": 0}
              step.progress a {"done":2,"total":3,"failed":0}
            > ok a[2] {"at": 2}
              step.progress a {"done":3,"total":3,"failed":0}
              run.finished {"status":"ok","steps":{"ok":1}}
              finish ok: a ok (3 calls, 0 failed); outputs {"all":{"items":[{"at":0},{"at":1},{"at":2}],"count":3,"failed":0}}
        "#]],
    );
}

#[test]
fn a_foreach_goes_over_another_steps_output_and_others_read_its_output() {
    check(
        run_of(json!([
            { "id": "parse" },
            { "id": "make", "args": { "p": "{x}.md" }, "foreach": { "from": "$steps.parse.items", "itemName": "x" } },
            { "id": "link", "args": { "first": "{steps.make.items[0].path}", "of": "$steps.make.count" } },
            { "id": "check", "args": { "p": "{made.path}" }, "foreach": { "from": "$steps.make.items", "itemName": "made" } },
        ])),
        r#"
        ok parse {"items": ["a", "b"]}
        ok make[0] {"path": "a.md"}
        ok make[1] {"path": "b.md"}
        ok link
        ok check[0]
        ok check[1]
        "#,
        &expect![[r#"
              run.started
              step.scheduled parse {"calls":1}
              start parse {}
            > ok parse {"items": ["a", "b"]}
              step.scheduled make {"calls":2}
              start make[0] {"p":"a.md"}
              start make[1] {"p":"b.md"}
            > ok make[0] {"path": "a.md"}
              step.progress make {"done":1,"total":2,"failed":0}
            > ok make[1] {"path": "b.md"}
              step.progress make {"done":2,"total":2,"failed":0}
              step.scheduled link {"calls":1}
              step.scheduled check {"calls":2}
              start link {"first":"a.md","of":2}
              start check[0] {"p":"a.md"}
              start check[1] {"p":"b.md"}
            > ok link
            > ok check[0]
              step.progress check {"done":1,"total":2,"failed":0}
            > ok check[1]
              step.progress check {"done":2,"total":2,"failed":0}
              run.finished {"status":"ok","steps":{"ok":4}}
              finish ok: parse ok (1 calls, 0 failed), make ok (2 calls, 0 failed), link ok (1 calls, 0 failed), check ok (2 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn an_empty_list_is_done_at_once() {
    check(
        run_of_plan(json!({
            "steps": [
                { "id": "a", "foreach": { "from": [], "itemName": "x" } },
                { "id": "b", "args": { "n": "$steps.a.count" } },
            ],
            "outputs": { "a": "$steps.a" },
        })),
        "ok b",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":0}
              step.finished a {"status":"ok","calls":0}
              step.scheduled b {"calls":1}
              start b {"n":0}
            > ok b
              run.finished {"status":"ok","steps":{"ok":2}}
              finish ok: a ok (0 calls, 0 failed), b ok (1 calls, 0 failed); outputs {"a":{"items":[],"count":0,"failed":0}}
        "#]],
    );
}

#[test]
fn a_list_with_references_in_it_is_put_together_first() {
    check(
        run_of(json!([
            { "id": "a" },
            { "id": "b", "args": { "x": "$x" }, "foreach": { "from": ["$steps.a.n", "{steps.a.n}", 3], "itemName": "x" } },
        ])),
        r#"
        ok a {"n": 1}
        "#,
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > ok a {"n": 1}
              step.scheduled b {"calls":3}
              start b[0] {"x":1}
              start b[1] {"x":"1"}
              start b[2] {"x":3}
        "#]],
    );
}

#[test]
fn what_is_no_list_fails_the_step_and_says_what_it_was() {
    check(
        run_of(json!([
            { "id": "a" },
            { "id": "b", "foreach": { "from": "$steps.a.items", "itemName": "x" }, "onError": "skip" },
            { "id": "c", "foreach": { "from": "$steps.a.nothing", "itemName": "x" } },
        ])),
        r#"ok a {"items": "one, two"}"#,
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > ok a {"items": "one, two"}
              settled b error invalid_arguments: `foreach.from` must be a list, but it is a string
              step.failed b {"status":"error","code":"VALIDATION_ERROR","kind":"invalid_arguments"}
              settled c error invalid_arguments: cannot fill in `/foreach/from`: `$steps.a.nothing` has no value: there is no `nothing`
              step.failed c {"status":"error","code":"VALIDATION_ERROR","kind":"invalid_arguments"}
              run.finished {"status":"failed","steps":{"ok":1,"failed":2}}
              finish failed because "step `c` failed: cannot fill in `/foreach/from`: `$steps.a.nothing` has no value: there is no `nothing`": a ok (1 calls, 0 failed), b failed (0 calls, 1 failed: `foreach.from` must be a list, but it is a string), c failed (0 calls, 1 failed: cannot fill in `/foreach/from`: `$steps.a.nothing` has no value: there is no `nothing`); outputs {}
        "#]],
    );
}

#[test]
fn failed_items_are_null_under_skip_and_what_follows_runs() {
    check(
        run_of(json!([
            { "id": "a", "onError": "skip", "foreach": { "from": [1, 2, 3], "itemName": "x" } },
            { "id": "b", "args": { "all": "$steps.a.items", "failed": "$steps.a.failed" } },
        ])),
        r#"
        ok a[0] {"n": 1}
        fail a[1]
        ok a[2] {"n": 3}
        ok b
        "#,
        &expect![[r#"
              run.started
              step.scheduled a {"calls":3}
              start a[0] {}
              start a[1] {}
              start a[2] {}
            > ok a[0] {"n": 1}
              step.progress a {"done":1,"total":3,"failed":0}
            > fail a[1]
              step.progress a {"done":2,"total":3,"failed":1}
            > ok a[2] {"n": 3}
              step.progress a {"done":3,"total":3,"failed":1}
              step.scheduled b {"calls":1}
              start b {"all":[{"n":1},null,{"n":3}],"failed":1}
            > ok b
              run.finished {"status":"failed","steps":{"ok":1,"partial":1}}
              finish failed because "finished with failures": a partial (3 calls, 1 failed: it broke), b ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_foreach_of_which_every_item_failed_has_failed() {
    check(
        run_of(json!([
            { "id": "a", "onError": "skip", "args": { "x": "$x.t" }, "foreach": { "from": [{ "t": 1 }, {}], "itemName": "x" } },
            { "id": "b", "dependsOn": ["a"] },
            { "id": "c" },
        ])),
        "
        fail a[0]
        ok c
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":2}
              step.scheduled c {"calls":1}
              start a[0] {"x":1}
              settled a[1] error invalid_arguments: cannot fill in `/args/x`: `$x.t` has no value: there is no `t`
              step.failed a {"status":"error","code":"VALIDATION_ERROR","kind":"invalid_arguments"}
              step.progress a {"done":1,"total":2,"failed":1}
              start c {}
            > fail a[0]
              step.progress a {"done":2,"total":2,"failed":2}
              settled b skipped: step `a` failed
              step.finished b {"status":"skipped"}
            > ok c
              run.finished {"status":"failed","steps":{"ok":1,"failed":1,"skipped":1}}
              finish failed because "finished with failures": a failed (1 calls, 2 failed: cannot fill in `/args/x`: `$x.t` has no value: there is no `t`), b skipped (0 calls, 0 failed), c ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn progress_is_told_for_every_hundredth_of_a_long_list() {
    let list: Vec<u32> = (0..400).collect();
    let mut spec = run_of(json!([{ "id": "a", "foreach": { "from": list, "itemName": "x" } }]));
    spec.limits.max_parallel = 1;
    let mut player = super::script::Player::new(spec);
    player.begin();
    for index in 0..400 {
        player.play(&format!("ok a[{index}]"));
    }
    let printed = player.into_printed();
    assert_eq!(printed.lines().filter(|line| line.contains("step.progress")).count(), 100);
    assert_eq!(printed.lines().filter(|line| line.contains("start a[")).count(), 400);
}

#[test]
fn an_item_that_stands_for_a_failed_one_is_skipped() {
    check(
        run_of(json!([
            { "id": "make", "args": {}, "foreach": { "from": ["a", "b"], "itemName": "x" }, "onError": "skip" },
            { "id": "check", "args": { "p": "{made.path}" }, "foreach": { "from": "$steps.make.items", "itemName": "made" } },
        ])),
        r#"
        fail make[0]
        ok make[1] {"path": "b.md"}
        ok check[1]
        "#,
        &expect![[r#"
              run.started
              step.scheduled make {"calls":2}
              start make[0] {}
              start make[1] {}
            > fail make[0]
              step.progress make {"done":1,"total":2,"failed":1}
            > ok make[1] {"path": "b.md"}
              step.progress make {"done":2,"total":2,"failed":1}
              step.scheduled check {"calls":2}
              settled check[0] skipped: item 1 of step `make` has no output
              step.finished check {"status":"skipped"}
              step.progress check {"done":1,"total":2,"failed":0}
              start check[1] {"p":"b.md"}
            > ok check[1]
              step.progress check {"done":2,"total":2,"failed":0}
              run.finished {"status":"failed","steps":{"ok":1,"partial":1}}
              finish failed because "finished with failures": make partial (2 calls, 1 failed: it broke), check ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_null_that_no_step_left_is_an_item_like_any_other() {
    check(
        run_of(json!([
            { "id": "make", "args": { "of": "$x" }, "foreach": { "from": [null, 1], "itemName": "x" } },
        ])),
        r#"
        ok make[0]
        ok make[1]
        "#,
        &expect![[r#"
              run.started
              step.scheduled make {"calls":2}
              start make[0] {"of":null}
              start make[1] {"of":1}
            > ok make[0]
              step.progress make {"done":1,"total":2,"failed":0}
            > ok make[1]
              step.progress make {"done":2,"total":2,"failed":0}
              run.finished {"status":"ok","steps":{"ok":1}}
              finish ok: make ok (2 calls, 0 failed); outputs {}
        "#]],
    );
}
