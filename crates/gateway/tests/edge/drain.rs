//! A server that is told to stop.

use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, pause};

use crate::rig::{Rig, read_to_close, read_until};
use crate::streams::Fed;

#[tokio::test]
async fn answers_end_idle_connections_close_and_nobody_new_comes_in() {
    let (feed, events) = mpsc::channel(1);
    let mut rig = Rig::start(Fed::from(events).face(), |_| {}).await;
    let mut idle = rig.connect().await;
    idle.write_all(rig.request("GET /well", "", "").as_bytes()).await.unwrap();
    read_until(&mut idle, "well").await;
    let mut busy = rig.connect().await;
    busy.write_all(rig.request("GET /events", "", "").as_bytes()).await.unwrap();
    feed.send(Bytes::from_static(b"one")).await.unwrap();
    read_until(&mut busy, "one\r\n").await;

    rig.ask_to_stop();
    assert_eq!(read_to_close(&mut idle).await, "");
    assert!(TcpStream::connect(rig.address).await.is_err());
    feed.send(Bytes::from_static(b"two")).await.unwrap();
    drop(feed);
    assert_eq!(read_to_close(&mut busy).await, "3\r\ntwo\r\n0\r\n\r\n");
    rig.stop().await;
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_cut_when_the_time_is_up() {
    let (watch, fed) = Fed::silent();
    let limit = Duration::from_secs(10);
    let rig = Rig::start(fed.face(), |settings| settings.limits.drain = limit).await;
    let mut busy = rig.connect().await;
    busy.write_all(rig.request("GET /events", "", "").as_bytes()).await.unwrap();
    read_until(&mut busy, "\r\n\r\n").await;
    pause();
    let start = Instant::now();
    rig.stop().await;
    assert!(start.elapsed() >= limit);
    watch.dropped().await;
    assert_eq!(read_to_close(&mut busy).await, "");
}
