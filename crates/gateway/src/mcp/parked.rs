//! Calls that wait for a second round: the client was given a question instead of a result, and comes back with the
//! answer in a request of its own.
//!
//! What the client carries between the rounds is a sealed reference, bound to the tool, its arguments and who asked.
//! It opens one waiting call once. The call itself never left: it is the same one, recorded once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use envelope::{ClientId, Hash, ToolName};
use rmcp::model::{RequestStateCodec, RequestStateError, SealOptions};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::calls::Pending;
use super::question::ClientAnswer;
use super::runs::OpenRun;

/// More waiting calls than any person answers; a client that asks for more gets no further question.
const MOST: usize = 256;
/// The share of one client, so that it cannot leave the others without questions.
const MOST_OF_ONE: usize = 16;
const KEY_BYTES: usize = 32;

pub(super) struct Parked {
    codec: RequestStateCodec,
    calls: Mutex<HashMap<String, Waiting>>,
    lasts: Duration,
}

/// A call and the question that it waits for.
pub(super) struct Asked {
    pub(super) pending: Pending,
    pub(super) reply: oneshot::Sender<ClientAnswer>,
    pub(super) can_last: bool,
}

/// A question that was carried to its client.
pub(super) struct Waiting {
    pub(super) asked: Asked,
    /// The client whose share it takes up.
    owner: ClientId,
    since: Instant,
}

/// What a state is good for, and nothing else.
pub(super) struct Bound<'a> {
    pub(super) tool: &'a ToolName,
    pub(super) args: &'a Hash,
    pub(super) principal: &'a str,
}

/// Why a second round cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotWaiting {
    #[error(
        "this state was not made for this call: the tool, its arguments or the client differ from the question"
    )]
    Other,
    #[error("the question has expired")]
    Expired,
    #[error(
        "no call waits for this answer: it was given before, or came too late, or the server has been started anew"
    )]
    Gone,
}

impl NotWaiting {
    pub(super) fn way_out(self) -> &'static str {
        match self {
            NotWaiting::Other | NotWaiting::Expired => {
                "make the call again without a state; nothing was done"
            }
            NotWaiting::Gone => "the call may have been made: look before you make it again, without a state",
        }
    }
}

impl Bound<'_> {
    fn bytes(&self) -> Vec<u8> {
        let tool = Hash::of(self.tool.as_str().as_bytes());
        [tool.as_bytes().as_slice(), self.args.as_bytes(), self.principal().as_bytes()].concat()
    }

    fn principal(&self) -> Hash {
        Hash::of(self.principal.as_bytes())
    }
}

impl Parked {
    /// The key lives as long as the calls that it seals: with the process.
    pub(super) fn new(key: [u8; KEY_BYTES], lasts: Duration) -> Result<Parked, RequestStateError> {
        Ok(Parked { codec: RequestStateCodec::try_new(key.to_vec())?, calls: Mutex::default(), lasts })
    }

    /// Keeps a call and seals the way back to it. Gives it back where too many wait, of this client or of all.
    pub(super) fn park(
        &self,
        nonce: String,
        bound: &Bound<'_>,
        owner: &ClientId,
        asked: Asked,
    ) -> Result<String, Box<Asked>> {
        self.sweep();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = calls.values().filter(|other| other.owner == *owner).count();
        if calls.len() >= MOST || of_one >= MOST_OF_ONE {
            return Err(Box::new(asked));
        }
        let waiting = Waiting { asked, owner: owner.clone(), since: Instant::now() };
        let bytes = bound.bytes();
        let options = SealOptions::new().associated_data(&bytes).ttl(self.lasts);
        let state = self.codec.seal_with(nonce.as_bytes(), &options);
        calls.insert(nonce, waiting);
        Ok(state)
    }

    /// The call that waits for this answer. Taken: the same state opens nothing again.
    pub(super) fn take(&self, state: &str, bound: &Bound<'_>) -> Result<Waiting, NotWaiting> {
        let opened = self.codec.open_with(state, &bound.bytes()).map_err(|error| {
            if matches!(error, RequestStateError::Expired) { NotWaiting::Expired } else { NotWaiting::Other }
        })?;
        let nonce = String::from_utf8(opened).map_err(|_| NotWaiting::Other)?;
        let taken = self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&nonce);
        let waiting = taken.ok_or(NotWaiting::Gone)?;
        if waiting.since.elapsed() >= self.lasts {
            return Err(NotWaiting::Expired);
        }
        Ok(waiting)
    }

    /// Lets go of the calls of a run, which cancels them: nobody comes back to them any more.
    pub(super) fn let_go(&self, run: &Arc<OpenRun>) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let left: Vec<(String, Waiting)> =
            calls.extract_if(|_, waiting| waiting.asked.pending.is_in(run)).collect();
        drop(calls);
        drop(left);
    }

    /// A call whose question has expired ends by itself; what is left of it here goes.
    pub(super) fn sweep(&self) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let expired: Vec<(String, Waiting)> =
            calls.extract_if(|_, waiting| waiting.since.elapsed() >= self.lasts).collect();
        // Letting go of a call can end its run, which is nothing to do while others wait for the lock.
        drop(calls);
        drop(expired);
    }
}
