//! An app-server without a process: it speaks the protocol over a pipe in memory and does as it is told.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::watch;

use crate::codex::process::{AppServerProcess, LaunchServer, LaunchedServer};
use crate::{BackendError, BoxFuture};

/// What it does about a request.
pub(super) enum FakeReaction {
    /// What a well-behaved one does.
    AsUsual,
    Ignore,
    /// Answers with an error of this code.
    Refuse(i64),
    /// Answers as usual; then the turn says these lines, with the ids of the turn in them.
    Say(String),
    /// What a well-behaved one does, two seconds later.
    Late,
    /// Ends at once, as if killed.
    Die,
}

/// A request as it came in.
pub(super) struct FakeRequest<'a> {
    /// The process counts from 1, and so do requests of one method on it.
    pub(super) process: usize,
    pub(super) count: usize,
    pub(super) method: &'a str,
    pub(super) params: &'a Value,
}

type Script = dyn Fn(FakeRequest<'_>) -> FakeReaction + Send + Sync;

/// Starts such processes and remembers what they were asked.
#[derive(Clone)]
pub(super) struct Fake {
    script: Arc<Script>,
    received: Arc<Mutex<Vec<String>>>,
    processes: Arc<Mutex<Vec<watch::Sender<bool>>>>,
    pub(super) memory: Arc<AtomicU64>,
    stubborn: bool,
}

impl Fake {
    pub(super) fn new(script: impl Fn(FakeRequest<'_>) -> FakeReaction + Send + Sync + 'static) -> Fake {
        let (received, processes, memory) = (Arc::default(), Arc::default(), Arc::default());
        Fake { script: Arc::new(script), received, processes, memory, stubborn: false }
    }

    /// One that does not end when its input is closed.
    pub(super) fn stubborn(self) -> Fake {
        Fake { stubborn: true, ..self }
    }

    /// What all processes were asked and told, one a line, from the beginning.
    pub(super) fn received(&self) -> String {
        self.received.lock().unwrap().join("\n")
    }

    /// The same without greetings and without what threads are given.
    pub(super) fn received_by_turns(&self) -> String {
        let received = self.received.lock().unwrap();
        let of_turns = |line: &&String| !["initialize", "config/read"].iter().any(|word| line.contains(word));
        received.iter().filter(of_turns).cloned().collect::<Vec<_>>().join("\n")
    }

    pub(super) fn started(&self) -> usize {
        self.processes.lock().unwrap().len()
    }

    pub(super) fn running(&self) -> usize {
        self.processes.lock().unwrap().iter().filter(|ended| !*ended.borrow()).count()
    }

    fn note(&self, process: usize, what: &str) {
        self.received.lock().unwrap().push(format!("{process} {what}"));
    }
}

impl LaunchServer for Fake {
    fn launch(&self) -> BoxFuture<'_, Result<LaunchedServer, BackendError>> {
        Box::pin(async {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            let (ended, _) = watch::channel(false);
            let process = {
                let mut processes = self.processes.lock().unwrap();
                processes.push(ended.clone());
                processes.len()
            };
            let (input, output) = tokio::io::split(theirs);
            let life = Life { fake: self.clone(), process, threads: 0, counts: HashMap::new() };
            tokio::spawn(life.live(input, output, ended.clone()));
            let (output, input) = tokio::io::split(ours);
            let body = FakeBody { ended, memory: Arc::clone(&self.memory) };
            Ok(LaunchedServer {
                input: Box::new(input),
                output: Box::new(output),
                body: Box::new(body),
                models_are_plain: true,
            })
        })
    }
}

struct FakeBody {
    ended: watch::Sender<bool>,
    memory: Arc<AtomicU64>,
}

impl AppServerProcess for FakeBody {
    fn ended(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut ended = self.ended.subscribe();
            drop(ended.wait_for(|ended| *ended).await);
        })
    }

    fn kill(&mut self) {
        self.ended.send_replace(true);
    }

    fn memory(&self) -> Box<dyn Fn() -> Option<u64> + Send + Sync> {
        let memory = Arc::clone(&self.memory);
        Box::new(move || Some(memory.load(Ordering::Relaxed)))
    }
}

/// One process while it runs.
struct Life {
    fake: Fake,
    process: usize,
    threads: usize,
    counts: HashMap<String, usize>,
}

impl Life {
    async fn live(
        mut self,
        input: ReadHalf<DuplexStream>,
        mut output: WriteHalf<DuplexStream>,
        ended: watch::Sender<bool>,
    ) {
        let mut dead = ended.subscribe();
        let talk = async {
            let mut lines = BufReader::new(input).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let Some((pause, answer)) = self.answer(&line) else { return };
                tokio::time::sleep(pause).await;
                if output.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
            self.fake.note(self.process, "end of input");
            if self.fake.stubborn {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            _ = dead.wait_for(|dead| *dead) => {}
            () = talk => {}
        }
        ended.send_replace(true);
    }

    /// The lines that follow a line, and after how long; `None` when it dies of it.
    fn answer(&mut self, line: &str) -> Option<(Duration, String)> {
        let mut pause = Duration::ZERO;
        let message: Value = serde_json::from_str(line).unwrap();
        let Some(method) = message["method"].as_str() else {
            self.fake.note(self.process, &format!("answer {}", message["error"]["code"]));
            return Some((pause, String::new()));
        };
        let mut shown = message["params"].clone();
        if let Some(params) = shown.as_object_mut() {
            for bulky in ["clientInfo", "capabilities", "config", "cwd"] {
                params.shift_remove(bulky);
            }
        }
        self.fake.note(self.process, &format!("{method} {shown}"));
        if message.get("id").is_none() {
            return Some((pause, String::new()));
        }
        let count = self.counts.entry(method.to_owned()).or_default();
        *count += 1;
        let asked = FakeRequest { process: self.process, count: *count, method, params: &message["params"] };
        let lines = match (self.fake.script)(asked) {
            FakeReaction::AsUsual => self.usual(&message, method),
            FakeReaction::Late => {
                pause = Duration::from_secs(2);
                self.usual(&message, method)
            }
            FakeReaction::Ignore => String::new(),
            FakeReaction::Refuse(code) => {
                let error = json!({"code": code, "message": "No."});
                format!("{}\n", json!({"id": message["id"], "error": error}))
            }
            FakeReaction::Say(lines) => {
                let thread = message["params"]["threadId"].as_str().unwrap();
                let lines = lines.replace("thread-1", thread).replace("turn-1", &format!("turn of {thread}"));
                format!("{}{lines}", self.usual(&message, method))
            }
            FakeReaction::Die => return None,
        };
        Some((pause, lines))
    }

    fn usual(&mut self, message: &Value, method: &str) -> String {
        let result = match method {
            "initialize" => json!({"userAgent": "tollgate/0.166.0 (fake)"}),
            "thread/start" => {
                self.threads += 1;
                json!({"thread": {"id": format!("thread {} of {}", self.threads, self.process)}})
            }
            "turn/start" => {
                let thread = message["params"]["threadId"].as_str().unwrap();
                json!({"turn": {"id": format!("turn of {thread}")}})
            }
            "config/read" => json!({"config": {}}),
            _ => json!({}),
        };
        format!("{}\n", json!({"id": message["id"], "result": result}))
    }
}
