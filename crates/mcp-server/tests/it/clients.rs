//! Clients are distinguished by their tokens, whatever names they report.

use std::sync::Arc;

use http_edge::{ClientFile, ClientTokens};
use serde_json::{Value, json};

use crate::client::{text, yes};
use crate::http_client::{ask, ask_as, post, post_as, serve_with};
use crate::http_rounds::session_as;
use crate::http_test_server::HttpTestServer;
use crate::test_server::TestServer;

/// A server with the clients `a` and `b`, and their tokens.
struct Two {
    http_server: HttpTestServer,
    a: String,
    b: String,
    file: ClientFile,
    _folder: tempfile::TempDir,
}

async fn two_clients(server: &TestServer) -> Two {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join("state").join(name);
    let file = ClientFile::new(path("clients.json"));
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let token = |name: &str| file.issue(name, now).unwrap().0.reveal().to_owned();
    let (a, b) = (token("a"), token("b"));
    let tokens = Arc::new(ClientTokens::open(path("token"), path("clients.json")).unwrap());
    let http_server = serve_with(server, |settings| settings.tokens = tokens).await;
    Two { http_server, a, b, file, _folder: folder }
}

fn note(what: &str) -> Value {
    json!({ "name": "test_note", "arguments": { "text": what } })
}

fn answered(what: &str, asked: &Value) -> Value {
    let mut params = note(what);
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({ "approval": yes("once") });
    params
}

#[tokio::test]
async fn a_client_that_answers_nothing_leaves_questions_to_the_others_whatever_it_calls_itself() {
    let server = TestServer::new();
    let Two { http_server, a, b, _folder, .. } = two_clients(&server).await;
    let mut first = Value::Null;
    for number in 0..16 {
        let name = format!("name {}", number % 4);
        let asked = ask_as(&http_server, &a, &name, "tools/call", note(&number.to_string())).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        if number == 0 {
            first = asked;
        }
    }
    let refused = ask_as(&http_server, &a, "a new name", "tools/call", note("one more")).await;
    assert!(text(&refused).contains("too many calls are waiting for an answer"), "{refused}");
    let asked = ask_as(&http_server, &b, "name 0", "tools/call", note("b")).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    // An answered question makes room for another.
    ask_as(&http_server, &a, "name 0", "tools/call", answered("0", &first)).await;
    let asked = ask_as(&http_server, &a, "name 0", "tools/call", note("one more")).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(server.effects(), ["0"]);
    http_server.stop().await;
}

#[tokio::test]
async fn two_clients_of_one_name_have_a_run_each_and_no_use_of_each_others_answers() {
    let server = TestServer::new();
    let Two { http_server, a, b, _folder, .. } = two_clients(&server).await;
    let asked = ask_as(&http_server, &a, "tester", "tools/call", note("a")).await;
    let stolen = ask_as(&http_server, &b, "tester", "tools/call", answered("a", &asked)).await;
    assert_eq!(stolen["isError"], true, "{stolen}");
    assert_eq!(server.effects(), Vec::<String>::new());
    let own = ask_as(&http_server, &a, "tester", "tools/call", answered("a", &asked)).await;
    assert_eq!(own["isError"], false, "{own}");
    let look = json!({ "name": "test_look", "arguments": { "text": "x" } });
    ask_as(&http_server, &b, "tester", "tools/call", look).await;
    http_server.stop().await;
    let record = server.record().await;
    assert_eq!(record.matches("calls of tester 1").count(), 2, "{record}");
}

#[tokio::test]
async fn whoever_is_asked_otherwise_is_asked_on_behalf_of_the_token() {
    let server = TestServer::new();
    let Two { http_server, a, b, file, _folder } = two_clients(&server).await;
    ask_as(&http_server, &a, "somebody", "tools/call", note("a")).await;
    ask_as(&http_server, &b, "somebody", "tools/call", note("b")).await;
    let mut expected: Vec<String> =
        file.list().unwrap().iter().map(|client| client.id().unwrap().to_string()).collect();
    expected.sort();
    let seen: Vec<String> = server.fallback.clients.lock().unwrap().iter().cloned().collect();
    assert_eq!(seen, expected);
    http_server.stop().await;
}

#[tokio::test]
async fn the_session_of_one_client_is_none_for_another() {
    let server = TestServer::new();
    let Two { http_server, a, b, _folder, .. } = two_clients(&server).await;
    let headers = session_as(&http_server, &a).await;
    let list = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list" }).to_string();
    assert_eq!(post_as(&http_server, &b, &headers, &list).await.status, 404);
    // An answer in such a message does not count, either.
    let answer = json!({ "jsonrpc": "2.0", "id": 0, "result": yes("once") }).to_string();
    assert_eq!(post_as(&http_server, &b, &headers, &answer).await.status, 404);
    assert_eq!(post_as(&http_server, &a, &headers, &list).await.status, 200);
    http_server.stop().await;
}

#[tokio::test]
async fn a_message_over_http_with_a_doubled_key_is_refused() {
    let server = TestServer::new();
    let http_server = serve_with(&server, |_| {}).await;
    let asked = ask(&http_server, "tester", "tools/call", note("a")).await;
    let (headers, body) = crate::http_client::modern("tester", "tools/call", answered("a", &asked));
    let doubled = body.replace(r#"{"decision":"once"}"#, r#"{"decision":"no","decision":"once"}"#);
    assert_ne!(doubled, body);
    let refused = post(&http_server, &headers, &doubled).await;
    assert_eq!((refused.status, &refused.messages[0]["error"]["code"]), (400, &json!(-32700)));
    assert_eq!(server.effects(), Vec::<String>::new());
    // The question can still be answered with an unambiguous message.
    assert_eq!(post(&http_server, &headers, &body).await.status, 200);
    assert_eq!(server.effects(), ["a"]);
    let headers = session_as(&http_server, &http_server.token).await;
    let doubled = r#"{"jsonrpc":"2.0","id":9,"method":"tools/list","method":"ping"}"#;
    assert_eq!(post(&http_server, &headers, doubled).await.status, 400);
    http_server.stop().await;
}
