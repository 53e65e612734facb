//! Tells everybody who holds a connection that the server wants to stop.

use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    /// Nothing new is taken; what was begun may end.
    Draining,
    /// The time for that is over.
    Closed,
}

/// Seen by handlers as an extension of a request that was routed: a stream or a socket that could go on for ever ends itself
/// when the server drains.
#[derive(Debug, Clone)]
pub struct Drain(watch::Receiver<Phase>);

/// The server's side.
pub(super) struct Drainer(watch::Sender<Phase>);

impl Drainer {
    pub(super) fn new() -> (Drainer, Drain) {
        let (sender, receiver) = watch::channel(Phase::Serving);
        (Drainer(sender), Drain(receiver))
    }

    pub(super) fn start(&self) {
        self.0.send_replace(Phase::Draining);
    }

    pub(super) fn close(&self) {
        self.0.send_replace(Phase::Closed);
    }
}

impl Drain {
    /// Comes back when the server begins to stop.
    pub async fn started(&mut self) {
        self.reached(Phase::Draining).await;
    }

    /// Comes back when the server waits no longer.
    pub(super) async fn closed(&mut self) {
        self.reached(Phase::Closed).await;
    }

    async fn reached(&mut self, phase: Phase) {
        // A server that is gone is closed.
        let _gone = self.0.wait_for(|now| *now >= phase).await.is_err();
    }
}
