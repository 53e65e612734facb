//! Shutdown of a server.

use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, pause};

use crate::http_test_server::{HttpTestServer, read_to_close, read_until};
use crate::streams::Fed;

#[tokio::test]
async fn answers_end_idle_connections_close_and_nobody_new_comes_in() {
    let (feed, events) = mpsc::channel(1);
    let mut test_server = HttpTestServer::start(Fed::from(events).test_router(), |_| {}).await;
    let mut idle = test_server.connect().await;
    idle.write_all(test_server.request("GET /well", "", "").as_bytes()).await.unwrap();
    read_until(&mut idle, "well").await;
    let mut busy = test_server.connect().await;
    busy.write_all(test_server.request("GET /events", "", "").as_bytes()).await.unwrap();
    feed.send(Bytes::from_static(b"one")).await.unwrap();
    read_until(&mut busy, "one\r\n").await;

    test_server.ask_to_stop();
    assert_eq!(read_to_close(&mut idle).await, "");
    assert!(TcpStream::connect(test_server.address).await.is_err());
    feed.send(Bytes::from_static(b"two")).await.unwrap();
    drop(feed);
    assert_eq!(read_to_close(&mut busy).await, "3\r\ntwo\r\n0\r\n\r\n");
    test_server.stop().await;
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_cut_when_the_time_is_up() {
    let (watch, fed) = Fed::silent();
    let limit = Duration::from_secs(10);
    let test_server =
        HttpTestServer::start(fed.test_router(), |settings| settings.limits.drain = limit).await;
    let mut busy = test_server.connect().await;
    busy.write_all(test_server.request("GET /events", "", "").as_bytes()).await.unwrap();
    read_until(&mut busy, "\r\n\r\n").await;
    pause();
    let start = Instant::now();
    test_server.stop().await;
    assert!(start.elapsed() >= limit);
    watch.dropped().await;
    assert_eq!(read_to_close(&mut busy).await, "");
}
