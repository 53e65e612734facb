//! Several requests on one connection.

use tokio::io::AsyncWriteExt;

use crate::http_test_server::{CLOSE, HttpTestServer, parted, read_to_close, read_until, verdict};
use crate::routes::test_router;

#[tokio::test]
async fn requests_follow_each_other_on_one_connection() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let mut socket = test_server.connect().await;
    for body in ["[1]", "[2]", "[3]"] {
        socket.write_all(test_server.post("/echo/a", "", body).as_bytes()).await.unwrap();
        let answer = read_until(&mut socket, body).await;
        assert_eq!(parted(&answer), (200, body));
    }
    test_server.stop().await;
}

#[tokio::test]
async fn requests_that_arrive_together_are_answered_in_order() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let all = [
        test_server.post("/echo/a", "", "[1]"),
        test_server.post("/echo/b", "", "[2]"),
        test_server.request("GET /healthz", CLOSE, ""),
    ];
    let answer = test_server.exchange(all.concat()).await;
    let bodies: Vec<&str> = ["[1]", "[2]", "well"].into_iter().filter(|body| answer.contains(body)).collect();
    assert_eq!((bodies.len(), answer.matches("HTTP/1.1 200 OK").count()), (3, 3), "{answer}");
    test_server.stop().await;
}

#[tokio::test]
async fn a_bad_head_after_a_good_one_spoils_only_itself() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let all = test_server.post("/echo/a", "", "[1]")
        + "GET /healthz HTTP/1.1\nHost: a\n\n"
        + &test_server.post("/echo/b", "", "[2]");
    let answer = test_server.exchange(all).await;
    let (first, second) = answer.split_once("[1]").unwrap();
    assert_eq!((parted(first).0, verdict(second).as_str()), (200, "400 bad_line_ending"));
    assert!(!second.contains("[2]"), "what follows a bad head is not read: {second}");
    test_server.stop().await;
}

#[tokio::test]
async fn a_request_hidden_in_a_body_is_not_a_request() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let hidden = test_server.request("DELETE /echo/a", "", "");
    let answer = test_server.exchange(test_server.post("/echo/a", CLOSE, &hidden)).await;
    assert_eq!(parted(&answer), (200, hidden.as_str()));
    test_server.stop().await;
}

#[tokio::test]
async fn a_refused_request_with_a_small_body_leaves_the_connection_usable() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let mut socket = test_server.connect().await;
    let stranger = test_server.post("/echo/a", "", "[1]").replace("Bearer tg_", "Bearer no_");
    socket.write_all(stranger.as_bytes()).await.unwrap();
    let answer = read_until(&mut socket, "\"invalid_api_key\"}}").await;
    assert_eq!(verdict(&answer), "401 invalid_api_key");
    socket.write_all(test_server.post("/echo/a", CLOSE, "[2]").as_bytes()).await.unwrap();
    assert_eq!(parted(&read_to_close(&mut socket).await), (200, "[2]"));
    test_server.stop().await;
}

#[tokio::test]
async fn a_body_in_chunks_is_the_last_of_its_connection() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let headers = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    let chunks = "2\r\n[1\r\n1\r\n]\r\n0\r\n\r\n";
    let second = test_server.request("GET /healthz", "", "");
    let answer = test_server.exchange(test_server.request("POST /echo/a", headers, chunks) + &second).await;
    assert_eq!(parted(&answer), (200, "[1]"));
    test_server.stop().await;
}
