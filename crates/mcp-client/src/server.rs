//! One upstream server: started on the first call, one connection at a time, restarted after a crash.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use envelope::{Failure, Fault, SideEffect};
use rmcp::service::ClientInitializeError;
use serde_json::Value;
use shell::{ServerSpec, ShellSession};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use toolkit::ToolCx;

use crate::approval::check_approval;
use crate::backoff::{RestartBackoff, RestartDecision};
use crate::connection::{HandshakeKind, ListedTools, ServerConnection, ServerProgram};
use crate::stderr_tail::StderrTail;
use crate::stdio_transport::{DisconnectCause, StdioTransport};
use crate::{ApprovalLookup, DeclarationDiff, ServerAddress, ServerPin, ServerSettings, escape, http};

/// Timeout for starting a server and listing its tools.
const START_TIMEOUT: Duration = Duration::from_secs(45);
/// Size of a message besides the text of an answer, whose JSON form can be twice as long.
const MESSAGE_OVERHEAD: u64 = 1 << 20;

/// Number of started programs, so that each gets a unique mark.
static STARTED_PROGRAMS: AtomicU64 = AtomicU64::new(0);

/// Resources needed to reach a server, besides its settings.
#[derive(Clone, Default)]
pub struct ServerResources {
    /// Command session that runs the server's program. `None` if servers are only listed.
    pub session: Option<Arc<ShellSession>>,
    /// Values of the environment variables that the settings name.
    pub env: BTreeMap<String, String>,
    pub token: Option<String>,
}

/// The parts of a server.
pub struct ServerParts {
    pub name: String,
    pub settings: ServerSettings,
    pub resources: ServerResources,
    /// Real path of the vault.
    pub root: PathBuf,
    /// Approval lookup. `None` for a server that is only inspected and never called.
    pub approved: Option<ApprovalLookup>,
}

/// A call of a pinned tool.
#[derive(Clone, Copy)]
pub(crate) struct PinnedCall<'a> {
    /// Name of the tool in the registry.
    pub(crate) who: &'a str,
    /// Name of the tool on the server.
    pub(crate) tool: &'a str,
    pub(crate) pin: &'a ServerPin,
    /// Effect that is reported once the request is about to be sent.
    pub(crate) effect: Option<SideEffect>,
}

/// An upstream server with its connection, if it has one.
pub struct UpstreamServer {
    parts: ServerParts,
    /// Locked while the server starts: concurrent callers wait for that start instead of starting another.
    slot: Mutex<ConnectionSlot>,
}

/// Reason why the tools of a server could not be listed.
enum ToolListError {
    Broken(Fault),
    /// The connection is open, but no answer came in time.
    Late(Fault),
}

#[derive(Default)]
struct ConnectionSlot {
    connection: Option<Arc<ServerConnection>>,
    backoff: RestartBackoff,
}

impl UpstreamServer {
    pub fn new(parts: ServerParts) -> Arc<UpstreamServer> {
        Arc::new(UpstreamServer { parts, slot: Mutex::default() })
    }

    pub fn name(&self) -> &str {
        &self.parts.name
    }

    pub(crate) fn settings(&self) -> &ServerSettings {
        &self.parts.settings
    }

    pub(crate) fn root(&self) -> &PathBuf {
        &self.parts.root
    }

    /// Starts the server if necessary and lists its tools, for review.
    pub async fn list_tools(&self) -> Result<ListedTools, Fault> {
        let connection = self.connection().await?;
        match timeout(START_TIMEOUT, connection.list_tools()).await {
            Ok(offer) => offer.map_err(|fault| self.with_server_name(fault)),
            Err(_late) => Err(self.unavailable("it did not list its tools in time")),
        }
    }

    /// Calls a pinned tool if the server's current declaration equals the pinned one.
    pub(crate) async fn call(&self, cx: &ToolCx, order: PinnedCall<'_>, args: Value) -> Result<Value, Fault> {
        let PinnedCall { who, tool, pin, effect } = order;
        let Value::Object(args) = args else {
            return Err(Fault::new(
                Failure::InvalidArguments,
                format!("the arguments of {who} are not an object"),
            ));
        };
        // A call that is refused anyway must not start a server.
        self.check_approval(order)?;
        let connection = tokio::select! {
            biased;
            _cause = cx.cancel().cancelled() => {
                return Err(Fault::new(Failure::Canceled, format!("{who} was cancelled before it began")));
            }
            ready = self.connection_and_drift(pin) => {
                let (connection, drift) = ready?;
                self.check_drift(who, tool, &drift)?;
                connection
            }
        };
        // Starting and listing can take long, and an approval revoked meanwhile counts.
        self.check_approval(order)?;
        // From here on the effect may have happened, whatever the server returns.
        effect.into_iter().for_each(|effect| cx.observed(effect));
        let called = connection.call(cx, who, tool, args, self.parts.settings.max_output_bytes.get()).await;
        if let Err(fault) = &called
            && (connection.is_closed() || fault.failure == Failure::DependencyUnavailable)
        {
            self.discard_connection(&connection, &fault.message).await;
        }
        // The server may have done the work before the connection ended, or may still do it.
        called.map_err(|fault| {
            match matches!(fault.failure, Failure::DependencyUnavailable | Failure::Canceled) {
                true => with_unknown_outcome(fault),
                // The server has reported the outcome.
                false => fault,
            }
        })
    }

    /// Returns a connection for calls, and the difference between the listed and the pinned tools.
    async fn connection_and_drift(
        &self,
        pin: &ServerPin,
    ) -> Result<(Arc<ServerConnection>, DeclarationDiff), Fault> {
        let before = self.slot.lock().await.connection.clone();
        let connection = self.connection().await?;
        match self.fetch_drift(&connection, pin).await {
            Ok(drift) => return Ok((connection, drift)),
            // The connection ended since the last call and this is the first request to fail. The list request can
            // be repeated safely.
            Err(ToolListError::Broken(fault))
                if before.is_some_and(|before| Arc::ptr_eq(&before, &connection)) =>
            {
                self.discard_connection(&connection, &fault.message).await;
            }
            Err(ToolListError::Broken(fault) | ToolListError::Late(fault)) => {
                self.discard_connection(&connection, &fault.message).await;
                return Err(fault);
            }
        }
        let connection = self.connection().await?;
        match self.fetch_drift(&connection, pin).await {
            Ok(drift) => Ok((connection, drift)),
            Err(ToolListError::Broken(fault) | ToolListError::Late(fault)) => {
                self.discard_connection(&connection, &fault.message).await;
                Err(fault)
            }
        }
    }

    async fn fetch_drift(
        &self,
        connection: &ServerConnection,
        pin: &ServerPin,
    ) -> Result<DeclarationDiff, ToolListError> {
        match timeout(START_TIMEOUT, connection.fetch_drift(pin)).await {
            Ok(drift) => drift.map_err(|fault| ToolListError::Broken(self.with_server_name(fault))),
            Err(_late) => Err(ToolListError::Late(self.unavailable("it did not list its tools in time"))),
        }
    }

    fn check_approval(&self, order: PinnedCall<'_>) -> Result<(), Fault> {
        let PinnedCall { who, tool, pin, .. } = order;
        self.parts.approved.as_ref().map_or(Ok(()), |now| check_approval(self.name(), who, tool, pin, now))
    }

    fn check_drift(&self, who: &str, tool: &str, drift: &DeclarationDiff) -> Result<(), Fault> {
        let name = self.name();
        let what = match drift.changed.get(tool) {
            Some(parts) => {
                format!("has another {} than was approved", parts.join(" and another "))
            }
            None if drift.gone.iter().any(|gone| gone == tool) => {
                "is no longer listed by its server".to_owned()
            }
            None => return Ok(()),
        };
        Err(Fault::new(Failure::BlockedTool, format!("{who} {what}; nothing was called"))
            .hint(format!("review the change with `tollgate servers approve {name}`"))
            .detail("server", name))
    }

    /// Returns the connection, and opens it if necessary.
    async fn connection(&self) -> Result<Arc<ServerConnection>, Fault> {
        let mut slot = self.slot.lock().await;
        if let Some(connection) = &slot.connection {
            if !connection.is_closed() {
                return Ok(Arc::clone(connection));
            }
            // It ended between two calls.
            let (connection, why) = (Arc::clone(connection), "it ended by itself".to_owned());
            slot.connection = None;
            slot.backoff.record_failure(Instant::now(), connection.uptime(), why);
            connection.close().await;
        }
        match slot.backoff.decide(Instant::now()) {
            RestartDecision::Now => {}
            RestartDecision::In(wait, why) => {
                let message = format!("it is started again in {} ms; {why}", wait.as_millis());
                return Err(self
                    .unavailable(&message)
                    .detail("retryAfterMs", u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)));
            }
            RestartDecision::NeverAgain(why) => {
                let message = format!("it failed too often and is not started again; {why}");
                return Err(self.unavailable(&message).retryable(false));
            }
        }
        match self.connect().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                slot.connection = Some(Arc::clone(&connection));
                Ok(connection)
            }
            Err(fault) => {
                slot.backoff.record_failure(Instant::now(), Duration::ZERO, fault.message.clone());
                Err(fault)
            }
        }
    }

    /// Removes a broken connection and records the failure.
    async fn discard_connection(&self, connection: &Arc<ServerConnection>, why: &str) {
        let mut slot = self.slot.lock().await;
        if slot.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            slot.connection = None;
            slot.backoff.record_failure(Instant::now(), connection.uptime(), why.to_owned());
        }
        drop(slot);
        connection.close().await;
    }

    async fn connect(&self) -> Result<ServerConnection, Fault> {
        match timeout(START_TIMEOUT, self.open_connection()).await {
            Ok(opened) => opened,
            Err(_late) => {
                Err(self.unavailable(&format!("it was not ready within {} s", START_TIMEOUT.as_secs())))
            }
        }
    }

    async fn open_connection(&self) -> Result<ServerConnection, Fault> {
        match self.parts.settings.address() {
            Some(ServerAddress::Command(command)) => {
                match self.open_program(command, HandshakeKind::DiscoverFirst).await? {
                    Ok(connection) => Ok(connection),
                    // Some programs exit or misbehave when they receive a request before `initialize`.
                    Err(_first) => self
                        .open_program(command, HandshakeKind::Initialize)
                        .await?
                        .map_err(|why| self.unavailable(&why)),
                }
            }
            Some(ServerAddress::Url(url)) => {
                let longest = usize::try_from(self.longest_message()).unwrap_or(usize::MAX);
                let open = async |opening: HandshakeKind| {
                    let transport = http::transport(url, self.parts.resources.token.as_deref(), longest)
                        .map_err(|why| self.unavailable(&why).retryable(false))?;
                    Ok(ServerConnection::open(transport, opening, None).await.map_err(|(error, _)| error))
                };
                let opened = match open(HandshakeKind::DiscoverFirst).await? {
                    // Some servers answer a method that they do not know with an empty result and no error.
                    Err(ClientInitializeError::ExpectedInitResult(_)) => {
                        open(HandshakeKind::Initialize).await?
                    }
                    opened => opened,
                };
                opened.map_err(|error| self.unavailable(&initialize_error_text(&error)))
            }
            None => Err(self.unavailable("its settings have neither `command` nor `url`").retryable(false)),
        }
    }

    /// Starts the program and opens a connection to it. The inner error is the reason why the handshake failed.
    async fn open_program(
        &self,
        command: &[String],
        opening: HandshakeKind,
    ) -> Result<Result<ServerConnection, String>, Fault> {
        let Some(session) = &self.parts.resources.session else {
            return Err(Fault::new(
                Failure::SetupRequired,
                "no vault is open, so there is nowhere to run a server",
            )
            .hint("name one with `--vault`"));
        };
        // Looked at right before each start: a link could have taken the place of the folder that was approved.
        let is_real = |folder: &&PathBuf| folder.canonicalize().is_ok_and(|real| real == **folder);
        if let Some(folder) = self.parts.settings.writable.iter().find(|folder| !is_real(folder)) {
            let why = format!("`{}` of `writable` is not there, or is behind a link", folder.display());
            return Err(self.unavailable(&why).retryable(false));
        }
        let (own, count) = (std::process::id(), STARTED_PROGRAMS.fetch_add(1, Ordering::Relaxed));
        let settings = &self.parts.settings;
        let spec = ServerSpec {
            argv: command.iter().map(OsString::from).collect(),
            env: self.parts.resources.env.clone(),
            readable: settings.readable.clone(),
            writable: settings.writable.clone(),
            network: settings.network,
            mark: format!("server-{own}-{count}"),
        };
        let (process, streams) = session.start_server(spec).await?;
        let unconnected = |error: std::io::Error| self.unavailable(&error.to_string());
        let cut = Arc::new(DisconnectCause::default());
        let tail = StderrTail::capture(streams.stderr).map_err(unconnected)?;
        let longest = usize::try_from(self.longest_message()).unwrap_or(usize::MAX);
        let lines = StdioTransport::new(streams.stdin, streams.stdout, longest, Arc::clone(&cut))
            .map_err(unconnected)?;
        let program = ServerProgram { process, tail, cut };
        match ServerConnection::open(lines, opening, Some(program)).await {
            Ok(connection) => Ok(Ok(connection)),
            Err((error, program)) => {
                let Some(program) = program else { return Ok(Err(initialize_error_text(&error))) };
                let why = program.exit_reason().await;
                program.process.end().await;
                match why {
                    Ok(fault) => Err(fault),
                    Err(reason) => Ok(Err(format!("{}; {reason}", initialize_error_text(&error)))),
                }
            }
        }
    }

    fn longest_message(&self) -> u64 {
        self.parts.settings.max_output_bytes.get().saturating_mul(2).saturating_add(MESSAGE_OVERHEAD)
    }

    /// Adds the name of the server to a connection fault.
    fn with_server_name(&self, fault: Fault) -> Fault {
        if fault.failure != Failure::DependencyUnavailable {
            return fault;
        }
        let retryable = fault.is_retryable();
        self.unavailable(&fault.message).retryable(retryable)
    }

    fn unavailable(&self, why: &str) -> Fault {
        Fault::new(
            Failure::DependencyUnavailable,
            format!("the server `{}` does not answer: {why}", self.parts.name),
        )
        .hint(format!(
            "look at [servers.{}] in .tollgate/config.toml, and at `tollgate servers`",
            self.parts.name
        ))
    }

    /// Allows a restart even if earlier runs failed too often.
    pub(crate) fn reset_backoff(&self) {
        // If the slot is locked, a start is in progress and the server is not given up.
        if let Ok(mut slot) = self.slot.try_lock() {
            slot.backoff.reset_if_given_up();
        }
    }

    /// Closes the connection, if there is one. The next call opens another. Returns whether there was one.
    pub async fn close(&self) -> bool {
        let connection = self.slot.lock().await.connection.take();
        match connection {
            Some(connection) => {
                connection.close().await;
                true
            }
            None => false,
        }
    }
}

/// Marks a fault as one with an unknown outcome.
fn with_unknown_outcome(fault: Fault) -> Fault {
    let fault = fault.retryable(false).detail("outcome", "unknown");
    if fault.hint.is_some() {
        return fault;
    }
    fault.hint("it is unknown whether the call took effect; check before calling it again")
}

/// Returns why a handshake failed, without internal details.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "the other ways to begin wrongly need no words of their own"
)]
fn initialize_error_text(error: &ClientInitializeError) -> String {
    let text = match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended before it was ready".to_owned(),
        ClientInitializeError::TransportError { error, .. } => http::error_text(&*error.error),
        ClientInitializeError::JsonRpcError(error) => format!("it refused the handshake: {}", error.message),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            return initialize_error_text(fallback);
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it supports no common protocol version".to_owned()
        }
        _ => "its handshake violates the protocol".to_owned(),
    };
    escape::one_line(&text, 300)
}

#[cfg(test)]
mod tests;
