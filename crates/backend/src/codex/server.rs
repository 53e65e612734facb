//! One app-server that runs: greeted, counted, and ended by whoever lets it go last.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::failure;
use super::link::Link;
use super::process::{Body, Launched};
use super::settings::Limits;
use super::wire::{ConfigRead, Initialized};
use crate::BackendError;

/// Notifications that no turn needs.
const UNWANTED: [&str; 4] =
    ["account/rateLimits/updated", "thread/status/changed", "thread/started", "remoteControl/status/changed"];

/// A process that takes threads. Dropping the last one closes its input and sees it end.
pub(super) struct Server {
    pub(super) link: Link,
    /// `codex app-server 0.166.0`.
    pub(super) name: String,
    pub(super) models_are_plain: bool,
    threads: AtomicU64,
    open_turns: AtomicUsize,
    finished_turns: AtomicU64,
    retired: AtomicBool,
    warned: AtomicBool,
    /// Settings for every thread that need the knowledge of a running process.
    thread_config: Value,
    memory: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    ended: watch::Receiver<bool>,
}

impl Server {
    /// Greets an app-server that has just been started.
    pub(super) async fn greet(launched: Launched, limits: Limits) -> Result<Server, BackendError> {
        let Launched { input, output, body, models_are_plain } = launched;
        let memory = body.memory();
        let link = Link::open(input, output);
        let (tell_ended, ended) = watch::channel(false);
        tokio::spawn(keep(body, link.clone(), limits, tell_ended));
        // Whatever goes wrong from here on closes the link, which ends the process.
        let mut server = Server {
            link,
            name: String::new(),
            models_are_plain,
            threads: AtomicU64::new(0),
            open_turns: AtomicUsize::new(0),
            finished_turns: AtomicU64::new(0),
            retired: AtomicBool::new(false),
            warned: AtomicBool::new(false),
            thread_config: Value::Null,
            memory,
            ended,
        };
        let params = json!({
            "clientInfo": {"name": "tollgate", "title": "Tollgate", "version": env!("CARGO_PKG_VERSION")},
            "capabilities": {
                "experimentalApi": true,
                "requestAttestation": false,
                "optOutNotificationMethods": UNWANTED,
            },
        });
        let greeting: Initialized = match server.link.ask("initialize", params, limits.start).await? {
            Ok(greeting) => greeting,
            Err(error) => return Err(failure::refused("initialize", &error)),
        };
        server.link.tell("initialized").await?;
        server.name = name_of(&greeting.user_agent);
        server.thread_config = server.without_mcp_servers(limits).await?;
        Ok(server)
    }

    /// The settings that keep the owner's MCP servers out of a thread: it would start them and offer their
    /// tools to the model.
    async fn without_mcp_servers(&self, limits: Limits) -> Result<Value, BackendError> {
        let read =
            self.link.ask::<ConfigRead>("config/read", json!({"includeLayers": false}), limits.start).await?;
        let configured = match read {
            Ok(read) => read.config.mcp_servers.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(
                    error.code,
                    "codex does not tell its settings; its MCP servers may be started"
                );
                Map::new()
            }
        };
        let off: Map<String, Value> =
            configured.into_iter().map(|(name, _)| (name, json!({"enabled": false}))).collect();
        Ok(json!({"mcp_servers": off}))
    }

    pub(super) fn thread_config(&self) -> &Value {
        &self.thread_config
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.link.is_closed()
    }

    pub(super) fn turn_opened(&self) {
        self.open_turns.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn turn_closed(&self) {
        self.open_turns.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn open_turns(&self) -> usize {
        self.open_turns.load(Ordering::Relaxed)
    }

    /// Whether it has ever brought a turn to its end, as a server does that works.
    pub(super) fn has_served(&self) -> bool {
        self.finished_turns.load(Ordering::Relaxed) > 0
    }

    pub(super) fn threads(&self) -> u64 {
        self.threads.load(Ordering::Relaxed)
    }

    pub(super) fn memory(&self) -> Option<u64> {
        (self.memory)()
    }

    pub(super) fn count_thread(&self) {
        self.threads.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_finished_turn(&self) {
        self.finished_turns.fetch_add(1, Ordering::Relaxed);
    }

    /// Says once which files codex adds to the instructions; it cannot be kept from it.
    pub(super) fn warn_of(&self, sources: &[String]) {
        if !sources.is_empty() && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                ?sources,
                "codex adds these files to every turn; give it a home of its own, or move them"
            );
        }
    }

    /// Takes no more turns: something about it is not right.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Tells of its end, also to those who have let it go.
    pub(super) fn end(&self) -> ProcessEnd {
        ProcessEnd(self.ended.clone())
    }
}

#[derive(Clone)]
pub(super) struct ProcessEnd(watch::Receiver<bool>);

impl ProcessEnd {
    pub(super) fn is_over(&self) -> bool {
        *self.0.borrow()
    }

    pub(super) async fn wait(mut self) {
        // An error means that the task which keeps it is gone, and the process with it.
        drop(self.0.wait_for(|ended| *ended).await);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.link.close();
    }
}

/// Sees a process to its end: by itself, or after the link was closed.
async fn keep(mut body: Box<dyn Body>, link: Link, limits: Limits, ended: watch::Sender<bool>) {
    tokio::select! {
        () = body.ended() => link.close(),
        () = link.closed() => {
            if tokio::time::timeout(limits.stop, body.ended()).await.is_err() {
                body.kill();
                body.ended().await;
            }
        }
    }
    ended.send_replace(true);
}

/// `tollgate/0.166.0 (Debian 12; x86_64) ...` holds its version after our name.
fn name_of(user_agent: &str) -> String {
    let version = user_agent.split(['/', ' ']).nth(1).unwrap_or_default();
    format!("codex app-server {version}").trim_end().to_owned()
}
