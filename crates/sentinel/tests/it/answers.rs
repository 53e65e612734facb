//! Whole answers, from what a model says to the last event: however its text is cut, a client gets the same items, the
//! same texts and the same ids, numbered without a gap and ended once.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use backend::{
    BackendError, BoxFuture, Capabilities, FinishReason, ModelInfo, ModelTurn, TextModel, TokenUsage,
    TurnEvent, TurnStream,
};
use engine::ManualClock;
use futures_core::Stream;
use http_edge::metrics::Metrics;
use responses::answer::{AnswerSettings, Responder, ResponderParts, event_channel};
use responses::event::EventFraming;
use responses::request::{Request, SchemaCache, parse_value};
use responses::store::{ResponseStore, StoreLimits};
use serde_json::{Value, json};

use super::cases;
use super::drawing::Draw;
use super::outputs::output;

const MESSAGES: usize = 200;
/// Of what is drawn. Every place of every message is cut at.
const LONGEST: usize = 120;
/// Over all messages.
const RANDOM_CUTS: usize = 10_000;

/// Everything that the cases have, and outputs that were drawn.
fn messages() -> Vec<String> {
    let mut messages: Vec<String> = cases::all().iter().map(|case| case.text.to_owned()).collect();
    let drawn = (0..).map(|seed| output(&mut Draw::new(seed))).filter(|text| text.len() <= LONGEST);
    messages.extend(drawn.take(MESSAGES - messages.len()));
    messages
}

/// Says the same pieces in every turn.
struct Says(Arc<Mutex<Vec<String>>>);

struct Pieces(std::vec::IntoIter<TurnEvent>);

impl Stream for Pieces {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(mut self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}

impl TextModel for Says {
    fn describe(&self) -> String {
        "says what it is told".to_owned()
    }

    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>> {
        Box::pin(async {
            Ok(Capabilities {
                native_tools: false,
                images: false,
                sampling: false,
                output_schema: false,
                reasoning: false,
                verbosity: false,
            })
        })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn start(&self, _turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        let said = self.0.lock().unwrap().clone();
        // Otherwise tokens are estimated from the text that was read, which depends on the last chunk.
        let mut events = vec![TurnEvent::Usage(TokenUsage::default())];
        events.extend(said.into_iter().map(TurnEvent::Text));
        events.push(TurnEvent::Done(FinishReason::Stop));
        Box::pin(async { Ok(TurnStream::new(Pieces(events.into_iter()))) })
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// Answers one request again and again.
struct Rig {
    pieces: Arc<Mutex<Vec<String>>>,
    responder: Responder,
    request: Box<Request>,
}

impl Rig {
    fn new(strict: bool) -> Rig {
        let pieces = Arc::new(Mutex::new(Vec::new()));
        let responder = Responder::new(ResponderParts {
            model: Arc::new(Says(pieces.clone())),
            store: Arc::new(ResponseStore::in_memory(StoreLimits::default())),
            metrics: Arc::new(Metrics::new()),
            clock: Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap())),
            unique: Arc::new(|| "u".to_owned()),
            settings: AnswerSettings::default(),
            toolbox: None,
        });
        let tool = |name: &str, strict: bool| json!({ "type": "function", "name": name, "strict": strict });
        let body = json!({
            "model": "m", "input": "hi", "stream": true, "store": false,
            "tools": [tool("f", false), tool("read_file", false), tool("strict", strict)],
        });
        let request = parse_value(body, &SchemaCache::default()).unwrap();
        Rig { pieces, responder, request }
    }

    /// The answer to these pieces: its events without their numbers, deltas that follow each other made one.
    async fn answer(&self, pieces: &[&str]) -> Vec<String> {
        *self.pieces.lock().unwrap() =
            pieces.iter().filter(|piece| !piece.is_empty()).map(|piece| (*piece).to_owned()).collect();
        let prepared = self.responder.prepare(self.request.clone(), None).await.unwrap();
        let (out, mut reader) = event_channel();
        let read = async {
            let mut all = Vec::new();
            while let Some(bytes) = reader.recv().await {
                all.extend_from_slice(&bytes);
            }
            all
        };
        let (answered, bytes) =
            tokio::join!(self.responder.write(prepared, EventFraming::Lines, out, None), read);
        assert!(answered.is_some());
        joined(std::str::from_utf8(&bytes).unwrap())
    }

    async fn check(&self, pieces: &[&str], whole: &[String]) {
        let cut = self.answer(pieces).await;
        if cut != whole {
            let differs = cut.iter().zip(whole).find(|(one, other)| one != other);
            panic!("{pieces:?} gives {} events, whole {}: {differs:#?}", cut.len(), whole.len());
        }
    }
}

/// Looks at the lines as text: reading all of them as JSON would take most of the time.
fn joined(lines: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut open: Option<Value> = None;
    for (number, line) in lines.lines().filter(|line| !line.is_empty()).enumerate() {
        let place = format!("\"sequence_number\":{number},");
        let (before, after) =
            line.split_once(&place).unwrap_or_else(|| panic!("{number} is not next: {line}"));
        let event = format!("{before}{after}");
        if !event.contains(".delta\",") {
            all.extend(open.take().map(|delta| delta.to_string()));
            all.push(event);
            continue;
        }
        let event: Value = serde_json::from_str(&event).unwrap();
        match &mut open {
            Some(before) if before["item_id"] == event["item_id"] => {
                let more = event["delta"].as_str().unwrap();
                before["delta"] = json!(format!("{}{more}", before["delta"].as_str().unwrap()));
            }
            _ => all.extend(open.replace(event).map(|delta| delta.to_string())),
        }
    }
    all
}

/// The one event that ends an answer.
fn end(events: &[String]) -> &'static str {
    const ENDS: [&str; 4] = ["response.completed", "response.incomplete", "response.failed", "error"];
    let ends: Vec<(usize, &str)> = events
        .iter()
        .enumerate()
        .filter_map(|(at, event)| {
            let event: Value = serde_json::from_str(event).unwrap();
            Some((at, *ENDS.iter().find(|end| event["type"] == **end)?))
        })
        .collect();
    match ends.as_slice() {
        [(at, end)] if at + 1 == events.len() => end,
        _ => panic!("not one end: {events:#?}"),
    }
}

// Conformance: proxy 4.5
#[tokio::test]
async fn an_answer_is_the_same_however_it_is_cut_in_two() {
    let rig = Rig::new(false);
    for text in messages() {
        let whole = rig.answer(&[&text]).await;
        assert_eq!(end(&whole), "response.completed", "{text:?}");
        for (at, _) in text.char_indices().skip(1) {
            let (one, other) = text.split_at(at);
            rig.check(&[one, other], &whole).await;
        }
    }
}

// Conformance: proxy 4.5
#[tokio::test]
async fn an_answer_is_the_same_however_it_is_cut() {
    for strict in [false, true] {
        let rig = Rig::new(strict);
        for (number, text) in messages().iter().enumerate() {
            let whole = rig.answer(&[text]).await;
            assert!(strict || end(&whole) == "response.completed", "{text:?}");
            for cut in 0..RANDOM_CUTS / MESSAGES / 2 {
                let mut draw = Draw::new((number * RANDOM_CUTS + cut) as u64);
                rig.check(&draw.pieces(text), &whole).await;
            }
        }
    }
}
