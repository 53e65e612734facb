//! A test_router for the tests, and what every answer has whatever its route.

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use expect_test::expect;
use http_edge::{error_response, read_body};

use crate::http_test_server::{CLOSE, HttpTestServer, undated};

/// The most that `/echo` takes.
pub(crate) const ECHO_LIMIT: usize = 1000;

pub(crate) fn test_router() -> Router {
    Router::new()
        .route("/healthz", get(|| async { "well" }))
        .route("/echo/{name}", post(echo).delete(|| async { "gone" }))
        .route(
            "/cookie",
            get(|| async { ([("set-cookie", "a=b"), ("access-control-allow-origin", "*")], "") }),
        )
        .route("/missing", get(|| async { (http::StatusCode::NOT_FOUND, "no such note") }))
}

async fn echo(body: Body) -> Response {
    match read_body(body, ECHO_LIMIT).await {
        Ok(bytes) => bytes.into_response(),
        Err(error) => error_response(&error),
    }
}

#[tokio::test]
async fn every_answer_has_the_headers_that_keep_it_to_its_reader() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let mut answers = String::new();
    for request in [
        test_server.post("/echo/a", CLOSE, "[1,2]"),
        test_server.request("GET /cookie", CLOSE, ""),
        test_server.request("GET /missing", CLOSE, ""),
        test_server.request("GET /nowhere", CLOSE, ""),
        test_server.post("/echo/a/", CLOSE, "[1]"),
        test_server.post("/%65cho/a", CLOSE, "[1]"),
        test_server.request("GET /echo/a", CLOSE, ""),
    ] {
        answers.push_str(&undated(&test_server.exchange(request).await));
        answers.push_str("--\n");
    }
    expect![[r#"
        HTTP/1.1 200 OK
        content-type: application/octet-stream
        content-length: 5
        vary: origin
        x-content-type-options: nosniff
        referrer-policy: no-referrer
        cache-control: no-store
        connection: close

        [1,2]
        --
        HTTP/1.1 200 OK
        content-type: text/plain; charset=utf-8
        cache-control: no-store
        vary: origin
        x-content-type-options: nosniff
        referrer-policy: no-referrer
        connection: close
        content-length: 0


        --
        HTTP/1.1 404 Not Found
        content-type: text/plain; charset=utf-8
        content-length: 12
        vary: origin
        x-content-type-options: nosniff
        referrer-policy: no-referrer
        cache-control: no-store
        connection: close

        no such note
        --
        HTTP/1.1 404 Not Found
        content-type: application/json
        vary: origin
        x-content-type-options: nosniff
        referrer-policy: no-referrer
        cache-control: no-store
        connection: close
        content-length: 139

        {"error":{"message":"There is nothing at this path; look at the path again.","type":"not_found_error","param":null,"code":"unknown_route"}}
        --
        HTTP/1.1 404 Not Found
        content-type: application/json
        vary: origin
        x-content-type-options: nosniff
        referrer-policy: no-referrer
        cache-control: no-store
        connection: close
        content-length: 139

        {"error":{"message":"There is nothing at this path; look at the path again.","type":"not_found_error","param":null,"code":"unknown_route"}}
        --
        HTTP/1.1 404 Not Found
        content-type: application/json
        vary: origin
        x-content-type-options: nosniff
        referrer-policy: no-referrer
        cache-control: no-store
        connection: close
        content-length: 139

        {"error":{"message":"There is nothing at this path; look at the path again.","type":"not_found_error","param":null,"code":"unknown_route"}}
        --
        HTTP/1.1 405 Method Not Allowed
        allow: POST,DELETE
        content-type: application/json
        vary: origin
        x-content-type-options: nosniff
        referrer-policy: no-referrer
        cache-control: no-store
        connection: close
        content-length: 175

        {"error":{"message":"This path does not know the method; the Allow header lists those that it knows.","type":"invalid_request_error","param":null,"code":"method_not_allowed"}}
        --
    "#]].assert_eq(&answers);
    test_server.stop().await;
}

#[tokio::test]
async fn both_loopback_addresses_are_served() {
    let test_server =
        HttpTestServer::start(test_router(), |settings| settings.open_paths.push("/healthz".to_owned()))
            .await;
    let port = test_server.address.port();
    // A machine without IPv6 has only one.
    if let Ok(mut socket) = tokio::net::TcpStream::connect((std::net::Ipv6Addr::LOCALHOST, port)).await {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: [::1]:{port}\r\n{CLOSE}\r\n");
        tokio::io::AsyncWriteExt::write_all(&mut socket, request.as_bytes()).await.unwrap();
        let answer = crate::http_test_server::read_to_close(&mut socket).await;
        assert_eq!(crate::http_test_server::parted(&answer), (200, "well"));
    }
    test_server.stop().await;
}
