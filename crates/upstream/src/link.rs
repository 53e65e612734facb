//! One live connection to a server: how it begins, what it offers, and the calls over it.

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
use shell::Companion;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use toolkit::ToolCx;

use crate::handler::{Handler, Heard, Report};
use crate::lines::Cut;
use crate::pace::Pace;
use crate::tail::{Tail, last_line};
use crate::{Declared, Drift, Pin, Undeclared, answer, hidden, http};

/// More pages of tools than this are a list without end.
const MAX_PAGES: usize = 64;
const MAX_TOOLS: usize = 1_000;
/// How long it may take to tell a server that a call is not wanted any more.
const GOODBYE: Duration = Duration::from_millis(500);

/// The program behind a connection, where there is one.
pub(crate) struct Program {
    pub(crate) companion: Companion,
    pub(crate) tail: Tail,
    pub(crate) cut: Arc<Cut>,
}

/// What a server lists.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    pub tools: Vec<Declared>,
    /// Entries of the list that are no tools.
    pub undeclared: Vec<Undeclared>,
}

/// How the list that was read last differs from the pin.
struct Seen {
    drift: Drift,
    /// What the server had said about changes when it was read.
    as_of: u64,
}

pub(crate) struct Link {
    /// Ends the connection when it is dropped.
    service: RunningService<RoleClient, Handler>,
    heard: Arc<Heard>,
    program: Option<Program>,
    since: Instant,
    /// Locked while a list is read: who comes meanwhile waits for that one.
    seen: Mutex<Option<Seen>>,
}

/// Which protocol a connection begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Asks first; greets a server that does not understand the question.
    Either,
    /// Greets, for a server that ends when it is asked something before.
    Greeting,
}

impl Link {
    /// Opens a connection.
    pub(crate) async fn open<T>(
        transport: T,
        opening: Opening,
        program: Option<Program>,
    ) -> Result<Link, (ClientInitializeError, Option<Program>)>
    where
        T: Transport<RoleClient> + 'static,
    {
        let heard = Arc::new(Heard::default());
        let handler = Handler(Arc::clone(&heard));
        let transport = transport.into_transport();
        let opened = match opening {
            Opening::Either => {
                let lifecycle = ClientLifecycleMode::Auto {
                    preferred_versions: vec![ProtocolVersion::LATEST],
                    legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
                };
                Box::pin(handler.serve_with_lifecycle(transport, lifecycle)).await
            }
            Opening::Greeting => Box::pin(handler.serve(transport)).await,
        };
        let service = match opened {
            Ok(service) => service,
            Err(error) => return Err((error, program)),
        };
        let link = Link { service, heard, program, since: Instant::now(), seen: Mutex::default() };
        link.subscribe();
        Ok(link)
    }

    /// The newer protocol tells of changes only to those who listen for them.
    fn subscribe(&self) {
        let (peer, heard) = (self.peer().clone(), Arc::clone(&self.heard));
        let Some(info) = peer.peer_info() else { return };
        let tells = info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
        if info.protocol_version.has_initialize() || !tells {
            return;
        }
        tokio::spawn(async move {
            let wanted = SubscriptionFilter::builder().tools_list_changed().build();
            // A server that refuses is asked for its list at the next start, as any other.
            let Ok(mut news) = peer.listen(wanted).await else { return };
            while let Ok(Some(notification)) = news.next().await {
                if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
                    heard.list_changed();
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

    pub(crate) fn up_for(&self) -> Duration {
        self.since.elapsed()
    }

    /// Every tool that the server lists now.
    pub(crate) async fn offer(&self) -> Result<Offer, Fault> {
        let mut offer = Offer::default();
        let mut names = BTreeSet::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = self.page(cursor.take()).await?;
            for entry in page.get("tools").and_then(Value::as_array).into_iter().flatten() {
                match Declared::read(entry) {
                    Ok(tool) if !names.insert(tool.name.clone()) => {
                        offer
                            .undeclared
                            .push(Undeclared { name: tool.name, why: "it is listed twice".to_owned() });
                    }
                    Ok(tool) => offer.tools.push(tool),
                    Err(undeclared) => offer.undeclared.push(undeclared),
                }
            }
            if offer.tools.len() + offer.undeclared.len() > MAX_TOOLS {
                break;
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(next) => cursor = Some(next.to_owned()),
                None => return Ok(offer),
            }
        }
        Err(Fault::new(
            Failure::DependencyUnavailable,
            format!("its list of tools has no end: more than {MAX_TOOLS} tools or {MAX_PAGES} pages"),
        )
        .retryable(false))
    }

    /// Asked for without a memory, and read as it is: one entry that is no tool must not cost the others.
    async fn page(&self, cursor: Option<String>) -> Result<Value, Fault> {
        let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let request = ListToolsRequest { params, ..ListToolsRequest::default() };
        let asked = self.peer().send_request(ClientRequest::ListToolsRequest(request)).await;
        match asked {
            Ok(ServerResult::ListToolsResult(list)) => Ok(serde_json::to_value(list).unwrap_or_default()),
            Ok(ServerResult::CustomResult(list)) if list.0.get("tools").is_some() => Ok(list.0),
            Ok(_) => Err(Fault::new(
                Failure::DependencyUnavailable,
                "its answer to the question for its tools is no list of tools",
            )
            .retryable(false)),
            Err(error) => Err(self.broken("its tools cannot be listed", error).await),
        }
    }

    /// How the tools that the server lists now differ from the pinned ones. Asked for again when it says that they
    /// have changed.
    pub(crate) async fn drift(&self, pin: &Pin) -> Result<Drift, Fault> {
        let mut seen = self.seen.lock().await;
        let now = self.heard.list_changes();
        if let Some(seen) = seen.as_ref().filter(|seen| seen.as_of == now) {
            return Ok(seen.drift.clone());
        }
        let drift = pin.drift(&self.offer().await?.tools);
        *seen = Some(Seen { drift: drift.clone(), as_of: now });
        Ok(drift)
    }

    /// Calls a tool of the server, `who` to us. Ends early when the call is cancelled, and says so to the server.
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
            Err(error) => return Err(self.broken(&format!("{who} cannot be called"), error).await),
        };
        let mut listening = self.heard.listen(sent.progress_token.clone());
        let mut pace = Pace::default();
        let answered = loop {
            tokio::select! {
                biased;
                _cause = cx.cancel().cancelled() => {
                    let _unheard = timeout(GOODBYE, sent.cancel(Some("it is not wanted any more".to_owned()))).await;
                    return Err(Fault::new(Failure::Canceled, format!("{who} was cancelled")));
                }
                answered = &mut sent.rx => break answered.unwrap_or(Err(ServiceError::TransportClosed)),
                Ok(()) = listening.reports.changed() => {
                    let report = listening.reports.borrow_and_update().clone();
                    if pace.lets_through(Instant::now()) {
                        tell(cx, &report);
                    }
                }
            }
        };
        match answered {
            Ok(result) => answer::data(who, result, max_bytes),
            Err(ServiceError::McpError(error)) => {
                let said = hidden::one_line(&error.message, 500);
                let code = error.code.0;
                let message = format!("the server refuses {who}: {said} ({code})");
                Err(Fault::new(Failure::ExecutionFailed, message).detail("rpcCode", code))
            }
            Err(error) => {
                let oversized =
                    self.program.as_ref().is_some_and(|it| it.cut.oversized.load(Ordering::Relaxed));
                let too_long =
                    matches!(&error, ServiceError::TransportSend(sent) if http::is_too_long(&*sent.error));
                if oversized || too_long {
                    return Err(answer::too_large(who, "a message that does not end in time", max_bytes)
                        .detail("outcome", "unknown"));
                }
                Err(self.broken(&format!("the server ended while {who} was at work"), error).await)
            }
        }
    }

    /// Why nothing can be asked, with the last that the program complained about.
    async fn broken(&self, what: &str, error: ServiceError) -> Fault {
        let why = match &self.program {
            Some(program) => program.why_it_ended().await,
            None => Err(hidden::one_line(&words(&error), 300)),
        };
        match why {
            Ok(fault) => fault,
            Err(why) => Fault::new(Failure::DependencyUnavailable, format!("{what}: {why}")),
        }
    }

    /// Ends the connection, and the program with it.
    pub(crate) async fn close(&self) {
        if let Some(program) = &self.program {
            program.companion.end().await;
        }
    }
}

impl Program {
    /// The fault of a wall that was not built, or words about the end.
    pub(crate) async fn why_it_ended(&self) -> Result<Fault, String> {
        if self.cut.oversized.load(Ordering::Relaxed) {
            return Err("it sent a message that is too long".to_owned());
        }
        if self.cut.flooded.load(Ordering::Relaxed) {
            return Err("it asks without reading the answers".to_owned());
        }
        let printed = self.tail.last_words().await;
        if let Some(fault) = self.companion.was_not_run(&printed) {
            return Ok(fault);
        }
        Err(match last_line(&printed) {
            Some(line) => format!("the last it said is: {line}"),
            None => "it said nothing about it".to_owned(),
        })
    }
}

fn words(error: &ServiceError) -> String {
    if let ServiceError::TransportSend(sent) = error { http::words(&*sent.error) } else { error.to_string() }
}

/// Passes a report on. Numbers of a server may be anything.
fn tell(cx: &ToolCx, report: &Report) {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that is none becomes 0 or the most"
    )]
    let whole = |number: f64| number as u64;
    cx.progress(whole(report.done), report.total.map(whole), hidden::one_line(&report.message, 200));
}
