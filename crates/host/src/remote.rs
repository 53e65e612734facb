//! A host at the other end of a connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use envelope::Failure;
use tokio::sync::{mpsc, oneshot};

use crate::connection::{HostConnection, ReplyFuture};
use crate::protocol::{
    HostError, HostNotice, HostReply, HostReplyMessage, HostRequestMessage, ReplyOutcome, RequestId,
    ServerMessage,
};

/// Messages that wait to be sent. A host that reads none of so many is detached.
pub const OUTGOING_MESSAGES: usize = 256;

type ReplySender = oneshot::Sender<Result<HostReply, HostError>>;

/// A host behind any transport: messages to it go into a channel, its replies are handed in.
///
/// The channel closes when the host is detached. The transport then sends what is left in it, for a limited
/// time, and ends.
pub struct RemoteHost {
    /// `None` after the host was detached.
    connection: Mutex<Option<OpenConnection>>,
}

struct OpenConnection {
    outgoing: mpsc::Sender<ServerMessage>,
    /// Requests that were sent and have no reply.
    waiting: HashMap<RequestId, ReplySender>,
}

impl RemoteHost {
    /// Creates a host with the channel that its transport sends from.
    pub fn new(outgoing: mpsc::Sender<ServerMessage>) -> Arc<RemoteHost> {
        let connection = OpenConnection { outgoing, waiting: HashMap::new() };
        Arc::new(RemoteHost { connection: Mutex::new(Some(connection)) })
    }

    /// Takes a reply. One that nothing waits for is ignored.
    pub fn receive_reply(&self, reply: HostReplyMessage) {
        let waiting = self.connection().as_mut().and_then(|open| open.waiting.remove(&reply.id));
        if let Some(waiting) = waiting {
            let result = match reply.outcome {
                ReplyOutcome::Result(result) => Ok(result),
                ReplyOutcome::Error(error) => Err(error),
            };
            // The caller may be gone.
            let _unwanted = waiting.send(result);
        }
    }

    fn connection(&self) -> MutexGuard<'_, Option<OpenConnection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnection {
    fn send(&self, message: ServerMessage) -> Result<(), HostError> {
        self.outgoing.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                HostError::new(Failure::DependencyUnavailable, "the host does not read its messages")
            }
            mpsc::error::TrySendError::Closed(_) => gone(),
        })
    }
}

impl HostConnection for RemoteHost {
    fn request(&self, message: HostRequestMessage) -> Result<ReplyFuture, HostError> {
        let (sender, reply) = oneshot::channel();
        let mut connection = self.connection();
        let open = connection.as_mut().ok_or_else(gone)?;
        let id = message.id;
        open.send(ServerMessage::Request(message))?;
        // The reply waits for the lock.
        open.waiting.insert(id, sender);
        Ok(Box::pin(async move { reply.await.unwrap_or_else(|_| Err(gone())) }))
    }

    fn cancel(&self, id: RequestId) -> Result<(), HostError> {
        let mut connection = self.connection();
        let Some(open) = connection.as_mut() else { return Ok(()) };
        match open.waiting.remove(&id) {
            Some(_reply) => open.send(ServerMessage::Cancel { id }),
            None => Ok(()),
        }
    }

    fn notify(&self, notice: HostNotice) -> Result<(), HostError> {
        self.connection().as_ref().ok_or_else(gone)?.send(ServerMessage::Notice { notice })
    }

    fn detach(&self, reason: &str) {
        if let Some(open) = self.connection().take() {
            // With a full queue the end of the channel has to do.
            let _not_sent = open.send(ServerMessage::Detach { reason: reason.to_owned() });
        }
    }
}

fn gone() -> HostError {
    HostError::new(Failure::DependencyUnavailable, "the host left before it answered")
}
