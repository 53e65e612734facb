//! Changes of the surface while clients are connected: noticed by looking before every call and now and then, and told
//! to whoever listens.
//!
//! Whoever wires the face knows the files that decide; here is only when they are looked at. Every call looks before it
//! is made, so that one that comes after a change runs under it. A run that is open keeps what it was opened under, and
//! takes no further call once that has changed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use toolkit::CancelToken;

use super::face::McpFace;

/// How soon those hear of a change who only listen.
const LOOK_FOR_LISTENERS: Duration = Duration::from_secs(2);

/// Takes over what has changed of what gates are made from. Costs a few system calls where nothing has, and may block
/// for a moment where something has.
pub type Look = Arc<dyn Fn() -> Looked + Send + Sync>;

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// All holds that held.
    Same,
    /// Gates are made from something else now.
    Changed,
    /// No gate can be made any more: what is open ends, and the next call is told why.
    Unusable,
}

pub(super) struct Changes {
    look: Option<Look>,
    /// Held until what a look found is taken over, so that no call goes on under what is about to be replaced.
    looking: Mutex<()>,
    /// Counts the lists there have been.
    lists: watch::Sender<u64>,
}

impl Changes {
    pub(super) fn new(look: Option<Look>) -> Changes {
        Changes { look, looking: Mutex::default(), lists: watch::Sender::new(0) }
    }

    pub(super) fn lists_so_far(&self) -> u64 {
        *self.lists.borrow()
    }

    /// Hears of every list after so many.
    pub(super) fn lists_since(&self, count: u64) -> watch::Receiver<u64> {
        let mut lists = self.lists.subscribe();
        let had = *lists.borrow();
        if had != count {
            lists.mark_changed();
        }
        lists
    }

    pub(super) fn another_list(&self) {
        self.lists.send_modify(|count| *count += 1);
    }
}

impl McpFace {
    /// Looks whether the surface has changed, and takes the change over.
    pub(super) fn look(&self) {
        let Some(look) = &self.changes.look else { return };
        let _alone = self.changes.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let refreshed = match look() {
            Looked::Same => Ok(()),
            Looked::Changed => self.refresh(),
            Looked::Unusable => {
                self.retire();
                Ok(())
            }
        };
        if let Err(error) = refreshed {
            tracing::error!(error, "the settings have changed and cannot be used");
            self.retire();
        }
    }

    /// Tells a client of the older era of every new list, until it is gone.
    pub(super) async fn tell_peer(
        self: Arc<McpFace>,
        peer: Peer<RoleServer>,
        mut lists: watch::Receiver<u64>,
    ) {
        let mut looks = interval(LOOK_FOR_LISTENERS);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                changed = lists.changed() => {
                    if changed.is_err() || peer.notify_tool_list_changed().await.is_err() {
                        return;
                    }
                }
                _ = looks.tick() => {
                    if peer.is_transport_closed() {
                        return;
                    }
                    self.look();
                }
            }
        }
    }

    /// Tells a client of the newer era on the stream that it listens to, until it, or the server, ends that.
    pub(super) async fn tell_listener(
        self: &Arc<McpFace>,
        listener: SubscriptionContext,
        mut lists: watch::Receiver<u64>,
        gone: &CancelToken,
    ) -> Result<(), ErrorData> {
        let stopping = self.runs.stopping();
        let mut looks = interval(LOOK_FOR_LISTENERS);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
                _ = looks.tick() => self.look(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Changes;

    #[test]
    fn whoever_came_before_a_new_list_hears_of_it_however_late_they_listen() {
        let changes = Changes::new(None);
        let before = changes.lists_so_far();
        assert!(!changes.lists_since(before).has_changed().unwrap());
        changes.another_list();
        assert!(changes.lists_since(before).has_changed().unwrap());
        assert!(!changes.lists_since(changes.lists_so_far()).has_changed().unwrap());
    }
}
