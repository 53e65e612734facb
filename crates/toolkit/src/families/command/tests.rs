//! What no output of a command may do to a receipt.

use expect_test::expect;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};

use super::{Command, End, project};
use crate::families::checks::{Nowhere, cases, receipt};
use crate::families::printed::Output;
use crate::families::streams::Stream;
use crate::families::task::{Retrieval, Snapshot, Task, TaskStatus};
use crate::families::{Projected, Projection, task};

fn stream(text: &str) -> Stream<'_> {
    let lines = Some(text.lines().count() as u64);
    Stream { text, complete: true, from: 0, bytes: text.len() as u64, lines, digest: None, artifact: None }
}

#[track_caller]
fn receipt_of(text: &str, artifact: Option<&str>) -> String {
    let end = End::Exited(0);
    let output = Output::Combined(Stream { artifact, ..stream(text) });
    let completed = Command::Completed { end, output, unsandboxed: false };
    let projected = project(&completed, &mut Projection::new(500, None)).unwrap();
    receipt("ran", &projected, 500)
}

#[test]
fn bytes_that_are_no_text_are_not_shown_where_they_can_be_read() {
    let picture: String = ('\0'..='\u{1f}').chain("PNG".chars()).chain(['\u{fffd}'; 40]).collect();
    expect![[r"
        Process exited with code 0
        Full output: artifacts/icon.png (2 lines, 155 bytes); page it with artifact.read
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
        Full output: artifacts/names.txt (1 lines, 20 bytes); page it with artifact.read
        output:
        ./a.md\u{0}./Notes/b.md\u{0}"]]
    .assert_eq(&receipt_of(names, Some("artifacts/names.txt")));
}

/// Lines as programs print them: many that are alike, long ones, foreign ones, and figures.
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

    #[test]
    fn a_receipt_keeps_to_its_budget(
        out in printed(),
        err in printed(),
        terminal in any::<bool>(),
        unsandboxed in any::<bool>(),
        budget in 200_usize..2_000,
    ) {
        let output = match terminal {
            true => Output::Combined(stream(&out)),
            false => Output::Separate { stdout: stream(&out), stderr: stream(&err) },
        };
        let check = |project: &dyn Fn(&mut Projection<'_>) -> Projected| {
            let sink = Nowhere::default();
            receipt("ran", &project(&mut Projection::new(budget, Some(&sink))), budget);
        };
        let completed = Command::Completed { end: End::Exited(101), output, unsandboxed };
        check(&|with| project(&completed, with).unwrap());
        let promoted = Command::Promoted { task_id: "task-12", output, unsandboxed };
        check(&|with| project(&promoted, with).unwrap());
        let snapshot = Snapshot {
            task_id: "task-12",
            command: &out,
            status: TaskStatus::Killed,
            exit_status: None,
            signal: Some("SIGKILL"),
            runtime_ms: 123_456,
        };
        let seen = Task::Output { retrieval: Retrieval::Success, task: snapshot.clone(), output };
        check(&|with| task::project(&seen, with).unwrap());
        let listed = Task::Listed(vec![snapshot; out.len() % 70]);
        check(&|with| task::project(&listed, with).unwrap());
    }
}
