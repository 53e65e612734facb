//! Notifications of a server: progress of calls and changes of its tools.
//!
//! Requests of a server are refused: this client offers it no user, no model and no folders.

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

/// Progress of a call, as reported by the server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProgressReport {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: String,
}

/// Notification state shared between the connection and its calls.
#[derive(Debug, Default)]
pub(crate) struct ServerNotifications {
    /// Incremented whenever the server reports that its tools have changed.
    list_changes: AtomicU64,
    calls: Mutex<HashMap<ProgressToken, watch::Sender<ProgressReport>>>,
}

#[derive(Debug, Clone)]
pub(crate) struct NotificationHandler(pub(crate) Arc<ServerNotifications>);

/// Subscription to the progress of one call; ends when dropped.
pub(crate) struct ProgressSubscription {
    notifications: Arc<ServerNotifications>,
    token: ProgressToken,
    pub(crate) reports: watch::Receiver<ProgressReport>,
}

impl ServerNotifications {
    pub(crate) fn list_changes(&self) -> u64 {
        self.list_changes.load(Ordering::Acquire)
    }

    pub(crate) fn list_changed(&self) {
        self.list_changes.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn listen(self: &Arc<ServerNotifications>, token: ProgressToken) -> ProgressSubscription {
        // Only the latest report counts, so only one is kept.
        let (report, reports) = watch::channel(ProgressReport::default());
        self.calls().insert(token.clone(), report);
        ProgressSubscription { notifications: Arc::clone(self), token, reports }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<ProgressToken, watch::Sender<ProgressReport>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ProgressSubscription {
    fn drop(&mut self) {
        self.notifications.calls().remove(&self.token);
    }
}

impl ClientHandler for NotificationHandler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("tollgate", env!("CARGO_PKG_VERSION")),
        )
        // The newest protocol version has no `initialize` request, so such a request must not name it.
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        // Not declined: that would mean that a user was asked.
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "elicitation/create", None))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if let Some(call) = self.0.calls().get(&progress.progress_token) {
            let message = progress.message.unwrap_or_default();
            call.send_replace(ProgressReport { done: progress.progress, total: progress.total, message });
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.list_changed();
    }
}
