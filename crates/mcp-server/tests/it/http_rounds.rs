//! Calls over HTTP: stateless requests and sessions.

use std::time::Duration;

use expect_test::expect;
use journal::{JournalEntry, JournalError, JournalRecord, RunFolder, RunState, run_ids, run_summary};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use crate::client::{later, text, yes};
use crate::http_client::{ACCEPT, ask, begin, hear, modern, parsed, post, post_as, serve};
use crate::http_test_server::{CLOSE, HttpTestServer};
use crate::test_server::TestServer;

fn note(what: &str) -> Value {
    json!({ "name": "test_note", "arguments": { "text": what } })
}

fn answered(what: &str, state: &Value, answer: Value) -> Value {
    let mut params = note(what);
    params["requestState"] = state.clone();
    params["inputResponses"] = json!({ "approval": answer });
    params
}

/// Returns the number of calls with a recorded result.
fn results(server: &TestServer) -> usize {
    let runs = run_ids(server.runs()).unwrap();
    let folders = runs.iter().map(|run| RunFolder::open(&server.runs().join(run.as_str())).unwrap());
    let is_result = |entry: &Result<JournalEntry, JournalError>| {
        entry.as_ref().is_ok_and(|entry| matches!(entry.record, JournalRecord::Result(_)))
    };
    folders.map(|folder| folder.records().unwrap().filter(is_result).count()).sum()
}

/// Advances the clock until every idle run is closed.
async fn all_ended(server: &TestServer) {
    let is_open = |run: &envelope::RunId| {
        let summary = run_summary(&server.runs().join(run.as_str())).unwrap();
        !matches!(summary.state, RunState::Finished(_))
    };
    while run_ids(server.runs()).unwrap().iter().any(is_open) {
        later(Duration::from_secs(10)).await;
    }
}

#[tokio::test]
async fn a_yes_in_a_second_request_makes_one_call_in_one_run_which_ends_when_its_client_is_silent() {
    let server = TestServer::with(|options| options.settings.idle_limit = Duration::from_secs(60));
    let http_server = serve(&server).await;
    let asked = ask(&http_server, "tester", "tools/call", note("a")).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let done =
        ask(&http_server, "tester", "tools/call", answered("a", &asked["requestState"], yes("once"))).await;
    assert_eq!(done["isError"], false, "{done}");
    let again =
        ask(&http_server, "tester", "tools/call", answered("a", &asked["requestState"], yes("once"))).await;
    assert_eq!(again["isError"], true);
    assert_eq!(server.effects(), ["a"]);
    all_ended(&server).await;
    ask(&http_server, "tester", "tools/call", json!({ "name": "test_look", "arguments": { "text": "x" } }))
        .await;
    all_ended(&server).await;
    expect![[r#"
        calls of tester 1
        - test.note ok (mode ask: approved (client))
        calls of tester 1
        - test.look ok (allowed: mode ask, read-only)
    "#]]
    .assert_eq(&server.told());
    http_server.stop().await;
}

/// Timeout that is long enough for any machine.
const FOR_EVER: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_opens_slowly_holds_up_nobody_else_and_is_the_only_one_of_its_client() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let look = || json!({ "name": "test_look", "arguments": { "text": "x" } });
    let (is_reached, open) = server.hold_next_gate();
    let first = ask(&http_server, "slow", "tools/call", look());
    let meanwhile = async {
        is_reached.await.unwrap();
        let more = async {
            tokio::join!(
                ask(&http_server, "slow", "tools/call", look()),
                ask(&http_server, "slow", "tools/call", look()),
                ask(&http_server, "slow", "tools/call", look())
            )
        };
        let other = async {
            let listed = ask(&http_server, "slow", "resources/list", json!({})).await;
            assert_eq!(listed["resources"], json!([]));
            let told = tokio::time::timeout(FOR_EVER, ask(&http_server, "quick", "tools/call", look())).await;
            open.send(()).unwrap();
            told.expect("the other client waits for a disk that is not its own")
        };
        tokio::join!(more, other)
    };
    let (first, ((second, third, fourth), other)) = tokio::join!(first, meanwhile);
    for told in [first, second, third, fourth, other] {
        assert_eq!(told["isError"], false, "{told}");
    }
    http_server.stop().await;
    let record = server.record().await;
    let mut runs: Vec<&str> = record.split("calls of ").skip(1).collect();
    runs.sort_unstable();
    let looked = "- test.look ok (allowed: mode ask, read-only)\n";
    assert_eq!(runs, [format!("quick 1\n{looked}"), format!("slow 1\n{}", looked.repeat(4))]);
}

#[test]
fn calls_that_wait_for_a_slow_run_take_no_thread_from_the_others() {
    let (tell, told) = std::sync::mpsc::channel();
    // On another thread: a server that hangs could not report it itself.
    std::thread::spawn(move || {
        let mut few = tokio::runtime::Builder::new_multi_thread();
        let few = few.worker_threads(2).max_blocking_threads(4).enable_all().build().unwrap();
        few.block_on(many_wait_and_another_calls());
        tell.send(()).unwrap();
    });
    told.recv_timeout(FOR_EVER).expect("everybody waits for the disk of one client");
}

/// Far more calls than threads.
const MANY: usize = 40;

async fn many_wait_and_another_calls() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let look = || json!({ "name": "test_look", "arguments": { "text": "x" } });
    let (is_reached, open) = server.hold_next_gate();
    let (headers, body) = modern("slow", "tools/call", look());
    let headers = format!("{headers}{CLOSE}");
    let mut waiting = vec![begin(&http_server, &headers, &body).await];
    is_reached.await.unwrap();
    for _ in 1..MANY {
        waiting.push(begin(&http_server, &headers, &body).await);
    }
    for _ in 0..MANY {
        let told = ask(&http_server, "quick", "tools/call", look()).await;
        assert_eq!(told["isError"], false, "{told}");
    }
    open.send(()).unwrap();
    for mut socket in waiting {
        let mut told = String::new();
        socket.read_to_string(&mut told).await.unwrap();
        let answer = parsed(&told);
        assert_eq!(answer.result()["isError"], false, "{told}");
    }
    http_server.stop().await;
    let record = server.record().await;
    assert_eq!(record.matches("calls of slow").count(), 1, "{record}");
}

#[tokio::test]
async fn requests_that_stand_alone_are_offered_no_yes_for_a_session_and_two_clients_have_two_runs() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let asked = ask(&http_server, "first", "tools/call", note("a")).await;
    let form = &asked["inputRequests"]["approval"]["params"]["requestedSchema"];
    assert!(!form.to_string().contains("session"), "{form}");
    later(Duration::from_secs(2)).await;
    let refused =
        ask(&http_server, "first", "tools/call", answered("a", &asked["requestState"], yes("session"))).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let asked = ask(&http_server, "second", "tools/call", note("b")).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let stolen =
        ask(&http_server, "first", "tools/call", answered("b", &asked["requestState"], yes("once"))).await;
    assert_eq!(stolen["isError"], true);
    assert_eq!(server.effects(), Vec::<String>::new());
    http_server.stop().await;
    // The shutdown ends waiting calls; every record is closed, although clients still hold their runs.
    expect![[r#"
        calls of first 1
        - test.note approval_rejected
        calls of second 1
        - test.note canceled
    "#]]
    .assert_eq(&server.record().await);
}

#[tokio::test]
async fn a_question_that_nobody_comes_back_to_does_not_keep_its_run_open() {
    let server = TestServer::with(|options| {
        options.settings.answer_limit = Duration::from_secs(50);
        options.settings.idle_limit = Duration::from_secs(60);
    });
    let http_server = serve(&server).await;
    let asked = ask(&http_server, "tester", "tools/call", note("a")).await;
    assert_eq!(asked["resultType"], "input_required");
    all_ended(&server).await;
    expect![[r#"
        calls of tester 1
        - test.note policy_blocked
    "#]]
    .assert_eq(&server.told());
    http_server.stop().await;
}

#[tokio::test]
async fn a_client_that_hangs_up_while_its_call_runs_cancels_it() {
    let server = TestServer::with(|options| options.settings.idle_limit = Duration::from_secs(60));
    let http_server = serve(&server).await;
    let params = json!({ "name": "test_wait", "arguments": { "text": "" } });
    let (headers, body) = modern("tester", "tools/call", params);
    let mut body: Value = serde_json::from_str(&body).unwrap();
    body["params"]["_meta"]["progressToken"] = json!("p");
    let mut socket = begin(&http_server, &headers, &body.to_string()).await;
    hear(&mut socket, &mut String::new(), Some("notifications/progress")).await;
    drop(socket);
    // The clock has not advanced: the end of the connection is noticed, not a timeout.
    while results(&server) == 0 {
        tokio::task::yield_now().await;
    }
    all_ended(&server).await;
    expect![[r#"
        calls of tester 1
        - test.wait canceled (allowed: mode ask, read-only)
    "#]]
    .assert_eq(&server.told());
    http_server.stop().await;
}

#[tokio::test]
async fn an_answer_that_comes_alone_is_one_object_and_one_with_news_before_it_a_stream() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let with_token = |params: Value| {
        let (headers, body) = modern("tester", "tools/call", params);
        let mut body: Value = serde_json::from_str(&body).unwrap();
        body["params"]["_meta"]["progressToken"] = json!("p");
        (headers, body.to_string())
    };
    let (headers, body) = with_token(json!({ "name": "test_look", "arguments": { "text": "x" } }));
    let alone = post(&http_server, &headers, &body).await;
    assert_eq!(alone.header("content-type"), Some("application/json"));
    assert_eq!(alone.result()["isError"], false, "{:?}", alone.messages);

    let (headers, body) = with_token(json!({ "name": "test_wait", "arguments": { "text": "" } }));
    let (mut socket, mut read) = (begin(&http_server, &headers, &body).await, String::new());
    hear(&mut socket, &mut read, Some("notifications/progress")).await;
    assert_eq!(parsed(&read).header("content-type"), Some("text/event-stream"));
    drop(socket);
    http_server.stop().await;
}

/// Opens a session; returns its header.
pub(crate) async fn session(http_server: &HttpTestServer) -> String {
    session_as(http_server, &http_server.token).await
}

/// Opens a session with the token of a client.
pub(crate) async fn session_as(http_server: &HttpTestServer, token: &str) -> String {
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "elder", "version": "1" },
        },
    });
    let opened = post_as(http_server, token, ACCEPT, &hello.to_string()).await;
    assert_eq!(opened.status, 200);
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    let headers = format!("{ACCEPT}Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-06-18\r\n");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(post_as(http_server, token, &headers, &ready.to_string()).await.status, 202);
    headers
}

#[tokio::test]
async fn a_new_session_takes_the_place_of_the_one_that_was_unused_for_longest_and_of_none_in_use() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let in_use = session(&http_server).await;
    let listen = http_server.request("GET /mcp", &in_use, "");
    let mut news = http_server.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut news, listen.as_bytes()).await.unwrap();
    news.read_exact(&mut [0; 12]).await.unwrap();
    let abandoned = session(&http_server).await;
    let mut newest = String::new();
    // One more than there is room for.
    for _ in 0..255 {
        newest = session(&http_server).await;
    }
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let mut statuses = Vec::new();
    for headers in [&in_use, &abandoned, &newest] {
        statuses.push(post(&http_server, headers, &ping).await.status);
    }
    assert_eq!(statuses, [200, 404, 200]);
    drop(news);
    http_server.stop().await;
}

#[tokio::test]
async fn a_client_of_a_session_that_hangs_up_and_does_not_come_back_takes_its_question_along() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let headers = session(&http_server).await;
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": note("a") });
    let mut socket = begin(&http_server, &headers, &call.to_string()).await;
    let asked = hear(&mut socket, &mut String::new(), Some("elicitation/create")).await;
    drop(socket);
    while results(&server) == 0 {
        later(Duration::from_secs(5)).await;
    }
    // A later approval is too late.
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": yes("once") });
    post(&http_server, &headers, &answer.to_string()).await;
    assert_eq!(server.effects(), Vec::<String>::new());
    http_server.stop().await;
    expect![[r#"
        calls of elder 1
        - test.note canceled
    "#]]
    .assert_eq(&server.record().await);
}

#[tokio::test]
async fn a_client_of_a_session_that_stays_keeps_its_call_when_a_connection_closes() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let headers = session(&http_server).await;
    let listen = http_server.request("GET /mcp", &headers, "");
    let mut news = http_server.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut news, listen.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    news.read_exact(&mut head).await.unwrap();
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": note("a") });
    let mut socket = begin(&http_server, &headers, &call.to_string()).await;
    let asked = hear(&mut socket, &mut String::new(), Some("elicitation/create")).await;
    drop(socket);
    for _ in 0..20 {
        later(Duration::from_secs(5)).await;
    }
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": yes("once") });
    assert_eq!(post(&http_server, &headers, &answer.to_string()).await.status, 202);
    while results(&server) == 0 {
        later(Duration::from_millis(1)).await;
    }
    assert_eq!(server.effects(), ["a"]);
    drop(news);
    http_server.stop().await;
}

#[tokio::test]
async fn a_session_outlasts_the_time_that_a_person_may_take() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let headers = session(&http_server).await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": note("a") });
    let mut socket = begin(&http_server, &headers, &call.to_string()).await;
    let mut read = String::new();
    let asked = hear(&mut socket, &mut read, Some("elicitation/create")).await;
    // Longer than rmcp would keep an idle session.
    later(Duration::from_secs(599)).await;
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": yes("once") });
    assert_eq!(post(&http_server, &headers, &answer.to_string()).await.status, 202);
    let done = hear(&mut socket, &mut read, None).await;
    assert_eq!(text(&done["result"]).lines().next(), Some("Noted a"));
    assert_eq!(server.effects(), ["a"]);
    // The end of the session ends its run.
    let ended =
        http_server.exchange(http_server.request("DELETE /mcp", &format!("{headers}{CLOSE}"), "")).await;
    assert!((200..300).contains(&parsed(&ended).status), "{ended}");
    all_ended(&server).await;
    expect![[r#"
        calls of elder 1
        - test.note ok (mode ask: approved (client))
    "#]]
    .assert_eq(&server.told());
    // A late request gets an error for the session, not for the path.
    let headers = format!("{headers}{CLOSE}");
    for request in
        [http_server.post("/mcp", &headers, &call.to_string()), http_server.request("GET /mcp", &headers, "")]
    {
        let gone = http_server.exchange(request).await;
        assert!(gone.starts_with("HTTP/1.1 404") && gone.contains("Session not found"), "{gone}");
    }
    http_server.stop().await;
}
