//! Connections that become something else.

use std::time::Duration;

use axum::Router;
use axum::extract::Extension;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::get;
use expect_test::expect;
use gateway::edge::{Drain, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{advance, pause};

use crate::rig::{CLOSE, Rig, counted, read_to_close, read_until, undated, verdict};

fn face() -> Router {
    Router::new()
        .route(
            "/polite",
            get(|upgrade: WebSocketUpgrade, Extension(drain): Extension<Drain>| echo(upgrade, Some(drain))),
        )
        .route("/deaf", get(|upgrade: WebSocketUpgrade| echo(upgrade, None)))
        .route("/plain", get(|| async { "well" }))
}

/// Says back what it hears, until the server drains if it listens for that.
async fn echo(upgrade: WebSocketUpgrade, drain: Option<Drain>) -> Response {
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

async fn open(rig: &Rig, path: &str) -> (TcpStream, String) {
    let mut socket = rig.connect().await;
    socket.write_all(rig.request(&format!("GET {path}"), UPGRADE, "").as_bytes()).await.unwrap();
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
    let rig = Rig::start(face(), |settings| settings.limits = Limits::default()).await;
    let (mut socket, answer) = open(&rig, "/deaf").await;
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
    assert_eq!(counted(&rig.metrics, "tollgate_http_connections"), 1);
    drop(socket);
    rig.stop().await;
}

#[tokio::test]
async fn a_web_socket_passes_the_same_guard() {
    let rig = Rig::start(face(), |_| {}).await;
    let good = rig.request("GET /deaf", UPGRADE, "");
    let stranger = good.replace("Bearer tg_", "Bearer no_");
    let page = rig.request("GET /deaf", &format!("{UPGRADE}Origin: http://evil.com\r\n"), "");
    assert_eq!(verdict(&rig.exchange(stranger).await), "401 invalid_api_key");
    assert_eq!(verdict(&rig.exchange(page).await), "403 origin_not_allowed");
    rig.stop().await;
}

#[tokio::test]
async fn an_upgrade_that_nobody_takes_is_the_last_request_of_its_connection() {
    let rig = Rig::start(face(), |_| {}).await;
    let request = rig.request("GET /plain", "Connection: Upgrade\r\nUpgrade: h2c\r\n", "");
    let answer = rig.exchange(request + &rig.request("GET /plain", CLOSE, "")).await;
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 1, "{answer}");
    rig.stop().await;
}

#[tokio::test]
async fn a_web_socket_that_listens_ends_when_the_server_stops() {
    let mut rig = Rig::start(face(), |_| {}).await;
    let (mut socket, _) = open(&rig, "/polite").await;
    assert!(is_heard(&mut socket).await);
    rig.ask_to_stop();
    read_to_close(&mut socket).await;
    rig.stop().await;
}

#[tokio::test]
async fn a_web_socket_that_does_not_listen_is_closed_when_the_time_is_up() {
    let mut rig = Rig::start(face(), |settings| settings.limits = Limits::default()).await;
    let (mut socket, _) = open(&rig, "/deaf").await;
    assert!(is_heard(&mut socket).await);
    pause();
    rig.ask_to_stop();
    read_to_close(&mut socket).await;
    rig.stop().await;
}
