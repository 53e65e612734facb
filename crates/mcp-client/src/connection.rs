//! One connection to a server: handshake, list of tools, calls.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use envelope::{Failure, Fault};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, ListToolsRequest,
    PaginatedRequestParams, ProtocolVersion, ServerNotification, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, PeerRequestOptions,
    RunningService, ServiceError,
};
use rmcp::transport::{IntoTransport, Transport};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::Value;
use shell::ServerProcess;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use toolkit::ToolCx;

use crate::handler::{NotificationHandler, ProgressReport, ServerNotifications};
use crate::progress_throttle::ProgressThrottle;
use crate::stderr_tail::{StderrTail, last_line};
use crate::stdio_transport::DisconnectCause;
use crate::{DeclarationDiff, InvalidDeclaration, ServerPin, ToolDeclaration, call_result, escape, http};

/// Limit of pages in a list of tools.
const MAX_PAGES: usize = 64;
const MAX_TOOLS: usize = 1_000;
/// Timeout for notifying a server that a call is cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);

/// The process behind a stdio connection.
pub(crate) struct ServerProgram {
    pub(crate) process: ServerProcess,
    pub(crate) tail: StderrTail,
    pub(crate) cut: Arc<DisconnectCause>,
}

/// The tools that a server lists.
#[derive(Debug, Clone, Default)]
pub struct ListedTools {
    pub tools: Vec<ToolDeclaration>,
    /// List entries that are not valid tools.
    pub invalid: Vec<InvalidDeclaration>,
}

/// Difference between the last list and the pin.
struct CachedDrift {
    drift: DeclarationDiff,
    /// Number of change notifications before the list was read.
    as_of: u64,
}

pub(crate) struct ServerConnection {
    /// Closes the connection when it is dropped.
    service: RunningService<RoleClient, NotificationHandler>,
    notifications: Arc<ServerNotifications>,
    program: Option<ServerProgram>,
    since: Instant,
    /// Locked while a list is read: concurrent callers wait for that list.
    cached_drift: Mutex<Option<CachedDrift>>,
}

/// The handshake that opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandshakeKind {
    /// Sends `discover` first, and `initialize` if the server does not support it.
    DiscoverFirst,
    /// Sends `initialize`, for a server that exits on any earlier request.
    Initialize,
}

impl ServerConnection {
    /// Opens a connection. Returns the process with the error, so that it can be stopped.
    pub(crate) async fn open<T>(
        transport: T,
        opening: HandshakeKind,
        program: Option<ServerProgram>,
    ) -> Result<ServerConnection, (ClientInitializeError, Option<ServerProgram>)>
    where
        T: Transport<RoleClient> + 'static,
    {
        let notifications = Arc::new(ServerNotifications::default());
        let handler = NotificationHandler(Arc::clone(&notifications));
        let transport = transport.into_transport();
        let opened = match opening {
            HandshakeKind::DiscoverFirst => {
                let lifecycle = ClientLifecycleMode::Auto {
                    preferred_versions: vec![ProtocolVersion::LATEST],
                    legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
                };
                Box::pin(handler.serve_with_lifecycle(transport, lifecycle)).await
            }
            HandshakeKind::Initialize => Box::pin(handler.serve(transport)).await,
        };
        let service = match opened {
            Ok(service) => service,
            Err(error) => return Err((error, program)),
        };
        let link = ServerConnection {
            service,
            notifications,
            program,
            since: Instant::now(),
            cached_drift: Mutex::default(),
        };
        link.subscribe();
        Ok(link)
    }

    /// Subscribes to list changes; the newer protocol sends them only to subscribers.
    fn subscribe(&self) {
        let (peer, notifications) = (self.peer().clone(), Arc::clone(&self.notifications));
        let Some(info) = peer.peer_info() else { return };
        let tells = info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
        if info.protocol_version.has_initialize() || !tells {
            return;
        }
        tokio::spawn(async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            // A server that refuses is asked for its list at the next start, like any other.
            let Ok(mut subscription) = peer.listen(filter).await else { return };
            while let Ok(Some(notification)) = subscription.next().await {
                if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
                    notifications.list_changed();
                }
            }
        });
    }

    fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.peer().is_transport_closed()
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.since.elapsed()
    }

    /// Lists every tool of the server.
    pub(crate) async fn list_tools(&self) -> Result<ListedTools, Fault> {
        let mut offer = ListedTools::default();
        let mut names = BTreeSet::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = self.fetch_page(cursor.take()).await?;
            for entry in page.get("tools").and_then(Value::as_array).into_iter().flatten() {
                match ToolDeclaration::parse(entry) {
                    Ok(tool) if !names.insert(tool.name.clone()) => {
                        offer.invalid.push(InvalidDeclaration {
                            name: tool.name,
                            why: "it is listed twice".to_owned(),
                        });
                    }
                    Ok(tool) => offer.tools.push(tool),
                    Err(undeclared) => offer.invalid.push(undeclared),
                }
            }
            if offer.tools.len() + offer.invalid.len() > MAX_TOOLS {
                break;
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(next) => cursor = Some(next.to_owned()),
                None => return Ok(offer),
            }
        }
        Err(Fault::new(
            Failure::DependencyUnavailable,
            format!("its list of tools is too long: more than {MAX_TOOLS} tools or {MAX_PAGES} pages"),
        )
        .retryable(false))
    }

    /// Fetches one page without the response cache and without validation: one invalid entry must not hide the
    /// others.
    async fn fetch_page(&self, cursor: Option<String>) -> Result<Value, Fault> {
        let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let request = ListToolsRequest { params, ..ListToolsRequest::default() };
        let asked = self.peer().send_request(ClientRequest::ListToolsRequest(request)).await;
        match asked {
            Ok(ServerResult::ListToolsResult(list)) => Ok(serde_json::to_value(list).unwrap_or_default()),
            Ok(ServerResult::CustomResult(list)) if list.0.get("tools").is_some() => Ok(list.0),
            Ok(_) => Err(Fault::new(
                Failure::DependencyUnavailable,
                "its answer to tools/list is not a list of tools",
            )
            .retryable(false)),
            Err(error) => Err(self.connection_fault("its tools cannot be listed", error).await),
        }
    }

    /// Compares the listed tools with the pinned ones. The list is cached until the server reports a change.
    pub(crate) async fn fetch_drift(&self, pin: &ServerPin) -> Result<DeclarationDiff, Fault> {
        let mut cached = self.cached_drift.lock().await;
        let now = self.notifications.list_changes();
        if let Some(cached) = cached.as_ref().filter(|cached| cached.as_of == now) {
            return Ok(cached.drift.clone());
        }
        let drift = pin.compare(&self.list_tools().await?.tools);
        *cached = Some(CachedDrift { drift: drift.clone(), as_of: now });
        Ok(drift)
    }

    /// Calls a tool of the server, known here as `who`. Ends early when the call is cancelled, and notifies the
    /// server.
    pub(crate) async fn call(
        &self,
        cx: &ToolCx,
        who: &str,
        tool: &str,
        args: JsonObject,
        max_bytes: u64,
    ) -> Result<Value, Fault> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.peer().send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let mut sent = match sent {
            Ok(sent) => sent,
            Err(error) => return Err(self.connection_fault(&format!("{who} cannot be called"), error).await),
        };
        let mut listening = self.notifications.listen(sent.progress_token.clone());
        let mut pace = ProgressThrottle::default();
        let answered = loop {
            tokio::select! {
                biased;
                _cause = cx.cancel().cancelled() => {
                    let _unsent = timeout(CANCEL_TIMEOUT, sent.cancel(Some("the call was cancelled".to_owned()))).await;
                    return Err(Fault::new(Failure::Canceled, format!("{who} was cancelled")));
                }
                answered = &mut sent.rx => break answered.unwrap_or(Err(ServiceError::TransportClosed)),
                Ok(()) = listening.reports.changed() => {
                    let report = listening.reports.borrow_and_update().clone();
                    if pace.allows(Instant::now()) {
                        report_progress(cx, &report);
                    }
                }
            }
        };
        match answered {
            Ok(result) => call_result::call_data(who, result, max_bytes),
            Err(ServiceError::McpError(error)) => {
                let reason = escape::one_line(&error.message, 500);
                let code = error.code.0;
                let message = format!("the server refuses {who}: {reason} ({code})");
                Err(Fault::new(Failure::ExecutionFailed, message).detail("rpcCode", code))
            }
            Err(error) => {
                let oversized =
                    self.program.as_ref().is_some_and(|it| it.cut.oversized.load(Ordering::Relaxed));
                let too_long =
                    matches!(&error, ServiceError::TransportSend(sent) if http::is_too_long(&*sent.error));
                if oversized || too_long {
                    return Err(call_result::too_large(who, "a message that is too long", max_bytes)
                        .detail("outcome", "unknown"));
                }
                Err(self.connection_fault(&format!("the server ended while {who} was at work"), error).await)
            }
        }
    }

    /// Returns the fault for a broken connection, with the last line that the process printed to standard error.
    async fn connection_fault(&self, what: &str, error: ServiceError) -> Fault {
        let why = match &self.program {
            Some(program) => program.exit_reason().await,
            None => Err(escape::one_line(&error_text(&error), 300)),
        };
        match why {
            Ok(fault) => fault,
            Err(why) => Fault::new(Failure::DependencyUnavailable, format!("{what}: {why}")),
        }
    }

    /// Closes the connection and ends the process.
    pub(crate) async fn close(&self) {
        if let Some(program) = &self.program {
            program.process.end().await;
        }
    }
}

impl ServerProgram {
    /// Returns the sandbox fault if the process could not be started, otherwise a text about its end.
    pub(crate) async fn exit_reason(&self) -> Result<Fault, String> {
        if self.cut.oversized.load(Ordering::Relaxed) {
            return Err("it sent a message that is too long".to_owned());
        }
        if self.cut.flooded.load(Ordering::Relaxed) {
            return Err("it sends requests without reading the answers".to_owned());
        }
        let printed = self.tail.contents().await;
        if let Some(fault) = self.process.sandbox_failure(&printed) {
            return Ok(fault);
        }
        Err(match last_line(&printed) {
            Some(line) => format!("its last output was: {line}"),
            None => "it printed nothing to standard error".to_owned(),
        })
    }
}

fn error_text(error: &ServiceError) -> String {
    if let ServiceError::TransportSend(sent) = error {
        http::error_text(&*sent.error)
    } else {
        error.to_string()
    }
}

/// Forwards a progress report. The numbers of a server can be anything.
fn report_progress(cx: &ToolCx, report: &ProgressReport) {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that is none becomes 0 or the most"
    )]
    let whole = |number: f64| number as u64;
    cx.progress(whole(report.done), report.total.map(whole), escape::one_line(&report.message, 200));
}
