//! What a server can tell us beside its answers: how far a call has come, and that its tools have changed.
//!
//! What it asks is refused: we offer no person, no model and no folders to it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ErrorCode, ErrorData,
    Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::watch;

/// How far a call has come, as the server says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Report {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: String,
}

/// Shared between the connection and its calls.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Goes up whenever the server says that its tools are others.
    list_changes: AtomicU64,
    calls: Mutex<HashMap<ProgressToken, watch::Sender<Report>>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Handler(pub(crate) Arc<Heard>);

/// Hears of one call until it is dropped.
pub(crate) struct Listening {
    heard: Arc<Heard>,
    token: ProgressToken,
    pub(crate) reports: watch::Receiver<Report>,
}

impl Heard {
    pub(crate) fn list_changes(&self) -> u64 {
        self.list_changes.load(Ordering::Acquire)
    }

    pub(crate) fn list_changed(&self) {
        self.list_changes.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn listen(self: &Arc<Heard>, token: ProgressToken) -> Listening {
        // The latest report is the one that counts, so however many come, one is kept.
        let (report, reports) = watch::channel(Report::default());
        self.calls().insert(token.clone(), report);
        Listening { heard: Arc::clone(self), token, reports }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<ProgressToken, watch::Sender<Report>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.heard.calls().remove(&self.token);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("tollgate", env!("CARGO_PKG_VERSION")),
        )
        // The newest version has no greeting, so a greeting must not name it.
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        // Not declined: that would say that somebody was asked.
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "elicitation/create", None))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if let Some(call) = self.0.calls().get(&progress.progress_token) {
            let message = progress.message.unwrap_or_default();
            call.send_replace(Report { done: progress.progress, total: progress.total, message });
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.list_changed();
    }
}
