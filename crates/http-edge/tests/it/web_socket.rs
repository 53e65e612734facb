//! Connections that become something else.

use std::time::Duration;

use axum::Router;
use axum::extract::Extension;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::get;
use expect_test::expect;
use http_edge::{ConnectionLimits, ShutdownSignal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{advance, pause};

use crate::http_test_server::{CLOSE, HttpTestServer, counted, read_to_close, read_until, undated, verdict};

fn test_router() -> Router {
    Router::new()
        .route(
            "/polite",
            get(|upgrade: WebSocketUpgrade, Extension(drain): Extension<ShutdownSignal>| {
                echo(upgrade, Some(drain))
            }),
        )
        .route("/deaf", get(|upgrade: WebSocketUpgrade| echo(upgrade, None)))
        .route("/plain", get(|| async { "well" }))
}

/// Says back what it hears, until the server drains if it listens for that.
async fn echo(upgrade: WebSocketUpgrade, drain: Option<ShutdownSignal>) -> Response {
    upgrade.on_upgrade(|mut socket: WebSocket| async move {
        let stopping = async {
            match drain {
                Some(mut drain) => drain.started().await,
                None => std::future::pending().await,
            }
        };
        let echoing = async {
            while let Some(Ok(Message::Text(text))) = socket.recv().await {
                socket.send(Message::Text(text)).await.unwrap();
            }
        };
        tokio::select! {
            () = stopping => {}
            () = echoing => {}
        }
    })
}

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

async fn open(test_server: &HttpTestServer, path: &str) -> (TcpStream, String) {
    let mut socket = test_server.connect().await;
    socket.write_all(test_server.request(&format!("GET {path}"), UPGRADE, "").as_bytes()).await.unwrap();
    let answer = read_until(&mut socket, "\r\n\r\n").await;
    (socket, answer)
}

/// Sends a text of two bytes and hears it back. Clients mask with a key; this one is zero.
async fn is_heard(socket: &mut TcpStream) -> bool {
    socket.write_all(&[0x81, 0x82, 0, 0, 0, 0, b'h', b'i']).await.unwrap();
    let mut frame = [0; 4];
    socket.read_exact(&mut frame).await.unwrap();
    frame == [0x81, 2, b'h', b'i']
}

#[tokio::test]
async fn a_web_socket_lives_on_after_the_limits_for_requests() {
    let test_server =
        HttpTestServer::start(test_router(), |settings| settings.limits = ConnectionLimits::default()).await;
    let (mut socket, answer) = open(&test_server, "/deaf").await;
    expect![[r#"
        HTTP/1.1 101 Switching Protocols
        connection: upgrade
        upgrade: websocket
        sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=
        vary: origin


    "#]]
    .assert_eq(&undated(&answer));
    assert!(is_heard(&mut socket).await);
    pause();
    advance(Duration::from_secs(3600)).await;
    assert!(is_heard(&mut socket).await);
    assert_eq!(counted(&test_server.metrics, "tollgate_http_connections"), 1);
    drop(socket);
    test_server.stop().await;
}

// Conformance: proxy 16.8
#[tokio::test]
async fn a_web_socket_passes_the_same_guard() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let good = test_server.request("GET /deaf", UPGRADE, "");
    let stranger = good.replace("Bearer tg_", "Bearer no_");
    let page = test_server.request("GET /deaf", &format!("{UPGRADE}Origin: http://evil.com\r\n"), "");
    assert_eq!(verdict(&test_server.exchange(stranger).await), "401 invalid_api_key");
    assert_eq!(verdict(&test_server.exchange(page).await), "403 origin_not_allowed");
    test_server.stop().await;
}

#[tokio::test]
async fn an_upgrade_that_nobody_takes_is_the_last_request_of_its_connection() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let request = test_server.request("GET /plain", "Connection: Upgrade\r\nUpgrade: h2c\r\n", "");
    let answer = test_server.exchange(request + &test_server.request("GET /plain", CLOSE, "")).await;
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 1, "{answer}");
    test_server.stop().await;
}

#[tokio::test]
async fn a_web_socket_that_listens_ends_when_the_server_stops() {
    let mut test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let (mut socket, _) = open(&test_server, "/polite").await;
    assert!(is_heard(&mut socket).await);
    test_server.ask_to_stop();
    read_to_close(&mut socket).await;
    test_server.stop().await;
}

#[tokio::test]
async fn a_web_socket_that_does_not_listen_is_closed_when_the_time_is_up() {
    let mut test_server =
        HttpTestServer::start(test_router(), |settings| settings.limits = ConnectionLimits::default()).await;
    let (mut socket, _) = open(&test_server, "/deaf").await;
    assert!(is_heard(&mut socket).await);
    pause();
    test_server.ask_to_stop();
    read_to_close(&mut socket).await;
    test_server.stop().await;
}
