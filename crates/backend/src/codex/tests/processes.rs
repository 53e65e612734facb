//! Processes that die, that are used up, and that will not start.

use std::sync::atomic::Ordering;
use std::time::Duration;

use expect_test::expect;
use tokio::time::Instant;

use super::fake::{Fake, FakeReaction, FakeRequest};
use super::{TWO_MESSAGES, all_events, beginning, codex, settle, turn};
use crate::codex::CodexSettings;
use crate::{BackendError, BackendErrorKind, TextModel};

fn speaks(asked: FakeRequest<'_>) -> FakeReaction {
    if asked.method == "turn/start" {
        FakeReaction::Say(TWO_MESSAGES.to_owned())
    } else {
        FakeReaction::AsUsual
    }
}

fn one_process(settings: &mut CodexSettings) {
    settings.pool.processes = 1.try_into().unwrap();
}

fn shown(error: &BackendError) -> String {
    format!("{}: {error}", error.kind)
}

#[tokio::test(start_paused = true)]
async fn every_turn_on_a_process_that_dies_ends_at_once_and_the_next_one_works() {
    // The third turn kills the first process.
    let fake = Fake::new(|asked| match (asked.method, asked.process, asked.count) {
        ("turn/start", 1, 3) => FakeReaction::Die,
        ("turn/start", 1, _) => FakeReaction::Say(beginning()),
        _ => speaks(asked),
    });
    let codex = codex(&fake, one_process);
    let first = codex.start(turn("one")).await.unwrap();
    let second = codex.start(turn("two")).await.unwrap();
    let before = Instant::now();
    let third = codex.start(turn("three")).await.err().unwrap();
    expect!["died: the codex app-server ended; the next request starts it again"].assert_eq(&shown(&third));
    expect![[r#"
        Text("first ")
        Text("message")
        error died: the codex app-server ended; the next request starts it again"#]]
    .assert_eq(&all_events(first).await);
    expect![[r#"
        Text("first ")
        Text("message")
        error died: the codex app-server ended; the next request starts it again"#]]
    .assert_eq(&all_events(second).await);
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert!(all_events(codex.start(turn("four")).await.unwrap()).await.ends_with("Done(Stop)"));
    assert_eq!(fake.started(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_never_serves_is_started_ever_more_rarely() {
    let fake =
        Fake::new(
            |asked| if asked.method == "thread/start" { FakeReaction::Die } else { FakeReaction::AsUsual },
        );
    let codex = codex(&fake, one_process);
    let mut pauses = Vec::new();
    for _ in 0..10 {
        let before = Instant::now();
        assert_eq!(codex.start(turn("x")).await.err().unwrap().kind, BackendErrorKind::Died);
        pauses.push(before.elapsed());
    }
    expect!["[0ns, 100ms, 200ms, 400ms, 800ms, 1.6s, 3.2s, 6.4s, 10s, 10s]"]
        .assert_eq(&format!("{pauses:?}"));
    assert_eq!(fake.started(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_does_not_greet_is_given_up_in_time() {
    let fake = Fake::new(|asked| if asked.process < 3 { FakeReaction::Ignore } else { speaks(asked) });
    let codex = codex(&fake, one_process);
    let before = Instant::now();
    let late = codex.start(turn("x")).await.err().unwrap();
    expect!["unavailable: no codex app-server was ready within 20s"].assert_eq(&shown(&late));
    assert_eq!(before.elapsed(), Duration::from_secs(20));
    // The next one waits for its end, and for the pause after it.
    codex.start(turn("y")).await.err().unwrap();
    assert!(all_events(codex.start(turn("z")).await.unwrap()).await.ends_with("Done(Stop)"));
    settle().await;
    assert_eq!((fake.started(), fake.running()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_process_is_replaced_after_its_share_of_threads_and_ends_after_its_turns() {
    let fake = Fake::new(|asked| match (asked.method, asked.process, asked.count) {
        ("turn/start", 1, 1) => FakeReaction::Say(beginning()),
        _ => speaks(asked),
    });
    let codex = codex(&fake, |settings| {
        one_process(settings);
        settings.pool.threads_per_process = 2.try_into().unwrap();
    });
    let long = codex.start(turn("long")).await.unwrap();
    for _ in 0..4 {
        assert!(all_events(codex.start(turn("short")).await.unwrap()).await.ends_with("Done(Stop)"));
    }
    // The second had its share and nothing to do; the first still has the long turn.
    settle().await;
    assert_eq!((fake.started(), fake.running()), (3, 2));
    drop(long);
    settle().await;
    assert_eq!(fake.running(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_has_grown_too_large_is_replaced() {
    let fake = Fake::new(speaks);
    let codex = codex(&fake, |settings| {
        one_process(settings);
        settings.pool.memory_per_process = 1000;
    });
    fake.memory.store(1001, Ordering::Relaxed);
    for _ in 0..17 {
        all_events(codex.start(turn("x")).await.unwrap()).await;
    }
    // It is weighed after every eighth thread.
    assert_eq!(fake.started(), 3);
}

#[tokio::test(start_paused = true)]
async fn more_processes_are_started_when_there_is_more_to_do_and_then_turns_wait() {
    let fake = Fake::new(|asked| {
        if asked.method == "turn/start" { FakeReaction::Say(beginning()) } else { FakeReaction::AsUsual }
    });
    let codex = codex(&fake, |settings| settings.pool.turns_per_process = 2.try_into().unwrap());
    let mut open = Vec::new();
    let mut started = Vec::new();
    for _ in 0..4 {
        open.push(codex.start(turn("x")).await.unwrap());
        started.push(fake.started());
    }
    assert_eq!(started, [1, 1, 2, 2]);
    let refused = codex.start(turn("x")).await.err().unwrap();
    expect!["overloaded: 4 turns run already; try again later"].assert_eq(&shown(&refused));
    let waiting = codex.start(turn("x"));
    tokio::pin!(waiting);
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut waiting).await.is_err());
    drop(open.pop());
    waiting.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn shutting_down_waits_for_turns_and_takes_no_more() {
    let fake = Fake::new(|asked| {
        if asked.method == "turn/start" { FakeReaction::Say(beginning()) } else { FakeReaction::AsUsual }
    });
    let codex = codex(&fake, one_process);
    let open = codex.start(turn("x")).await.unwrap();
    let end = codex.shut_down();
    tokio::pin!(end);
    assert!(tokio::time::timeout(Duration::from_secs(5), &mut end).await.is_err());
    let refused = codex.start(turn("y")).await.err().unwrap();
    expect!["unavailable: the server is shutting down"].assert_eq(&shown(&refused));
    assert_eq!(fake.running(), 1);
    drop(open);
    end.await;
    assert_eq!(fake.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn shutting_down_waits_for_a_process_that_nobody_waits_for_any_more() {
    let fake =
        Fake::new(
            |asked| if asked.method == "initialize" { FakeReaction::Late } else { FakeReaction::AsUsual },
        );
    let codex = codex(&fake, one_process);
    assert!(tokio::time::timeout(Duration::from_secs(1), codex.start(turn("x"))).await.is_err());
    assert_eq!((fake.started(), fake.running()), (1, 1));
    codex.shut_down().await;
    assert_eq!((fake.started(), fake.running()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn whoever_gives_up_waiting_for_the_end_ends_it() {
    let fake = Fake::new(|asked| {
        if asked.method == "turn/start" { FakeReaction::Say(beginning()) } else { FakeReaction::AsUsual }
    })
    .stubborn();
    let codex = codex(&fake, one_process);
    let open = codex.start(turn("x")).await.unwrap();
    assert!(tokio::time::timeout(Duration::from_secs(5), codex.shut_down()).await.is_err());
    expect![[r#"
        Text("first ")
        Text("message")
        error died: the codex app-server ended; the next request starts it again"#]]
    .assert_eq(&all_events(open).await);
    assert_eq!(fake.running(), 1);
    // It does not mind that its input is closed, and is killed.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(fake.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_is_dropped_leaves_nothing_running() {
    let fake = Fake::new(speaks);
    let codex = codex(&fake, |_| {});
    all_events(codex.start(turn("x")).await.unwrap()).await;
    assert_eq!(fake.running(), 1);
    drop(codex);
    settle().await;
    assert_eq!(fake.running(), 0);
}
