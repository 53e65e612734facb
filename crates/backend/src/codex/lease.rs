//! A turn's place on a process, given back when the turn is over.

use std::sync::Arc;

use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::server::Server;

/// The server stays for as long as a lease of it is out.
pub(super) struct Lease {
    server: Arc<Server>,
    /// Given back after the server knows that it has room, and before others are told.
    room: Option<OwnedSemaphorePermit>,
    changed: Arc<Notify>,
}

impl Lease {
    pub(super) fn new(server: Arc<Server>, room: OwnedSemaphorePermit, changed: Arc<Notify>) -> Lease {
        server.turn_opened();
        Lease { server, room: Some(room), changed }
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.server.turn_closed();
        drop(self.room.take());
        self.changed.notify_waiters();
    }
}
