//! How bodies are taken in, and when they are not.

use expect_test::expect;
use tokio::io::AsyncWriteExt;

use crate::http_test_server::{CLOSE, HttpTestServer, read_to_close, read_until, verdict};
use crate::routes::{ECHO_LIMIT, test_router};

const JSON: &str = "Content-Type: application/json\r\n";

// Conformance: proxy 16.1
#[tokio::test]
async fn nothing_of_a_body_is_asked_for_before_the_guard_has_passed_it() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let headers = format!("{JSON}Content-Length: 900\r\nExpect: 100-continue\r\n{CLOSE}");
    let welcome = test_server.request("POST /echo/a", &headers, "");
    let stranger = welcome.replace("Bearer tg_", "Bearer no_");

    // The body never comes, and the answer does not wait for it.
    let answer = test_server.exchange(stranger).await;
    assert_eq!(verdict(&answer), "401 invalid_api_key");
    assert!(!answer.contains("100 Continue"), "{answer}");

    let mut socket = test_server.connect().await;
    socket.write_all(welcome.as_bytes()).await.unwrap();
    assert_eq!(read_until(&mut socket, "\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(" ".repeat(900).as_bytes()).await.unwrap();
    assert_eq!(verdict(&read_to_close(&mut socket).await), "200");
    test_server.stop().await;
}

#[tokio::test]
async fn a_body_is_taken_up_to_its_limit() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let chunk = |bytes: usize| format!("{bytes:x}\r\n{}\r\n", "x".repeat(bytes));
    let chunked = format!("{JSON}Transfer-Encoding: chunked\r\n");
    let claimed = format!("{JSON}Content-Length: {}\r\n", u64::MAX / 2);
    let cases = [
        ("at the limit", test_server.post("/echo/a", CLOSE, &"x".repeat(ECHO_LIMIT))),
        ("one over it", test_server.post("/echo/a", CLOSE, &"x".repeat(ECHO_LIMIT + 1))),
        ("a claim without a body", test_server.request("POST /echo/a", &claimed, "")),
        (
            "chunks at the limit",
            test_server.request("POST /echo/a", &chunked, &[chunk(600), chunk(400), chunk(0)].concat()),
        ),
        ("chunks over it", test_server.request("POST /echo/a", &chunked, &[chunk(600), chunk(401)].concat())),
        ("a chunk without end", test_server.request("POST /echo/a", &chunked, "fffffffffffffffff\r\n")),
        ("a chunk that is none", test_server.request("POST /echo/a", &chunked, "zz\r\n")),
    ];
    let mut report = String::new();
    for (name, request) in cases {
        report.push_str(&format!("{name}: {}\n", verdict(&test_server.exchange(request).await)));
    }
    expect![[r#"
        at the limit: 200
        one over it: 413 body_too_large
        a claim without a body: 413 body_too_large
        chunks at the limit: 200
        chunks over it: 413 body_too_large
        a chunk without end: 400 body_broken_off
        a chunk that is none: 400 body_broken_off
    "#]]
    .assert_eq(&report);
    test_server.stop().await;
}

#[tokio::test]
async fn a_body_that_breaks_off_ends_its_request() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let mut socket = test_server.connect().await;
    let request = test_server.request("POST /echo/a", &format!("{JSON}Content-Length: 10\r\n"), "[1");
    socket.write_all(request.as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
    let answer = read_to_close(&mut socket).await;
    assert!(["400 body_broken_off", "closed"].contains(&verdict(&answer).as_str()), "{answer}");
    test_server.stop().await;
}

#[tokio::test]
async fn a_body_is_json_as_it_stands_or_refused() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let mut report = String::new();
    for headers in [
        "",
        "Content-Type: application/json\r\n",
        "Content-Type: Application/JSON ; Charset=\"UTF-8\"\r\n",
        "Content-Type: application/json; charset=latin1\r\n",
        "Content-Type: application/json\r\nContent-Type: text/plain\r\n",
        "Content-Type: application/json, text/plain\r\n",
        "Content-Type: application/jsonp\r\n",
        "Content-Type: application/json\r\nContent-Encoding: identity\r\n",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
        "Content-Type: application/json\r\nContent-Encoding: zstd\r\n",
    ] {
        let request =
            test_server.request("POST /echo/a", &format!("{headers}Content-Length: 2\r\n{CLOSE}"), "[]");
        let without = test_server.request("POST /echo/a", &format!("{headers}{CLOSE}"), "");
        let verdicts =
            [verdict(&test_server.exchange(request).await), verdict(&test_server.exchange(without).await)];
        report.push_str(&format!(
            "{}: {}, without a body {}\n",
            headers.escape_debug(),
            verdicts[0],
            verdicts[1]
        ));
    }
    expect![[r#"
        : 415 unsupported_content_type, without a body 200
        Content-Type: application/json\r\n: 200, without a body 200
        Content-Type: Application/JSON ; Charset=\"UTF-8\"\r\n: 200, without a body 200
        Content-Type: application/json; charset=latin1\r\n: 415 unsupported_content_type, without a body 415 unsupported_content_type
        Content-Type: application/json\r\nContent-Type: text/plain\r\n: 415 unsupported_content_type, without a body 415 unsupported_content_type
        Content-Type: application/json, text/plain\r\n: 415 unsupported_content_type, without a body 415 unsupported_content_type
        Content-Type: application/jsonp\r\n: 415 unsupported_content_type, without a body 415 unsupported_content_type
        Content-Type: application/json\r\nContent-Encoding: identity\r\n: 200, without a body 200
        Content-Type: application/json\r\nContent-Encoding: gzip\r\n: 415 unsupported_content_encoding, without a body 415 unsupported_content_encoding
        Content-Type: application/json\r\nContent-Encoding: zstd\r\n: 415 unsupported_content_encoding, without a body 415 unsupported_content_encoding
    "#]].assert_eq(&report);
    test_server.stop().await;
}
