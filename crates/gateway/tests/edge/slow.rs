//! Clients that take their time.
//!
//! Where nothing is on its way any more, the clock is paused: it then jumps to the next limit. Where a client keeps
//! sending, the limit in question is short and all others are long, so that only this one can be what ends it.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use gateway::edge::Limits;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, advance, pause, resume, sleep};

use crate::rig::{CLOSE, Rig, counted, parted, read_to_close, read_until, verdict};
use crate::routes;
use crate::streams::Fed;

const SECOND: Duration = Duration::from_secs(1);
const SHORT: Duration = Duration::from_millis(50);

async fn rig() -> Rig {
    Rig::start(routes::face(), |settings| settings.limits = Limits::default()).await
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
    let rig = rig().await;
    let mut socket = rig.connect().await;
    let start = Instant::now();
    assert_eq!(read_to_close(&mut socket).await, "");
    assert!(start.elapsed() >= 5 * SECOND);
    assert_eq!(counted(&rig.metrics, "tollgate_http_refused_total{kind=\"first_byte_too_slow\"}"), 1);
    rig.stop().await;
}

#[tokio::test]
async fn half_a_request_line_is_answered_with_a_timeout() {
    let rig = Rig::start(routes::face(), |settings| settings.limits.head = SHORT).await;
    let mut socket = rig.connect().await;
    socket.write_all(b"GET /heal").await.unwrap();
    assert_eq!(verdict(&read_to_close(&mut socket).await), "408 headers_too_slow");
    rig.stop().await;
}

#[tokio::test]
async fn headers_that_drip_in_are_cut() {
    let rig = Rig::start(routes::face(), |settings| settings.limits.head = SHORT).await;
    let mut socket = rig.connect().await;
    socket.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
    // Did every byte buy time, there would be too many headers in the end.
    assert_eq!(verdict(&drip(&mut socket, b"X: y\r\n").await), "408 headers_too_slow");
    rig.stop().await;
}

#[tokio::test]
async fn a_body_that_never_comes_is_given_up() {
    let rig = rig().await;
    let mut socket = rig.connect().await;
    let request = rig.post("/echo/a", "Expect: 100-continue\r\n", "[1,2,3]");
    socket.write_all(request.strip_suffix("[1,2,3]").unwrap().as_bytes()).await.unwrap();
    read_until(&mut socket, "100 Continue\r\n\r\n").await;
    pause();
    let start = Instant::now();
    assert_eq!(verdict(&read_to_close(&mut socket).await), "408 body_too_slow");
    assert!(start.elapsed() > 29 * SECOND);
    rig.stop().await;
}

#[tokio::test]
async fn a_body_that_drips_in_is_cut() {
    let rig = Rig::start(routes::face(), |settings| settings.limits.body = SHORT).await;
    let mut socket = rig.connect().await;
    let body = " ".repeat(900);
    let request = rig.post("/echo/a", "", &body);
    socket.write_all(request.strip_suffix(&body).unwrap().as_bytes()).await.unwrap();
    // Did every byte buy time, the body would be whole in the end.
    assert_eq!(verdict(&drip(&mut socket, b" ").await), "408 body_too_slow");
    rig.stop().await;
}

#[tokio::test]
async fn a_connection_that_is_not_used_again_is_closed() {
    let rig = rig().await;
    let post = rig.post("/echo/a", "", "[1,2,3]");
    for (request, last) in [
        (rig.request("GET /healthz", "", ""), "well"),
        (rig.request("HEAD /healthz", "", ""), "\r\n\r\n"),
        (post.clone(), "[1,2,3]"),
        (post.replace("Bearer tg_", "Bearer no_"), "\"invalid_api_key\"}}"),
    ] {
        let mut socket = rig.connect().await;
        socket.write_all(request.as_bytes()).await.unwrap();
        read_until(&mut socket, last).await;
        pause();
        let start = Instant::now();
        assert_eq!(read_to_close(&mut socket).await, "");
        assert!(start.elapsed() > 29 * SECOND);
        resume();
    }
    rig.stop().await;
}

#[tokio::test]
async fn a_crowd_of_slow_clients_keeps_nobody_else_waiting() {
    let rig = Rig::start(routes::face(), |_| {}).await;
    let mut crowd = Vec::new();
    let body = rig.post("/echo/a", "", "[1,2,3]");
    let kinds = ["", "G", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ", body.strip_suffix(",2,3]").unwrap()];
    for kind in kinds {
        for _ in 0..50 {
            let mut socket = rig.connect().await;
            socket.write_all(kind.as_bytes()).await.unwrap();
            crowd.push(socket);
        }
    }
    let answer = rig.exchange(rig.request("GET /healthz", CLOSE, "")).await;
    assert_eq!(parted(&answer), (200, "well"));
    pause();
    for socket in &mut crowd {
        read_to_close(socket).await;
    }
    resume();
    drop(crowd);
    assert_eq!(parted(&rig.exchange(rig.request("GET /healthz", CLOSE, "")).await), (200, "well"));
    rig.stop().await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_let_go_and_its_answer_stopped() {
    let (feed, fed) = Fed::endless();
    let rig = Rig::start(fed.face(), |settings| settings.limits = Limits::default()).await;
    let mut socket = rig.connect().await;
    socket.write_all(rig.request("GET /events", "", "").as_bytes()).await.unwrap();
    read_until(&mut socket, "\r\n\r\n").await;
    pause();
    let start = Instant::now();
    feed.dropped().await;
    assert!(start.elapsed() > 29 * SECOND);
    assert_eq!(counted(&rig.metrics, "tollgate_http_refused_total{kind=\"reader_too_slow\"}"), 1);
    assert_eq!(counted(&rig.metrics, "tollgate_http_in_flight"), 0);
    drop(socket);
    rig.stop().await;
}

#[tokio::test]
async fn an_answer_may_be_silent_for_as_long_as_it_likes() {
    let (feed, events) = mpsc::channel(1);
    let rig = Rig::start(Fed::from(events).face(), |settings| settings.limits = Limits::default()).await;
    let mut socket = rig.connect().await;
    socket.write_all(rig.request("GET /events", "", "").as_bytes()).await.unwrap();
    feed.send(Bytes::from_static(b"one")).await.unwrap();
    read_until(&mut socket, "one\r\n").await;
    pause();
    advance(3600 * SECOND).await;
    feed.send(Bytes::from_static(b"two")).await.unwrap();
    drop(feed);
    assert_eq!(read_until(&mut socket, "0\r\n\r\n").await, "3\r\ntwo\r\n0\r\n\r\n");
    rig.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_away_stops_its_answer() {
    let (feed, fed) = Fed::silent();
    let rig = Rig::start(fed.face(), |_| {}).await;
    let mut socket = rig.connect().await;
    socket.write_all(rig.request("GET /events", "", "").as_bytes()).await.unwrap();
    read_until(&mut socket, "\r\n\r\n").await;
    drop(socket);
    feed.dropped().await;
    rig.stop().await;
}

#[tokio::test]
async fn clients_that_come_and_go_leave_nothing_behind() {
    let face = Router::new().route("/hang", get(std::future::pending::<()>));
    let rig = Rig::start(face, |_| {}).await;
    let request = rig.request("GET /hang", "", "");
    for length in 0..200 {
        let mut socket = rig.connect().await;
        let part = &request.as_bytes()[..request.len().min(length * 2)];
        socket.write_all(part).await.unwrap();
    }
    // The server notices in its own time.
    while counted(&rig.metrics, "tollgate_http_connections")
        + counted(&rig.metrics, "tollgate_http_in_flight")
        > 0
    {
        tokio::task::yield_now().await;
    }
    rig.stop().await;
}
