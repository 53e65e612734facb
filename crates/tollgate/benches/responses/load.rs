//! Clients that ask again and again, each on its own connection.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::target::BenchServer;
use crate::upstream;

const QUESTION: &str = "What is the weather?";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// One object with a few words and a call, as the published figures for answers that are no streams have it.
    Short,
    /// One object with all that a stream says.
    Whole,
    /// Event after event, as fast as they come.
    Stream,
    /// All events in one piece.
    Burst,
    /// One event every 5 ms.
    Paced,
}

impl RequestKind {
    fn name(self) -> &'static str {
        match self {
            RequestKind::Short => "short answers",
            RequestKind::Whole => "whole answers",
            RequestKind::Stream => "streams",
            RequestKind::Burst => "streams in one piece",
            RequestKind::Paced => "paced streams",
        }
    }
}

pub(crate) struct ClientLoad {
    pub(crate) kind: RequestKind,
    pub(crate) connections: usize,
    pub(crate) span: Duration,
}

#[derive(Clone)]
pub(crate) struct LoadFigures {
    pub(crate) rate: f64,
    pub(crate) first_p50: Duration,
    pub(crate) first_p99: Duration,
    /// Time to the first delta of text, which is what a user sees.
    words_p50: Duration,
    /// Seconds a thousand requests.
    pub(crate) cpu: Option<f64>,
    pub(crate) pss: Option<f64>,
    pub(crate) answers: usize,
}

impl ClientLoad {
    pub(crate) fn name(&self) -> String {
        format!("{} on {} connections", self.kind.name(), self.connections)
    }

    pub(crate) fn on(&self, target: &BenchServer) -> LoadFigures {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let before = target.tree().map(|tree| tree.cpu());
        let began = Instant::now();
        let firsts = runtime.block_on(async {
            let until = began + self.span;
            let said = match self.kind {
                RequestKind::Stream => QUESTION,
                // Directly a whole answer comes in one piece; through a gateway that asks for a stream as well.
                RequestKind::Whole | RequestKind::Burst => upstream::BURST,
                RequestKind::Short => upstream::SHORT,
                RequestKind::Paced => upstream::PACED,
            };
            let request = target.request(!matches!(self.kind, RequestKind::Short | RequestKind::Whole), said);
            let clients: Vec<_> = (0..self.connections)
                .map(|_| tokio::spawn(client(target.address(), request.clone(), until)))
                .collect();
            let mut firsts = Vec::new();
            for client in clients {
                firsts.extend(client.await.unwrap());
            }
            firsts
        });
        let took = began.elapsed().as_secs_f64();
        assert!(!firsts.is_empty(), "{} answered nothing", target.name());
        let mut words: Vec<Duration> = firsts.iter().map(|first| first.words).collect();
        let mut firsts: Vec<Duration> = firsts.iter().map(|first| first.byte).collect();
        firsts.sort_unstable();
        words.sort_unstable();
        let cpu = target
            .tree()
            .zip(before)
            .map(|(tree, before)| (tree.cpu() - before) * 1_000.0 / firsts.len() as f64);
        LoadFigures {
            rate: firsts.len() as f64 / took,
            first_p50: firsts[firsts.len() / 2],
            first_p99: firsts[firsts.len() * 99 / 100],
            words_p50: words[words.len() / 2],
            cpu,
            pss: target.tree().map(|tree| tree.pss_mib()),
            answers: firsts.len(),
        }
    }
}

impl LoadFigures {
    pub(crate) fn print(&self, name: &str, direct: &LoadFigures) {
        let millis = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1_000.0);
        let optional = |value: Option<f64>, digits: usize| {
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let added = |ours: Duration, theirs: Duration| (ours.as_secs_f64() - theirs.as_secs_f64()) * 1_000.0;
        println!(
            "  {name:<10} {:>9.0} {:>10} {:>10} {:>14} {:>9}   {:.2}x of direct, first byte {:+.2} ms, first words {:+.2} ms",
            self.rate,
            millis(self.first_p50),
            millis(self.first_p99),
            optional(self.cpu, 3),
            optional(self.pss, 1),
            self.rate / direct.rate,
            added(self.first_p50, direct.first_p50),
            added(self.words_p50, direct.words_p50),
        );
    }
}

/// One streamed answer, as it is.
pub(crate) fn once(target: &BenchServer) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut socket = TcpStream::connect(target.address()).await.unwrap();
        socket.write_all(&target.request(true, QUESTION)).await.unwrap();
        let mut answer = LoadAnswer::default();
        answer.read(&mut socket, Instant::now()).await;
        String::from_utf8_lossy(&answer.buffer).into_owned()
    })
}

/// How long an answer took to begin.
#[derive(Clone, Copy)]
struct FirstByte {
    /// Of the body.
    byte: Duration,
    /// The first delta of text; of an answer that is one object, its first byte.
    words: Duration,
}

/// Asks until the time is over; gives how long each answer took to begin.
async fn client(address: std::net::SocketAddr, request: Vec<u8>, until: Instant) -> Vec<FirstByte> {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let mut firsts = Vec::new();
    let mut answer = LoadAnswer::default();
    while Instant::now() < until {
        let began = Instant::now();
        socket.write_all(&request).await.unwrap();
        firsts.push(answer.read(&mut socket, began).await);
    }
    firsts
}

/// Reads answers of a connection, one after the other.
#[derive(Default)]
struct LoadAnswer {
    buffer: Vec<u8>,
}

impl LoadAnswer {
    async fn read(&mut self, socket: &mut TcpStream, began: Instant) -> FirstByte {
        const WORDS: &[u8] = b"event: response.output_text.delta";
        self.buffer.clear();
        let mut some = vec![0; 64 * 1024];
        let mut body: Option<(usize, Option<usize>)> = None;
        let (mut byte, mut words) = (None, None);
        loop {
            let got = socket.read(&mut some).await.unwrap();
            assert!(got > 0, "hung up: {}", String::from_utf8_lossy(&self.buffer));
            self.buffer.extend_from_slice(&some[..got]);
            if body.is_none()
                && let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n")
            {
                let head = String::from_utf8_lossy(&self.buffer[..at]).to_ascii_lowercase();
                assert!(head.starts_with("http/1.1 200"), "{}", String::from_utf8_lossy(&self.buffer));
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                body = Some((at + 4, length.map(|length| length.trim().parse().unwrap())));
            }
            let Some((start, length)) = body else { continue };
            if self.buffer.len() > start {
                byte.get_or_insert_with(|| began.elapsed());
            }
            if words.is_none() && self.buffer[start..].windows(WORDS.len()).any(|part| part == WORDS) {
                words = Some(began.elapsed());
            }
            let complete = match length {
                Some(length) => self.buffer.len() >= start + length,
                None => self.buffer.ends_with(b"\r\n0\r\n\r\n"),
            };
            if complete {
                let byte = byte.unwrap_or_else(|| began.elapsed());
                return FirstByte { byte, words: words.unwrap_or(byte) };
            }
        }
    }
}
