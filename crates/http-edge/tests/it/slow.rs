//! Clients that take their time.
//!
//! Where nothing is on its way any more, the clock is paused: it then jumps to the next limit. Where a client keeps
//! sending, the limit in question is short and all others are long, so that only this one can be what ends it.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http_edge::ConnectionLimits;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, advance, pause, resume, sleep};

use crate::http_test_server::{CLOSE, HttpTestServer, counted, parted, read_to_close, read_until, verdict};
use crate::routes;
use crate::streams::Fed;

const SECOND: Duration = Duration::from_secs(1);
const SHORT: Duration = Duration::from_millis(50);

async fn test_server() -> HttpTestServer {
    HttpTestServer::start(routes::test_router(), |settings| settings.limits = ConnectionLimits::default())
        .await
}

/// A byte now and then, for as long as the server takes them.
async fn drip(socket: &mut TcpStream, bytes: &[u8]) -> String {
    let (mut reader, mut writer) = socket.split();
    let dripping = async {
        for byte in bytes.iter().cycle() {
            if writer.write_all(&[*byte]).await.is_err() {
                break;
            }
            sleep(SHORT / 20).await;
        }
        std::future::pending::<()>().await;
    };
    let mut answer = Vec::new();
    tokio::select! {
        () = dripping => {}
        _end = tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut answer) => {}
    }
    String::from_utf8(answer).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_byte_is_closed() {
    let test_server = test_server().await;
    let mut socket = test_server.connect().await;
    let start = Instant::now();
    assert_eq!(read_to_close(&mut socket).await, "");
    assert!(start.elapsed() >= 5 * SECOND);
    assert_eq!(counted(&test_server.metrics, "tollgate_http_refused_total{kind=\"first_byte_too_slow\"}"), 1);
    test_server.stop().await;
}

#[tokio::test]
async fn half_a_request_line_is_answered_with_a_timeout() {
    let test_server =
        HttpTestServer::start(routes::test_router(), |settings| settings.limits.head = SHORT).await;
    let mut socket = test_server.connect().await;
    socket.write_all(b"GET /heal").await.unwrap();
    assert_eq!(verdict(&read_to_close(&mut socket).await), "408 headers_too_slow");
    test_server.stop().await;
}

#[tokio::test]
async fn headers_that_drip_in_are_cut() {
    let test_server =
        HttpTestServer::start(routes::test_router(), |settings| settings.limits.head = SHORT).await;
    let mut socket = test_server.connect().await;
    socket.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
    // Did every byte buy time, there would be too many headers in the end.
    assert_eq!(verdict(&drip(&mut socket, b"X: y\r\n").await), "408 headers_too_slow");
    test_server.stop().await;
}

#[tokio::test]
async fn a_body_that_never_comes_is_given_up() {
    let test_server = test_server().await;
    let mut socket = test_server.connect().await;
    let request = test_server.post("/echo/a", "Expect: 100-continue\r\n", "[1,2,3]");
    socket.write_all(request.strip_suffix("[1,2,3]").unwrap().as_bytes()).await.unwrap();
    read_until(&mut socket, "100 Continue\r\n\r\n").await;
    pause();
    let start = Instant::now();
    assert_eq!(verdict(&read_to_close(&mut socket).await), "408 body_too_slow");
    assert!(start.elapsed() > 29 * SECOND);
    test_server.stop().await;
}

#[tokio::test]
async fn a_body_that_drips_in_is_cut() {
    let test_server =
        HttpTestServer::start(routes::test_router(), |settings| settings.limits.body = SHORT).await;
    let mut socket = test_server.connect().await;
    let body = " ".repeat(900);
    let request = test_server.post("/echo/a", "", &body);
    socket.write_all(request.strip_suffix(&body).unwrap().as_bytes()).await.unwrap();
    // Did every byte buy time, the body would be whole in the end.
    assert_eq!(verdict(&drip(&mut socket, b" ").await), "408 body_too_slow");
    test_server.stop().await;
}

#[tokio::test]
async fn a_connection_that_is_not_used_again_is_closed() {
    let test_server = test_server().await;
    let post = test_server.post("/echo/a", "", "[1,2,3]");
    for (request, last) in [
        (test_server.request("GET /healthz", "", ""), "well"),
        (test_server.request("HEAD /healthz", "", ""), "\r\n\r\n"),
        (post.clone(), "[1,2,3]"),
        (post.replace("Bearer tg_", "Bearer no_"), "\"invalid_api_key\"}}"),
    ] {
        let mut socket = test_server.connect().await;
        socket.write_all(request.as_bytes()).await.unwrap();
        read_until(&mut socket, last).await;
        pause();
        let start = Instant::now();
        assert_eq!(read_to_close(&mut socket).await, "");
        assert!(start.elapsed() > 29 * SECOND);
        resume();
    }
    test_server.stop().await;
}

// Conformance: proxy 16.2
#[tokio::test]
async fn a_crowd_of_slow_clients_keeps_nobody_else_waiting() {
    let test_server = HttpTestServer::start(routes::test_router(), |_| {}).await;
    let mut crowd = Vec::new();
    let body = test_server.post("/echo/a", "", "[1,2,3]");
    let kinds = ["", "G", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ", body.strip_suffix(",2,3]").unwrap()];
    for kind in kinds {
        for _ in 0..50 {
            let mut socket = test_server.connect().await;
            socket.write_all(kind.as_bytes()).await.unwrap();
            crowd.push(socket);
        }
    }
    let answer = test_server.exchange(test_server.request("GET /healthz", CLOSE, "")).await;
    assert_eq!(parted(&answer), (200, "well"));
    pause();
    for socket in &mut crowd {
        read_to_close(socket).await;
    }
    resume();
    drop(crowd);
    assert_eq!(
        parted(&test_server.exchange(test_server.request("GET /healthz", CLOSE, "")).await),
        (200, "well")
    );
    test_server.stop().await;
}

// Conformance: proxy 16.2
#[tokio::test]
async fn a_client_that_takes_nothing_is_let_go_and_its_answer_stopped() {
    let (feed, fed) = Fed::endless();
    let test_server =
        HttpTestServer::start(fed.test_router(), |settings| settings.limits = ConnectionLimits::default())
            .await;
    let mut socket = test_server.connect().await;
    socket.write_all(test_server.request("GET /events", "", "").as_bytes()).await.unwrap();
    read_until(&mut socket, "\r\n\r\n").await;
    pause();
    let start = Instant::now();
    feed.dropped().await;
    assert!(start.elapsed() > 29 * SECOND);
    assert_eq!(counted(&test_server.metrics, "tollgate_http_refused_total{kind=\"reader_too_slow\"}"), 1);
    assert_eq!(counted(&test_server.metrics, "tollgate_http_in_flight"), 0);
    drop(socket);
    test_server.stop().await;
}

#[tokio::test]
async fn an_answer_may_be_silent_for_as_long_as_it_likes() {
    let (feed, events) = mpsc::channel(1);
    let test_server = HttpTestServer::start(Fed::from(events).test_router(), |settings| {
        settings.limits = ConnectionLimits::default();
    })
    .await;
    let mut socket = test_server.connect().await;
    socket.write_all(test_server.request("GET /events", "", "").as_bytes()).await.unwrap();
    feed.send(Bytes::from_static(b"one")).await.unwrap();
    read_until(&mut socket, "one\r\n").await;
    pause();
    advance(3600 * SECOND).await;
    feed.send(Bytes::from_static(b"two")).await.unwrap();
    drop(feed);
    assert_eq!(read_until(&mut socket, "0\r\n\r\n").await, "3\r\ntwo\r\n0\r\n\r\n");
    test_server.stop().await;
}

// Conformance: proxy 16.4
#[tokio::test]
async fn a_client_that_goes_away_stops_its_answer() {
    let (feed, fed) = Fed::silent();
    let test_server = HttpTestServer::start(fed.test_router(), |_| {}).await;
    let mut socket = test_server.connect().await;
    socket.write_all(test_server.request("GET /events", "", "").as_bytes()).await.unwrap();
    read_until(&mut socket, "\r\n\r\n").await;
    drop(socket);
    feed.dropped().await;
    test_server.stop().await;
}

#[tokio::test]
async fn clients_that_come_and_go_leave_nothing_behind() {
    let test_router = Router::new().route("/hang", get(std::future::pending::<()>));
    let test_server = HttpTestServer::start(test_router, |_| {}).await;
    let request = test_server.request("GET /hang", "", "");
    let counters = || {
        ["tollgate_http_connections", "tollgate_http_in_flight"]
            .map(|name| counted(&test_server.metrics, name))
    };
    let reached = async |wanted: [u64; 2]| {
        let reached = async {
            while counters() != wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let reached = tokio::time::timeout(Duration::from_secs(30), reached).await;
        assert!(reached.is_ok(), "connections and requests: {:?}, expected {wanted:?}", counters());
    };
    // The counters count: one request hangs.
    let mut held = test_server.connect().await;
    held.write_all(request.as_bytes()).await.unwrap();
    reached([1, 1]).await;
    for length in 0..200 {
        let mut socket = test_server.connect().await;
        let part = &request.as_bytes()[..request.len().min(length * 2)];
        socket.write_all(part).await.unwrap();
    }
    drop(held);
    // The server notices closed connections some time later.
    reached([0, 0]).await;
    test_server.stop().await;
}
