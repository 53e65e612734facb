//! The shutdown signal of a server, for everything that holds a connection open.

use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ServerPhase {
    Serving,
    /// No connection is accepted; requests under way may finish.
    Draining,
    /// The drain time is over.
    Closed,
}

/// Signals that the server is stopping. Handlers find it among the extensions of their request: an endless stream or
/// socket ends itself when the signal is given.
#[derive(Debug, Clone)]
pub struct ShutdownSignal(watch::Receiver<ServerPhase>);

/// The sending side, held by the server.
pub(super) struct ShutdownTrigger(watch::Sender<ServerPhase>);

impl ShutdownTrigger {
    pub(super) fn new() -> (ShutdownTrigger, ShutdownSignal) {
        let (sender, receiver) = watch::channel(ServerPhase::Serving);
        (ShutdownTrigger(sender), ShutdownSignal(receiver))
    }

    pub(super) fn start(&self) {
        self.0.send_replace(ServerPhase::Draining);
    }

    pub(super) fn close(&self) {
        self.0.send_replace(ServerPhase::Closed);
    }
}

impl ShutdownSignal {
    /// Waits until the server begins to stop.
    pub async fn started(&mut self) {
        self.reached(ServerPhase::Draining).await;
    }

    /// Waits until the drain time is over.
    pub(super) async fn closed(&mut self) {
        self.reached(ServerPhase::Closed).await;
    }

    async fn reached(&mut self, phase: ServerPhase) {
        // A dropped trigger counts as closed.
        let _dropped = self.0.wait_for(|now| *now >= phase).await.is_err();
    }
}
