//! Clients are told apart by their tokens, whatever they call themselves.

use std::sync::Arc;

use gateway::edge::{ClientFile, ClientTokens};
use serde_json::{Value, json};

use crate::client::{text, yes};
use crate::house::House;
use crate::http_client::{ask, ask_as, post, post_as, serve_with};
use crate::http_rounds::session_as;
use crate::rig::Rig;

/// A server with the clients `a` and `b`, and their tokens.
struct Two {
    rig: Rig,
    a: String,
    b: String,
    file: ClientFile,
    _folder: tempfile::TempDir,
}

async fn two_clients(house: &House) -> Two {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join("state").join(name);
    let file = ClientFile::new(path("clients.json"));
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let token = |name: &str| file.issue(name, now).unwrap().0.reveal().to_owned();
    let (a, b) = (token("a"), token("b"));
    let tokens = Arc::new(ClientTokens::open(path("token"), path("clients.json")).unwrap());
    let rig = serve_with(house, |settings| settings.tokens = tokens).await;
    Two { rig, a, b, file, _folder: folder }
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
    let house = House::new();
    let Two { rig, a, b, _folder, .. } = two_clients(&house).await;
    let mut first = Value::Null;
    for number in 0..16 {
        let name = format!("name {}", number % 4);
        let asked = ask_as(&rig, &a, &name, "tools/call", note(&number.to_string())).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        if number == 0 {
            first = asked;
        }
    }
    let refused = ask_as(&rig, &a, "a new name", "tools/call", note("one more")).await;
    assert!(text(&refused).contains("too many calls wait for an answer already"), "{refused}");
    let asked = ask_as(&rig, &b, "name 0", "tools/call", note("b")).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    // One that is answered makes room for another.
    ask_as(&rig, &a, "name 0", "tools/call", answered("0", &first)).await;
    let asked = ask_as(&rig, &a, "name 0", "tools/call", note("one more")).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(house.deeds(), ["0"]);
    rig.stop().await;
}

#[tokio::test]
async fn two_clients_of_one_name_have_a_run_each_and_no_use_of_each_others_answers() {
    let house = House::new();
    let Two { rig, a, b, _folder, .. } = two_clients(&house).await;
    let asked = ask_as(&rig, &a, "tester", "tools/call", note("a")).await;
    let stolen = ask_as(&rig, &b, "tester", "tools/call", answered("a", &asked)).await;
    assert_eq!(stolen["isError"], true, "{stolen}");
    assert_eq!(house.deeds(), Vec::<String>::new());
    let own = ask_as(&rig, &a, "tester", "tools/call", answered("a", &asked)).await;
    assert_eq!(own["isError"], false, "{own}");
    let look = json!({ "name": "test_look", "arguments": { "text": "x" } });
    ask_as(&rig, &b, "tester", "tools/call", look).await;
    rig.stop().await;
    let record = house.record().await;
    assert_eq!(record.matches("calls of tester 1").count(), 2, "{record}");
}

#[tokio::test]
async fn whoever_is_asked_otherwise_is_asked_on_behalf_of_the_token() {
    let house = House::new();
    let Two { rig, a, b, file, _folder } = two_clients(&house).await;
    ask_as(&rig, &a, "somebody", "tools/call", note("a")).await;
    ask_as(&rig, &b, "somebody", "tools/call", note("b")).await;
    let mut expected: Vec<String> =
        file.list().unwrap().iter().map(|client| client.id().unwrap().to_string()).collect();
    expected.sort();
    let seen: Vec<String> = house.desk.clients.lock().unwrap().iter().cloned().collect();
    assert_eq!(seen, expected);
    rig.stop().await;
}

#[tokio::test]
async fn the_session_of_one_client_is_none_for_another() {
    let house = House::new();
    let Two { rig, a, b, _folder, .. } = two_clients(&house).await;
    let headers = session_as(&rig, &a).await;
    let list = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list" }).to_string();
    assert_eq!(post_as(&rig, &b, &headers, &list).await.status, 404);
    // An answer in it is none, either.
    let answer = json!({ "jsonrpc": "2.0", "id": 0, "result": yes("once") }).to_string();
    assert_eq!(post_as(&rig, &b, &headers, &answer).await.status, 404);
    assert_eq!(post_as(&rig, &a, &headers, &list).await.status, 200);
    rig.stop().await;
}

#[tokio::test]
async fn a_message_over_http_with_a_doubled_key_is_refused() {
    let house = House::new();
    let rig = serve_with(&house, |_| {}).await;
    let asked = ask(&rig, "tester", "tools/call", note("a")).await;
    let (headers, body) = crate::http_client::modern("tester", "tools/call", answered("a", &asked));
    let doubled = body.replace(r#"{"decision":"once"}"#, r#"{"decision":"no","decision":"once"}"#);
    assert_ne!(doubled, body);
    let refused = post(&rig, &headers, &doubled).await;
    assert_eq!((refused.status, &refused.messages[0]["error"]["code"]), (400, &json!(-32700)));
    assert_eq!(house.deeds(), Vec::<String>::new());
    // The question is still open for an answer that can be read in one way.
    assert_eq!(post(&rig, &headers, &body).await.status, 200);
    assert_eq!(house.deeds(), ["a"]);
    let headers = session_as(&rig, &rig.token).await;
    let doubled = r#"{"jsonrpc":"2.0","id":9,"method":"tools/list","method":"ping"}"#;
    assert_eq!(post(&rig, &headers, doubled).await.status, 400);
    rig.stop().await;
}
