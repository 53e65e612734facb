//! A command at a terminal: it sees one, both streams are one, and it can be typed into.

use std::time::Duration;

use shell::process::{
    ChildExit, CommandInput, CommandOutcome, CommandSpawner, OutputCursor, RunningCommand, TaskRegistry,
    TerminalSize, run_command,
};
use toolkit::CancelToken;

use super::job::{TempArtifacts, shell_job};

#[tokio::test]
async fn a_command_sees_a_terminal_of_the_size_that_was_asked_for() {
    let mut look =
        shell_job("test -t 0 && test -t 1 && test -t 2 && stty size; echo err >&2", TempArtifacts::new());
    look.terminal = Some(TerminalSize { rows: 40, columns: 120 });
    let outcome =
        run_command(&CommandSpawner::new().unwrap(), &TaskRegistry::new(), look, None, &CancelToken::new())
            .await;
    let CommandOutcome::Completed(finished) = outcome else { panic!("{outcome:?}") };
    let text = String::from_utf8(finished.stdout.text.unwrap()).unwrap();
    assert_eq!(
        (text.as_str(), finished.stderr, finished.exit),
        ("40 120\r\nerr\r\n", None, Some(ChildExit::Code(0)))
    );
}

#[tokio::test]
async fn what_is_typed_is_echoed_and_read_and_the_end_of_input_is_seen() {
    let mut talk =
        shell_job("while read word; do echo \"heard $word\"; done; echo bye", TempArtifacts::new());
    talk.terminal = Some(TerminalSize::default());
    talk.input = CommandInput::Open(Vec::new());
    let running = RunningCommand::start(&CommandSpawner::new().unwrap(), talk).await.unwrap();
    running.write_stdin(b"a\n").unwrap();
    let mut cursor = OutputCursor::default();
    let mut seen = String::new();
    while !seen.contains("heard a") {
        running.wait_for_output(&cursor).await;
        seen.push_str(
            std::str::from_utf8(&running.read_output_after(&mut cursor, 1000).unwrap().stdout.head).unwrap(),
        );
    }
    running.close_stdin();
    let end = tokio::time::timeout(Duration::from_secs(20), running.ended()).await.unwrap();
    let finished = end.as_ref().as_ref().unwrap();
    let text = String::from_utf8(finished.stdout.text.clone().unwrap()).unwrap();
    assert_eq!(text.replace("^D\u{8}\u{8}", ""), "a\r\nheard a\r\nbye\r\n");
}
