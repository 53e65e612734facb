//! Artifacts of earlier runs, read through the gate.

use crate::support::TestVault;
use expect_test::{Expect, expect};

/// A vault with one run that left an artifact. Returns the id of the run.
fn left(sandbox: &TestVault, name: &str, content: &str) -> String {
    let call =
        sandbox.tollgate(&["call", "vault.readFile", r#"{"path":"Inbox.md"}"#, "--json"]).expect_code(0);
    let id = call.json()["runId"].as_str().unwrap().to_owned();
    sandbox.write(&format!("vault/.tollgate/runs/{id}/artifacts/{name}"), content);
    id
}

#[track_caller]
fn check(sandbox: &TestVault, args: &str, code: i32, expected: &Expect) {
    let ended = sandbox.tollgate(&["call", "artifact.read", args]).expect_code(code);
    expected.assert_eq(&sandbox.scrub(&ended.out));
}

#[test]
fn an_artifact_of_an_earlier_run_is_read_by_its_name() {
    let sandbox = TestVault::new();
    let log: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    let id = left(&sandbox, "build-stdout.log", &log);
    let path = r#""path":"artifacts/build-stdout.log""#;
    check(
        &sandbox,
        &format!(r#"{{{path},"run":"last","tail":{{"lines":2}}}}"#),
        0,
        &expect![[r#"
        The last 2 lines of artifacts/build-stdout.log (100 lines, 792 bytes) of run ID
        line 99
        line 100
    "#]],
    );
    // Reading makes a run as well; the last one that left something is still the same.
    check(
        &sandbox,
        &format!(r#"{{{path},"run":"last","head":{{"lines":1}}}}"#),
        0,
        &expect![[r#"
            The first line of artifacts/build-stdout.log (100 lines, 792 bytes) of run ID
            line 1
            … go on with artifact_read {"path":"artifacts/build-stdout.log","run":"ID","lines":{"start":2,"count":1,"at_byte":7}}
        "#]],
    );
    check(
        &sandbox,
        &format!(r#"{{{path},"run":"{id}","grep":{{"pattern":"9$","max_matches":1}}}}"#),
        0,
        &expect![[r#"
            1 matching line so far in artifacts/build-stdout.log (792 bytes) of run ID
            9: line 9
            … go on with artifact_read {"path":"artifacts/build-stdout.log","run":"ID","grep":{"pattern":"9$","max_matches":1,"from_line":19,"at_byte":135}}
        "#]],
    );
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let sandbox = TestVault::new();
    check(
        &sandbox,
        r#"{"path":"artifacts/a.log","run":"last"}"#,
        1,
        &expect![[r#"
        artifact.read failed (not_found): no run has left artifacts so far
        Next: artifacts are left by calls whose output is too long for a receipt
    "#]],
    );
    left(&sandbox, "build-stdout.log", "one\n");
    check(
        &sandbox,
        r#"{"path":"artifacts/a.log"}"#,
        1,
        &expect![[r#"
        artifact.read failed (not_found): there is no artifact `artifacts/a.log` in this run
        Next: this run has left no artifacts so far; name another run with `run`, such as "last"
    "#]],
    );
    check(
        &sandbox,
        r#"{"path":"artifacts/build-stdotu.log","run":"last"}"#,
        1,
        &expect![[r#"
        artifact.read failed (not_found): there is no artifact `artifacts/build-stdotu.log` in run ID
        Next: did you mean `artifacts/build-stdout.log`?
    "#]],
    );
    check(
        &sandbox,
        r#"{"path":"artifacts/a.log","run":"nope"}"#,
        1,
        &expect![[r#"
        artifact.read failed (not_found): no run is named `nope`; `tollgate runs` lists them
        Next: give the id of a run, the beginning of it, or "last"
    "#]],
    );
    check(
        &sandbox,
        r#"{"path":"../run.json","run":"last"}"#,
        1,
        &expect![[r#"
        artifact.read failed (not_found): `../run.json` is not the path of an artifact
        Next: give it as a receipt names it, such as `artifacts/build-stdout.log`
    "#]],
    );
}
