//! Reloads of the settings while clients are connected, and notifications about a changed tool list.
//!
//! The caller provides the check that compares the files; this module decides when to run it. It runs before every
//! call, so that a call after a change runs under the new settings. An open run keeps the settings that it was
//! opened with, and takes no further call once they have changed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use call_session::{ReloadCheck, ReloadOutcome};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use toolkit::CancelToken;

use super::server::McpServer;

/// Interval of reload checks for clients that only listen.
const RELOAD_CHECK_INTERVAL: Duration = Duration::from_secs(2);

pub(super) struct ReloadNotifier {
    check: Option<ReloadCheck>,
    /// Held until a detected change is applied, so that no call starts under outdated settings.
    checking: Mutex<()>,
    /// Version of the tool list.
    lists: watch::Sender<u64>,
}

impl ReloadNotifier {
    pub(super) fn new(check: Option<ReloadCheck>) -> ReloadNotifier {
        ReloadNotifier { check, checking: Mutex::default(), lists: watch::Sender::new(0) }
    }

    pub(super) fn list_version(&self) -> u64 {
        *self.lists.borrow()
    }

    /// Subscribes to every list version after `count`.
    pub(super) fn subscribe_since(&self, count: u64) -> watch::Receiver<u64> {
        let mut lists = self.lists.subscribe();
        let had = *lists.borrow();
        if had != count {
            lists.mark_changed();
        }
        lists
    }

    pub(super) fn list_changed(&self) {
        self.lists.send_modify(|count| *count += 1);
    }
}

impl McpServer {
    /// Checks whether the settings have changed, and applies the change.
    pub(super) fn check_reload(&self) {
        let Some(check) = &self.reloads.check else { return };
        let _guard = self.reloads.checking.lock().unwrap_or_else(PoisonError::into_inner);
        let refreshed = match check() {
            ReloadOutcome::Same => Ok(()),
            ReloadOutcome::Changed => self.refresh(),
            ReloadOutcome::Unusable => {
                self.retire_runs();
                Ok(())
            }
        };
        if let Err(error) = refreshed {
            tracing::error!(error, "the settings have changed and are invalid");
            self.retire_runs();
        }
    }

    /// Notifies a client with a session of every new list, until it disconnects.
    pub(super) async fn notify_peer(
        self: Arc<McpServer>,
        peer: Peer<RoleServer>,
        mut lists: watch::Receiver<u64>,
    ) {
        let mut checks = interval(RELOAD_CHECK_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                changed = lists.changed() => {
                    if changed.is_err() || peer.notify_tool_list_changed().await.is_err() {
                        return;
                    }
                }
                _ = checks.tick() => {
                    if peer.is_transport_closed() {
                        return;
                    }
                    self.check_reload();
                }
            }
        }
    }

    /// Notifies a subscribed client of every new list, until the client or the server ends the stream.
    pub(super) async fn notify_listener(
        self: &Arc<McpServer>,
        listener: SubscriptionContext,
        mut lists: watch::Receiver<u64>,
        gone: &CancelToken,
    ) -> Result<(), ErrorData> {
        let stopping = self.runs.stopping();
        let mut checks = interval(RELOAD_CHECK_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = listener.cancelled() => return Ok(()),
                _ = gone.cancelled() => return Ok(()),
                _ = stopping.cancelled() => return Ok(()),
                changed = lists.changed() => {
                    if changed.is_err() || listener.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
                _ = checks.tick() => self.check_reload(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReloadNotifier;

    #[test]
    fn whoever_came_before_a_new_list_hears_of_it_however_late_they_listen() {
        let changes = ReloadNotifier::new(None);
        let before = changes.list_version();
        assert!(!changes.subscribe_since(before).has_changed().unwrap());
        changes.list_changed();
        assert!(changes.subscribe_since(before).has_changed().unwrap());
        assert!(!changes.subscribe_since(changes.list_version()).has_changed().unwrap());
    }
}
