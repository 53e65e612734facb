//! A command at a terminal: it sees one, both streams are one, and it can be typed into.

use std::time::Duration;

use shell::process::{Cursor, Exit, Input, Outcome, Running, Spawner, Tasks, Window, run};
use toolkit::CancelToken;

use crate::rig::{Folder, job};

#[tokio::test]
async fn a_command_sees_a_terminal_of_the_size_that_was_asked_for() {
    let mut look = job("test -t 0 && test -t 1 && test -t 2 && stty size; echo err >&2", Folder::new());
    look.terminal = Some(Window { rows: 40, columns: 120 });
    let outcome = run(&Spawner::new().unwrap(), &Tasks::new(), look, None, &CancelToken::new()).await;
    let Outcome::Completed(finished) = outcome else { panic!("{outcome:?}") };
    let text = String::from_utf8(finished.stdout.text.unwrap()).unwrap();
    assert_eq!(
        (text.as_str(), finished.stderr, finished.exit),
        ("40 120\r\nerr\r\n", None, Some(Exit::Code(0)))
    );
}

#[tokio::test]
async fn what_is_typed_is_echoed_and_read_and_the_end_of_input_is_seen() {
    let mut talk = job("while read word; do echo \"heard $word\"; done; echo bye", Folder::new());
    talk.terminal = Some(Window::default());
    talk.input = Input::Open(Vec::new());
    let running = Running::start(&Spawner::new().unwrap(), talk).await.unwrap();
    running.write_stdin(b"a\n").unwrap();
    let mut cursor = Cursor::default();
    let mut seen = String::new();
    while !seen.contains("heard a") {
        running.news(&cursor).await;
        seen.push_str(
            std::str::from_utf8(&running.read_new(&mut cursor, 1000).unwrap().stdout.head).unwrap(),
        );
    }
    running.close_stdin();
    let end = tokio::time::timeout(Duration::from_secs(20), running.ended()).await.unwrap();
    let finished = end.as_ref().as_ref().unwrap();
    let text = String::from_utf8(finished.stdout.text.clone().unwrap()).unwrap();
    assert_eq!(text.replace("^D\u{8}\u{8}", ""), "a\r\nheard a\r\nbye\r\n");
}
