//! Commands that outlive their call: new output is returned once, and they can be written to and stopped.

use std::time::Duration;

use expect_test::expect;
use shell::process::{
    ChildExit, CommandInput, CommandJob, CommandOutcome, CommandSpawner, EndCause, OutputPattern,
    RetrievalStatus, RunningCommand, TaskId, TaskRegistry, TaskState, TaskUpdate, WaitCondition, WaitEnd,
    run_command,
};
use toolkit::CancelToken;

use super::job::{TempArtifacts, shell_job};

const LONG: Duration = Duration::from_secs(20);

async fn promoted(tasks: &TaskRegistry, job: CommandJob) -> TaskId {
    tasks.promote(RunningCommand::start(&CommandSpawner::new().unwrap(), job).await.unwrap())
}

/// Reads until `text` has arrived. Returns the output.
async fn read_until(tasks: &TaskRegistry, id: TaskId, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        let found = tasks.read_output_confirmed(id, LONG, 1 << 20).await.unwrap();
        assert_eq!(found.status, RetrievalStatus::Success);
        seen.push_str(&shown(&found));
    }
    seen
}

fn shown(found: &TaskUpdate) -> String {
    String::from_utf8(found.output.stdout.head.clone()).unwrap()
}

// Conformance: result 6.3
#[tokio::test]
async fn a_look_gives_what_is_new_and_only_once() {
    let tasks = TaskRegistry::new();
    let mut talk =
        shell_job("while read word; do echo \"heard $word\"; done; echo bye", TempArtifacts::new());
    talk.input = CommandInput::Open(b"a\n".to_vec());
    let id = promoted(&tasks, talk).await;
    assert_eq!(read_until(&tasks, id, "\n").await, "heard a\n");

    let nothing = tasks.read_output_confirmed(id, Duration::ZERO, 100).await.unwrap();
    assert_eq!((nothing.status, shown(&nothing)), (RetrievalStatus::NotReady, String::new()));
    let waited = tasks.read_output_confirmed(id, Duration::from_millis(20), 100).await.unwrap();
    assert_eq!((waited.status, shown(&waited)), (RetrievalStatus::Timeout, String::new()));

    tasks.input(id, b"b\n", false).unwrap();
    assert_eq!(read_until(&tasks, id, "\n").await, "heard b\n");
    tasks.input(id, b"c\n", true).unwrap();
    assert_eq!(read_until(&tasks, id, "bye\n").await, "heard c\nbye\n");
    expect![[r#"
        Fault {
            failure: PreconditionFailed,
            message: "the command's input is closed",
            details: None,
            hint: Some(
                "Start the command again with its input open, or give it everything at the start.",
            ),
            retryable: None,
        }
    "#]]
    .assert_debug_eq(&tasks.input(id, b"d\n", false).unwrap_err());
}

#[tokio::test]
async fn what_a_look_gave_out_is_new_again_if_it_did_not_arrive() {
    let tasks = TaskRegistry::new();
    let mut talk = shell_job("echo first; read word; echo second", TempArtifacts::new());
    talk.input = CommandInput::Open(Vec::new());
    let id = promoted(&tasks, talk).await;
    let (seen, lost) = tasks.read_output(id, LONG, 100).await.unwrap();
    assert_eq!(shown(&seen), "first\n");
    drop(lost);
    let (seen, taken) = tasks.read_output(id, LONG, 100).await.unwrap();
    assert_eq!(shown(&seen), "first\n");
    taken.confirm();
    tasks.input(id, b"go\n", true).unwrap();
    assert_eq!(read_until(&tasks, id, "\n").await, "second\n");
}

#[tokio::test]
async fn half_a_character_is_waited_for_like_silence() {
    let tasks = TaskRegistry::new();
    // Prints the first of two bytes, and the second one after an input.
    let mut talk = shell_job("printf '\\303'; read word; printf '\\274\\n'; read word", TempArtifacts::new());
    talk.input = CommandInput::Open(Vec::new());
    let id = promoted(&tasks, talk).await;
    while tasks.get(id).unwrap().bytes == 0 {
        tokio::task::yield_now().await;
    }
    // The clock is paused from here on: a call that returns at once has not waited.
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let waited = tasks.read_output_confirmed(id, Duration::from_secs(5), 100).await.unwrap();
    assert_eq!((waited.status, shown(&waited)), (RetrievalStatus::Timeout, String::new()));
    assert!(begun.elapsed() >= Duration::from_secs(5));
    tokio::time::resume();
    tasks.input(id, b"go\n", false).unwrap();
    assert_eq!(read_until(&tasks, id, "\n").await, "ü\n");
    tasks.stop(id, Duration::ZERO).await.unwrap();
}

/// Waits for a task, at most `limit`. Returns why the wait ended and the new output.
async fn waited(
    tasks: &TaskRegistry,
    id: TaskId,
    until: &WaitCondition<'_>,
    limit: Duration,
) -> (WaitEnd, String) {
    let (seen, taken) = tasks.read_output_when(id, until, limit, 1 << 20).await.unwrap();
    taken.confirm();
    let printed = shown(&seen);
    (seen.waited, printed)
}

#[tokio::test]
async fn one_call_waits_for_the_end_of_a_task_that_prints_all_the_time() {
    let tasks = TaskRegistry::new();
    let mut talk = shell_job("while read word; do echo $word; done; echo bye", TempArtifacts::new());
    talk.input = CommandInput::Open(b"a\nb\n".to_vec());
    let id = promoted(&tasks, talk).await;
    let exit = WaitCondition::default();
    let wait = waited(&tasks, id, &exit, LONG);
    let talk = async {
        for word in ["c", "d", "e"] {
            tasks.input(id, format!("{word}\n").as_bytes(), word == "e").unwrap();
            tokio::task::yield_now().await;
        }
    };
    let ((why, printed), ()) = tokio::join!(wait, talk);
    assert_eq!((why, printed.as_str()), (WaitEnd::Exited, "a\nb\nc\nd\ne\nbye\n"));
}

#[tokio::test]
async fn a_wait_ends_with_the_line_that_matches_and_a_task_that_ends_without_one_ends_it_too() {
    let tasks = TaskRegistry::new();
    let server = "echo starting >&2; echo loading; read word; echo listening on :3000; read word; echo bye";
    let mut talk = shell_job(server, TempArtifacts::new());
    talk.input = CommandInput::Open(Vec::new());
    let id = promoted(&tasks, talk).await;
    let pattern = OutputPattern::compile("listening on :\\d+").unwrap();
    let until = WaitCondition { pattern: Some(&pattern), ..WaitCondition::default() };
    let wait = waited(&tasks, id, &until, LONG);
    let talk = async { tasks.input(id, b"go\n", false).unwrap() };
    let ((why, printed), ()) = tokio::join!(wait, talk);
    assert_eq!(why, WaitEnd::Matched("listening on :3000".to_owned()));
    assert_eq!(printed, "loading\nlistening on :3000\n");
    // It is searched for in new output only.
    tasks.input(id, b"go\n", true).unwrap();
    let (why, printed) = waited(&tasks, id, &until, LONG).await;
    assert_eq!((why, printed.as_str()), (WaitEnd::Exited, "bye\n"));
}

#[tokio::test]
async fn a_wait_ends_when_nothing_was_printed_for_a_time_or_at_its_deadline() {
    let tasks = TaskRegistry::new();
    let mut talk = shell_job("echo first; read word; echo second; read word", TempArtifacts::new());
    talk.input = CommandInput::Open(Vec::new());
    let id = promoted(&tasks, talk).await;
    while tasks.get(id).unwrap().bytes == 0 {
        tokio::task::yield_now().await;
    }
    // The clock is paused from here on: a call that returns at once has not waited.
    tokio::time::pause();
    let quiet = WaitCondition { quiet: Some(Duration::from_secs(3)), ..WaitCondition::default() };
    let begun = tokio::time::Instant::now();
    let (why, printed) = waited(&tasks, id, &quiet, LONG).await;
    assert_eq!((why, printed.as_str()), (WaitEnd::Quiet, "first\n"));
    assert!(begun.elapsed() >= Duration::from_secs(3));
    let (why, printed) = waited(&tasks, id, &WaitCondition::default(), Duration::from_secs(5)).await;
    assert_eq!((why, printed.as_str()), (WaitEnd::TimedOut, ""));
    assert!(begun.elapsed() >= Duration::from_secs(8));
    tokio::time::resume();
    tasks.stop(id, Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_long_wait_does_not_hold_up_another_reader_and_can_be_dropped() {
    let tasks = TaskRegistry::new();
    let mut talk = shell_job("echo first; read word", TempArtifacts::new());
    talk.input = CommandInput::Open(Vec::new());
    let id = promoted(&tasks, talk).await;
    let exit = WaitCondition::default();
    let mut long = std::pin::pin!(waited(&tasks, id, &exit, LONG));
    let look = async {
        while tasks.get(id).unwrap().bytes == 0 {
            tokio::task::yield_now().await;
        }
        tasks.read_output_confirmed(id, LONG, 100).await.unwrap()
    };
    let looked = tokio::select! {
        biased;
        _ended = &mut long => panic!("the task has not ended"),
        looked = look => looked,
    };
    assert_eq!((looked.waited.clone(), shown(&looked)), (WaitEnd::NewOutput, "first\n".to_owned()));
    tasks.input(id, b"", true).unwrap();
    assert_eq!(long.await, (WaitEnd::Exited, String::new()));
}

#[tokio::test]
async fn a_command_that_takes_longer_than_its_call_waits_becomes_a_task() {
    let (spawner, tasks, cancel) = (CommandSpawner::new().unwrap(), TaskRegistry::new(), CancelToken::new());
    let patience = Some(Duration::from_millis(10));
    let outcome =
        run_command(&spawner, &tasks, shell_job("exec sleep 1000", TempArtifacts::new()), patience, &cancel)
            .await;
    let CommandOutcome::Promoted(id) = outcome else { panic!("{outcome:?}") };
    assert_eq!((id.to_string(), tasks.get(id).unwrap().state), ("task_1".to_owned(), TaskState::Running));
}

#[tokio::test]
async fn a_task_that_has_ended_stays_listed_with_how_it_ended() {
    let tasks = TaskRegistry::new();
    let ends = promoted(&tasks, shell_job("echo one; exit 3", TempArtifacts::new())).await;
    let stays = promoted(&tasks, shell_job("exec sleep 1000", TempArtifacts::new())).await;
    let end = loop {
        let found = tasks.read_output_confirmed(ends, LONG, 100).await.unwrap();
        if let Some(end) = found.end {
            break end;
        }
    };
    assert_eq!(end.as_ref().as_ref().unwrap().exit, Some(ChildExit::Code(3)));
    let stopped = tasks.stop(stays, Duration::from_secs(1)).await.unwrap();
    assert_eq!(stopped.as_ref().as_ref().unwrap().cause, EndCause::Stopped);
    let listed: Vec<_> = tasks
        .list()
        .into_iter()
        .map(|it| (it.id.to_string(), it.command, it.state, it.exit, it.bytes))
        .collect();
    expect![[r#"
        [
            (
                "task_1",
                "echo one; exit 3",
                Exited,
                Some(
                    Code(
                        3,
                    ),
                ),
                4,
            ),
            (
                "task_2",
                "exec sleep 1000",
                Killed,
                Some(
                    Signal(
                        15,
                    ),
                ),
                0,
            ),
        ]
    "#]]
    .assert_debug_eq(&listed);
}

#[tokio::test]
async fn a_stop_lets_a_command_tidy_up() {
    let tasks = TaskRegistry::new();
    let script = "trap 'echo tidied; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let id = promoted(&tasks, shell_job(script, TempArtifacts::new())).await;
    read_until(&tasks, id, "ready").await;
    let end = tasks.stop(id, LONG).await.unwrap();
    let finished = end.as_ref().as_ref().unwrap();
    let whole = (finished.cause, finished.exit, finished.stdout.text.as_deref());
    assert_eq!(whole, (EndCause::Stopped, Some(ChildExit::Code(5)), Some(&b"ready\ntidied\n"[..])));
}

#[tokio::test]
async fn the_time_of_a_command_goes_on_when_it_is_a_task() {
    let tasks = TaskRegistry::new();
    let mut slow = shell_job("exec sleep 1000", TempArtifacts::new());
    slow.limits.timeout = Some(Duration::from_millis(50));
    let id = promoted(&tasks, slow).await;
    let found = tasks.read_output_confirmed(id, LONG, 100).await.unwrap();
    let end = found.end.expect("nothing is printed, so it is the end");
    assert_eq!(
        (end.as_ref().as_ref().unwrap().cause, found.task.state),
        (EndCause::TimedOut, TaskState::Killed)
    );
}

#[tokio::test]
async fn a_hundred_tasks_that_have_ended_are_remembered_and_no_more() {
    let tasks = TaskRegistry::new();
    for _ in 0..103 {
        let id = promoted(&tasks, shell_job("exec sleep 1000", TempArtifacts::new())).await;
        tasks.stop(id, Duration::ZERO).await.unwrap();
    }
    let names: Vec<String> = tasks.list().iter().map(|task| task.id.to_string()).collect();
    // The newest was alive when it was added.
    assert_eq!((names.len(), names[0].as_str(), names[100].as_str()), (101, "task_3", "task_103"));
    let forgotten = tasks.get(TaskId::parse("task_1").unwrap()).unwrap_err();
    assert_eq!(forgotten.message, "there is no task `task_1`");
}

#[test]
fn a_task_has_one_name() {
    let parsed = ["task_1", "task_01", "task_+1", "task_", "1", "task_18446744073709551616", "Task_1"]
        .map(|text| TaskId::parse(text).map(|id| id.to_string()));
    assert_eq!(parsed, [Some("task_1".to_owned()), None, None, None, None, None, None]);
}
