//! No output of a command can break a receipt.

use expect_test::expect;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};

use super::{CommandReport, ProcessExit, project};
use crate::families::process_output::ProcessOutput;
use crate::families::streams::ProcessStream;
use crate::families::task::{TaskReport, TaskRetrieval, TaskSnapshot, TaskStatus, TaskWait, TaskWaitEnd};
use crate::families::test_support::{DiscardingSink, cases, receipt};
use crate::families::{ProjectedResult, Projection, task};

fn stream(text: &str) -> ProcessStream<'_> {
    let lines = Some(text.lines().count() as u64);
    ProcessStream {
        text,
        complete: true,
        from: 0,
        bytes: text.len() as u64,
        lines,
        digest: None,
        artifact: None,
    }
}

#[track_caller]
fn receipt_of(text: &str, artifact: Option<&str>) -> String {
    let end = ProcessExit::Exited(0);
    let output = ProcessOutput::Combined(ProcessStream { artifact, ..stream(text) });
    let completed = CommandReport::Completed { end, output, unsandboxed: false, warnings: &[] };
    let projected = project(&completed, &mut Projection::new(500, None)).unwrap();
    receipt("ran", &projected, 500)
}

#[test]
fn bytes_that_are_no_text_are_not_shown_where_they_can_be_read() {
    let picture: String = ('\0'..='\u{1f}').chain("PNG".chars()).chain(['\u{fffd}'; 40]).collect();
    expect![[r"
        Process exited with code 0
        Full output: artifacts/icon.png (2 lines, 155 bytes); page it with artifact_read
        output:
        [bytes that are no text]"]]
    .assert_eq(&receipt_of(&picture, Some("artifacts/icon.png")));
    assert!(receipt_of(&picture, None).contains("PNG\u{fffd}"));
}

#[test]
fn a_text_with_a_sign_that_cannot_be_seen_behind_each_name_is_a_text() {
    let names = "./a.md\0./Notes/b.md\0";
    expect![[r"
        Process exited with code 0
        Full output: artifacts/names.txt (1 lines, 20 bytes); page it with artifact_read
        output:
        ./a.md\u{0}./Notes/b.md\u{0}"]]
    .assert_eq(&receipt_of(names, Some("artifacts/names.txt")));
}

/// Generates typical lines of programs: similar ones, long ones, non-ASCII ones, and numbers.
fn printed() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-z]{1,8}( [a-z]{1,8}){0,9}",
        "warning: [a-c] is unused \\([0-9]{1,2}\\)",
        "[0-9a-f]{20,60}",
        "\\PC{0,30}[\t\u{1b}\u{202e}\u{ad}\u{34f}\u{2800}\u{fe0f}\u{e0041}]{0,1}",
    ];
    vec(line, 0..120).prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect())
}

proptest! {
    #![proptest_config(cases(48))]

    // Conformance: result 5.6
    #[test]
    fn a_receipt_keeps_to_its_budget(
        out in printed(),
        err in printed(),
        terminal in any::<bool>(),
        unsandboxed in any::<bool>(),
        warnings in vec("[a-z`/. ]{0,200}", 0..4),
        budget in 200_usize..2_000,
    ) {
        let output = match terminal {
            true => ProcessOutput::Combined(stream(&out)),
            false => ProcessOutput::Separate { stdout: stream(&out), stderr: stream(&err) },
        };
        // Warnings are added even if the budget has no room for them.
        let budget = if warnings.is_empty() { budget } else { budget + 40 };
        let check = |project: &dyn Fn(&mut Projection<'_>) -> ProjectedResult| {
            let sink = DiscardingSink::default();
            receipt("ran", &project(&mut Projection::new(budget, Some(&sink))), budget);
        };
        let completed = CommandReport::Completed { end: ProcessExit::Exited(101), output, unsandboxed, warnings: &warnings };
        check(&|with| project(&completed, with).unwrap());
        let promoted = CommandReport::Promoted { task_id: "task-12", output, unsandboxed };
        check(&|with| project(&promoted, with).unwrap());
        let snapshot = TaskSnapshot {
            task_id: "task-12",
            command: &out,
            status: TaskStatus::Killed,
            exit_status: None,
            signal: Some("SIGKILL"),
            runtime_ms: 123_456,
        };
        let wait = TaskWait { reason: TaskWaitEnd::Matched, matched_line: Some(&out) };
        let task = snapshot.clone();
        let seen =
            TaskReport::Output { retrieval: TaskRetrieval::Success, wait, task, output, warnings: &warnings };
        check(&|with| task::project(&seen, with).unwrap());
        let listed = TaskReport::Listed(vec![snapshot; out.len() % 70]);
        check(&|with| task::project(&listed, with).unwrap());
    }
}
