//! Calls that wait for a second round: the client received a question instead of a result, and sends the answer in
//! a new request.
//!
//! Between the rounds the client carries a sealed state, bound to the tool, its arguments and the client. It
//! resumes one waiting call once. The call itself stays in this process: it is the same call and recorded once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use envelope::{ClientId, Hash, ToolName};
use rmcp::model::{RequestStateCodec, RequestStateError, SealOptions};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::client_runs::ClientRun;
use super::question::ClientAnswer;
use super::tool_calls::InFlightCall;

/// Limit of waiting calls, more than any user answers; beyond it no further question is sent.
const MAX_PENDING: usize = 256;
/// Limit per client, so that one client cannot block the others.
const MAX_PENDING_PER_CLIENT: usize = 16;
const KEY_BYTES: usize = 32;

pub(super) struct PendingRequests {
    codec: RequestStateCodec,
    calls: Mutex<HashMap<String, PendingElicitation>>,
    timeout: Duration,
}

/// A suspended call and its question.
pub(super) struct SuspendedCall {
    pub(super) pending: InFlightCall,
    pub(super) reply: oneshot::Sender<ClientAnswer>,
    pub(super) can_remember: bool,
}

/// A question that was sent to its client.
pub(super) struct PendingElicitation {
    pub(super) call: SuspendedCall,
    /// The client whose limit it counts against.
    owner: ClientId,
    since: Instant,
}

/// The request that a state is valid for.
pub(super) struct StateBinding<'a> {
    pub(super) tool: &'a ToolName,
    pub(super) args: &'a Hash,
    pub(super) principal: &'a str,
}

/// Reason why a second round cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum PendingRequestError {
    #[error(
        "this state was not made for this call: the tool, its arguments or the client differ from the question"
    )]
    Mismatch,
    #[error("the question has expired")]
    Expired,
    #[error(
        "no call is waiting for this answer: it was already given, came too late, or the server was restarted"
    )]
    NotFound,
}

impl PendingRequestError {
    pub(super) fn advice(self) -> &'static str {
        match self {
            PendingRequestError::Mismatch | PendingRequestError::Expired => {
                "repeat the call without a state; nothing was done"
            }
            PendingRequestError::NotFound => {
                "the call may have been made: check before making it again, without a state"
            }
        }
    }
}

impl StateBinding<'_> {
    fn bytes(&self) -> Vec<u8> {
        let tool = Hash::of(self.tool.as_str().as_bytes());
        [tool.as_bytes().as_slice(), self.args.as_bytes(), self.principal().as_bytes()].concat()
    }

    fn principal(&self) -> Hash {
        Hash::of(self.principal.as_bytes())
    }
}

impl PendingRequests {
    /// Creates the store. The key is valid as long as the calls: until the process ends.
    pub(super) fn new(key: [u8; KEY_BYTES], lasts: Duration) -> Result<PendingRequests, RequestStateError> {
        Ok(PendingRequests {
            codec: RequestStateCodec::try_new(key.to_vec())?,
            calls: Mutex::default(),
            timeout: lasts,
        })
    }

    /// Stores a call and returns the sealed state. Returns the call as an error if too many are waiting.
    pub(super) fn insert(
        &self,
        nonce: String,
        bound: &StateBinding<'_>,
        owner: &ClientId,
        asked: SuspendedCall,
    ) -> Result<String, Box<SuspendedCall>> {
        self.remove_expired();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = calls.values().filter(|other| other.owner == *owner).count();
        if calls.len() >= MAX_PENDING || of_one >= MAX_PENDING_PER_CLIENT {
            return Err(Box::new(asked));
        }
        let waiting = PendingElicitation { call: asked, owner: owner.clone(), since: Instant::now() };
        let bytes = bound.bytes();
        let options = SealOptions::new().associated_data(&bytes).ttl(self.timeout);
        let state = self.codec.seal_with(nonce.as_bytes(), &options);
        calls.insert(nonce, waiting);
        Ok(state)
    }

    /// Removes and returns the call that waits for this answer, so that a state can be used only once.
    pub(super) fn take(
        &self,
        state: &str,
        bound: &StateBinding<'_>,
    ) -> Result<PendingElicitation, PendingRequestError> {
        let opened = self.codec.open_with(state, &bound.bytes()).map_err(|error| {
            if matches!(error, RequestStateError::Expired) {
                PendingRequestError::Expired
            } else {
                PendingRequestError::Mismatch
            }
        })?;
        let nonce = String::from_utf8(opened).map_err(|_| PendingRequestError::Mismatch)?;
        let taken = self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&nonce);
        let waiting = taken.ok_or(PendingRequestError::NotFound)?;
        if waiting.since.elapsed() >= self.timeout {
            return Err(PendingRequestError::Expired);
        }
        Ok(waiting)
    }

    /// Drops the calls of a run, which cancels them, because no client can answer them any more.
    pub(super) fn cancel_run(&self, run: &Arc<ClientRun>) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let left: Vec<(String, PendingElicitation)> =
            calls.extract_if(|_, waiting| waiting.call.pending.is_in(run)).collect();
        drop(calls);
        drop(left);
    }

    /// Drops calls whose question has expired; they end by themselves.
    pub(super) fn remove_expired(&self) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let expired: Vec<(String, PendingElicitation)> =
            calls.extract_if(|_, waiting| waiting.since.elapsed() >= self.timeout).collect();
        // Dropping a call can end its run, which must not happen under the lock.
        drop(calls);
        drop(expired);
    }
}
