//! One running app-server, and the leases of the turns on it. Dropping the last reference ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use serde_json::{Map, Value, json};
use tokio::sync::{Notify, OwnedSemaphorePermit, watch};

use super::error_mapping;
use super::process::{AppServerProcess, LaunchedServer};
use super::protocol::{ConfigResult, InitializeResult};
use super::rpc_client::RpcClient;
use super::settings::CodexTimeouts;
use crate::BackendError;

/// Notifications that no turn needs.
const UNWANTED: [&str; 4] =
    ["account/rateLimits/updated", "thread/status/changed", "thread/started", "remoteControl/status/changed"];

/// A running process that takes threads.
pub(super) struct AppServer {
    pub(super) rpc: RpcClient,
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

impl AppServer {
    /// Initializes an app-server that has just been started. Fails if it refuses or takes too long.
    pub(super) async fn initialize(
        launched: LaunchedServer,
        limits: CodexTimeouts,
    ) -> Result<AppServer, BackendError> {
        let LaunchedServer { input, output, body, models_are_plain } = launched;
        let memory = body.memory();
        let rpc = RpcClient::open(input, output);
        let (tell_ended, ended) = watch::channel(false);
        tokio::spawn(supervise(body, rpc.clone(), limits, tell_ended));
        // From here on an error drops the server, which ends the process.
        let mut server = AppServer {
            rpc,
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
        let greeting: InitializeResult = match server.rpc.request("initialize", params, limits.start).await? {
            Ok(greeting) => greeting,
            Err(error) => return Err(error_mapping::refused("initialize", &error)),
        };
        server.rpc.notify("initialized").await?;
        server.name = name_of(&greeting.user_agent);
        server.thread_config = server.without_mcp_servers(limits).await?;
        Ok(server)
    }

    /// Returns settings that switch off the owner's MCP servers in a thread: it would start them and offer their
    /// tools to the model.
    async fn without_mcp_servers(&self, limits: CodexTimeouts) -> Result<Value, BackendError> {
        let read = self
            .rpc
            .request::<ConfigResult>("config/read", json!({"includeLayers": false}), limits.start)
            .await?;
        let configured = match read {
            Ok(read) => read.config.mcp_servers.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(
                    error.code,
                    "codex does not return its settings; its MCP servers may be started"
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
        !self.rpc.is_closed()
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

    /// Whether it has ever completed a turn.
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

    /// Logs once which files codex adds to the instructions; nothing prevents it from that.
    pub(super) fn warn_of(&self, sources: &[String]) {
        if !sources.is_empty() && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                ?sources,
                "codex adds these files to every turn; give it a home of its own, or move them"
            );
        }
    }

    /// Takes no more turns, because something is wrong with it.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Returns a handle that learns of the end of the process, even after the server is dropped.
    pub(super) fn end(&self) -> ProcessEnd {
        ProcessEnd(self.ended.clone())
    }
}

/// Place of one turn on a server, returned when it is dropped. The server lives as long as its leases.
pub(super) struct ServerLease {
    server: Arc<AppServer>,
    /// Returned after the server counted the turn as closed, and before waiting turns are notified.
    room: Option<OwnedSemaphorePermit>,
    changed: Arc<Notify>,
}

impl ServerLease {
    pub(super) fn new(
        server: Arc<AppServer>,
        room: OwnedSemaphorePermit,
        changed: Arc<Notify>,
    ) -> ServerLease {
        server.turn_opened();
        ServerLease { server, room: Some(room), changed }
    }

    pub(super) fn server(&self) -> &AppServer {
        &self.server
    }
}

impl Drop for ServerLease {
    fn drop(&mut self) {
        self.server.turn_closed();
        drop(self.room.take());
        self.changed.notify_waiters();
    }
}

#[derive(Clone)]
pub(super) struct ProcessEnd(watch::Receiver<bool>);

impl ProcessEnd {
    pub(super) fn is_over(&self) -> bool {
        *self.0.borrow()
    }

    pub(super) async fn wait(mut self) {
        // An error means that the supervising task is gone, and the process with it.
        drop(self.0.wait_for(|ended| *ended).await);
    }
}

impl Drop for AppServer {
    fn drop(&mut self) {
        self.rpc.close();
    }
}

/// Supervises a process until it has ended, by itself or after the connection was closed. Kills it if that takes too
/// long.
async fn supervise(
    mut body: Box<dyn AppServerProcess>,
    rpc: RpcClient,
    limits: CodexTimeouts,
    ended: watch::Sender<bool>,
) {
    tokio::select! {
        () = body.ended() => rpc.close(),
        () = rpc.closed() => {
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
