//! Connections that wait, drip, flood and leave, over an in-memory pipe. The clock is paused while any task is busy.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::routing::get;
use backend::scripted::{Script, ScriptedModel};
use backend::{BackendError, BoxFuture, Capabilities, ModelInfo, ModelTurn, TextModel, TurnStream};
use engine::ManualClock;
use expect_test::expect;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::{MessageLimits, ResponsesSocket};
use crate::answer::{AnswerSettings, Responder, ResponderParts};
use crate::store::{ResponseStore, StoreLimits};
use http_edge::metrics::Metrics;

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

const ASK: &str = r#"{"type":"response.create","model":"m","input":"hello"}"#;

/// A model that takes its time to begin, and counts the turns that it is beginning.
struct Slow {
    pause: Duration,
    beginning: Arc<watch::Sender<u32>>,
    then: ScriptedModel,
}

struct Beginning(Arc<watch::Sender<u32>>);

impl Drop for Beginning {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl TextModel for Slow {
    fn describe(&self) -> String {
        self.then.describe()
    }

    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>> {
        self.then.capabilities()
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>> {
        self.then.models()
    }

    fn start(&self, turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        self.beginning.send_modify(|count| *count += 1);
        let beginning = Beginning(self.beginning.clone());
        Box::pin(async move {
            let _beginning = beginning;
            sleep(self.pause).await;
            self.then.start(turn).await
        })
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        self.then.shut_down()
    }
}

struct Client {
    pipe: DuplexStream,
    beginning: watch::Receiver<u32>,
    opened: Instant,
}

impl Client {
    /// On a connection of its own, to a model that begins after so long.
    async fn open(pause: Duration, patience: MessageLimits) -> Client {
        let (beginning, heard) = watch::channel(0);
        let script = Script::parse(r#"{"text": ["Hi"]}"#).unwrap();
        let model =
            Slow { pause, beginning: Arc::new(beginning), then: ScriptedModel::new("a test", script) };
        let drawn = AtomicU32::new(0);
        let responder = Arc::new(Responder::new(ResponderParts {
            model: Arc::new(model),
            store: Arc::new(ResponseStore::in_memory(StoreLimits::default())),
            metrics: Arc::new(Metrics::new()),
            clock: Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap())),
            unique: Arc::new(move || format!("u{}", drawn.fetch_add(1, Ordering::SeqCst) + 1)),
            settings: AnswerSettings::default(),
            toolbox: None,
        }));
        let upgrade = get(move |upgrade: WebSocketUpgrade| async move {
            upgrade
                .on_upgrade(move |socket| ResponsesSocket::new(responder, None, socket, patience).serve(None))
        });
        let service = TowerToHyperService::new(Router::new().route("/", upgrade));
        let (mut pipe, theirs) = tokio::io::duplex(64 * 1024);
        let http = hyper::server::conn::http1::Builder::new();
        tokio::spawn(http.serve_connection(TokioIo::new(theirs), service).with_upgrades());
        pipe.write_all(
            b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
              Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        )
        .await
        .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(pipe.read_u8().await.unwrap());
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
        Client { pipe, beginning: heard, opened: Instant::now() }
    }

    /// Clients mask with a key; this one is zero.
    async fn send(&mut self, kind: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | kind];
        match u8::try_from(payload.len()) {
            Ok(length) if length < 126 => frame.push(0x80 | length),
            _ => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(payload);
        self.pipe.write_all(&frame).await.unwrap();
    }

    async fn read(&mut self) -> (u8, Vec<u8>) {
        let kind = self.pipe.read_u8().await.unwrap() & 0x0f;
        let length = match self.pipe.read_u8().await.unwrap() {
            126 => usize::from(self.pipe.read_u16().await.unwrap()),
            127 => usize::try_from(self.pipe.read_u64().await.unwrap()).unwrap(),
            length => usize::from(length),
        };
        let mut payload = vec![0; length];
        self.pipe.read_exact(&mut payload).await.unwrap();
        (kind, payload)
    }

    /// Answers pings, or does not, until the connection is closed; returns when and why.
    async fn until_closed(&mut self, answers_pings: bool) -> String {
        loop {
            match self.read().await {
                (CLOSE, payload) => {
                    let code = u16::from_be_bytes([payload[0], payload[1]]);
                    let reason = String::from_utf8_lossy(&payload[2..]);
                    return format!("{:?}: {code} {reason}", self.opened.elapsed());
                }
                (PING, payload) if answers_pings => self.send(PONG, &payload).await,
                _ => {}
            }
        }
    }
}

const LONG: Duration = Duration::from_secs(50);

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_no_ping_is_closed() {
    let mut client = Client::open(LONG, MessageLimits::DEFAULT).await;
    expect!["90s: 1008 two pings were not answered, or a message takes too long; connect again"]
        .assert_eq(&client.until_closed(false).await);
}

#[tokio::test(start_paused = true)]
async fn a_frame_that_drips_in_is_cut() {
    let Client { pipe, beginning, opened } = Client::open(LONG, MessageLimits::DEFAULT).await;
    let (mut reader, mut writer) = tokio::io::split(pipe);
    // A text of a hundred bytes, of which one comes every ten seconds.
    let drip = tokio::spawn(async move {
        writer.write_all(&[0x80 | TEXT, 0x80 | 100, 0, 0, 0, 0]).await.unwrap();
        while writer.write_all(b" ").await.is_ok() {
            sleep(Duration::from_secs(10)).await;
        }
        writer
    });
    let mut read = Vec::new();
    reader.read_to_end(&mut read).await.unwrap();
    // Two pings without a payload; then a close with its length, its code and its reason.
    assert_eq!(read[..5], [0x80 | PING, 0, 0x80 | PING, 0, 0x80 | CLOSE]);
    expect!["90s: two pings were not answered, or a message takes too long; connect again"]
        .assert_eq(&format!("{:?}: {}", opened.elapsed(), String::from_utf8_lossy(&read[8..])));
    assert_eq!(*beginning.borrow(), 0);
    drop(drip.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_asks_nothing_is_closed_though_it_answers_pings() {
    let mut client = Client::open(Duration::ZERO, MessageLimits::DEFAULT).await;
    sleep(Duration::from_secs(1)).await;
    client.send(TEXT, ASK.as_bytes()).await;
    expect!["601s: 1001 no request came for too long; connect again"]
        .assert_eq(&client.until_closed(true).await);
}

#[tokio::test(start_paused = true)]
async fn requests_that_come_before_a_turn_has_begun_are_answered_after_it() {
    let mut client = Client::open(LONG, MessageLimits::DEFAULT).await;
    for _ in 0..3 {
        client.send(TEXT, ASK.as_bytes()).await;
    }
    let mut ended = Vec::new();
    while ended.len() < 3 {
        match client.read().await {
            (TEXT, text) if text.starts_with(br#"{"type":"response.completed""#) => {
                ended.push(client.opened.elapsed());
            }
            (PING, payload) => client.send(PONG, &payload).await,
            _ => {}
        }
    }
    assert_eq!(ended, [LONG, LONG * 2, LONG * 3]);
}

#[tokio::test(start_paused = true)]
async fn more_requests_than_may_wait_end_the_connection() {
    let mut client = Client::open(LONG, MessageLimits { waiting: 2, ..MessageLimits::DEFAULT }).await;
    for _ in 0..4 {
        client.send(TEXT, ASK.as_bytes()).await;
    }
    expect!["0ns: 1008 more requests are waiting than are kept; wait for answers, or open more connections"]
        .assert_eq(&client.until_closed(true).await);
}

#[tokio::test(start_paused = true)]
async fn more_bytes_than_may_wait_end_the_connection() {
    let patience = MessageLimits { waiting_bytes: 1000, ..MessageLimits::DEFAULT };
    let mut client = Client::open(LONG, patience).await;
    client.send(TEXT, ASK.as_bytes()).await;
    client.send(TEXT, &[b' '; 600]).await;
    client.send(TEXT, &[b' '; 401]).await;
    expect!["0ns: 1008 more requests are waiting than are kept; wait for answers, or open more connections"]
        .assert_eq(&client.until_closed(true).await);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_not_text_ends_an_answer_and_says_why() {
    let mut client = Client::open(LONG, MessageLimits::DEFAULT).await;
    client.send(TEXT, ASK.as_bytes()).await;
    client.send(BINARY, b"x").await;
    expect!["0ns: 1003 messages are JSON texts"].assert_eq(&client.until_closed(true).await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_while_its_turn_begins_takes_it_along() {
    let mut client = Client::open(LONG, MessageLimits::DEFAULT).await;
    client.send(TEXT, ASK.as_bytes()).await;
    client.beginning.wait_for(|count| *count == 1).await.unwrap();
    let Client { pipe, mut beginning, opened } = client;
    drop(pipe);
    // The responder goes with the connection, and the model with it.
    while *beginning.borrow_and_update() != 0 && beginning.changed().await.is_ok() {}
    assert_eq!((*beginning.borrow(), opened.elapsed()), (0, Duration::ZERO));
}
