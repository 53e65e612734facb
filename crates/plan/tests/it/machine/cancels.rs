//! Tests of cancelling a run.

use expect_test::expect;
use serde_json::json;

use super::script::{Player, check};
use super::world::run_of;

#[test]
fn a_cancel_before_the_yes_ends_the_run_at_once() {
    let mut spec = run_of(json!([{ "id": "a" }]));
    spec.confirm = true;
    check(
        spec,
        "
        cancel changed my mind
        yes late
        ",
        &expect![[r#"
              run.started
              run.confirmationRequested {"question":"plan"}
              ask: plan
            > cancel changed my mind
              run.cancelled {"reason":"changed my mind","openCalls":0}
              settled a skipped: the run was cancelled: changed my mind
              step.finished a {"status":"skipped"}
              run.finished {"status":"cancelled","steps":{"skipped":1}}
              finish cancelled because "changed my mind": a skipped (0 calls, 0 failed); outputs {}
            > yes late
        "#]],
    );
}

#[test]
fn a_cancel_before_the_beginning_is_remembered() {
    let mut player = Player::new(run_of(json!([{ "id": "a" }])));
    player.play("cancel too early");
    player.begin();
    player.begin();
    expect![[r#"
        > cancel too early
          run.started
          run.cancelled {"reason":"too early","openCalls":0}
          settled a skipped: the run was cancelled: too early
          step.finished a {"status":"skipped"}
          run.finished {"status":"cancelled","steps":{"skipped":1}}
          finish cancelled because "too early": a skipped (0 calls, 0 failed); outputs {}
    "#]]
    .assert_eq(&player.into_printed());
}

#[test]
fn a_cancel_cancels_what_is_open_and_starts_nothing_more() {
    check(
        run_of(json!([
            { "id": "a", "foreach": { "from": [1, 2, 3], "itemName": "x", "concurrency": 2 } },
            { "id": "b" },
            { "id": "c", "dependsOn": ["b"] },
        ])),
        "
        cancel stop it
        cancel stop it now
        ok b
        cancelled a[0]
        cancelled a[1]
        cancel again
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":3}
              step.scheduled b {"calls":1}
              start a[0] {}
              start a[1] {}
              start b {}
            > cancel stop it
              run.cancelled {"reason":"stop it","openCalls":3}
              cancel everything
            > cancel stop it now
            > ok b
            > cancelled a[0]
              step.progress a {"done":1,"total":3,"failed":1}
            > cancelled a[1]
              step.progress a {"done":2,"total":3,"failed":2}
              step.finished a {"status":"cancelled","done":2,"total":3}
              settled c skipped: the run was cancelled: stop it
              step.finished c {"status":"skipped"}
              run.finished {"status":"cancelled","steps":{"ok":1,"skipped":1,"cancelled":1}}
              finish cancelled because "stop it": a cancelled (2 calls, 2 failed: cancelled), b ok (1 calls, 0 failed), c skipped (0 calls, 0 failed); outputs {}
            > cancel again
        "#]],
    );
}

#[test]
fn a_cancel_while_only_a_retry_waits_ends_the_run_at_once() {
    check(
        run_of(json!([{ "id": "a", "onError": "retry" }, { "id": "b", "dependsOn": ["a"] }])),
        "
        flaky a
        cancel enough
        fire a#2
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > flaky a
              step.progress a {"attempt":1,"of":3,"retry":"waits","afterMs":107}
              timer next attempt after 107 ms
            > cancel enough
              run.cancelled {"reason":"enough","openCalls":0}
              step.finished a {"status":"cancelled","done":0,"total":1}
              settled b skipped: the run was cancelled: enough
              step.finished b {"status":"skipped"}
              run.finished {"status":"cancelled","steps":{"skipped":1,"cancelled":1}}
              finish cancelled because "enough": a cancelled (1 calls, 0 failed: not now), b skipped (0 calls, 0 failed); outputs {}
            > fire a#2
        "#]],
    );
}

#[test]
fn a_cancelled_call_is_not_tried_again() {
    check(
        run_of(json!([{ "id": "a", "onError": "retry" }])),
        "
        cancel enough
        timeout a
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > cancel enough
              run.cancelled {"reason":"enough","openCalls":1}
              cancel everything
            > timeout a
              run.finished {"status":"cancelled","steps":{"failed":1}}
              finish cancelled because "enough": a failed (1 calls, 1 failed: too slow); outputs {}
        "#]],
    );
}

#[test]
fn a_cancel_after_a_failure_decides_how_the_run_ends() {
    check(
        run_of(json!([{ "id": "a" }, { "id": "b" }])),
        "
        fail a
        cancel enough
        cancelled b
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              step.scheduled b {"calls":1}
              start a {}
              start b {}
            > fail a
            > cancel enough
              run.cancelled {"reason":"enough","openCalls":1}
              cancel everything
            > cancelled b
              run.finished {"status":"cancelled","steps":{"failed":1,"cancelled":1}}
              finish cancelled because "enough": a failed (1 calls, 1 failed: it broke), b cancelled (1 calls, 1 failed: cancelled); outputs {}
        "#]],
    );
}

#[test]
fn a_cancel_after_the_end_changes_nothing() {
    check(
        run_of(json!([{ "id": "a" }])),
        "
        ok a
        cancel late
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > ok a
              run.finished {"status":"ok","steps":{"ok":1}}
              finish ok: a ok (1 calls, 0 failed); outputs {}
            > cancel late
        "#]],
    );
}
