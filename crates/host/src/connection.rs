//! The trait that a connection to a host implements, and the host that is attached through one.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use envelope::{Failure, Fault, VaultPath};
use tokio::runtime::Handle;
use toolkit::{BoxFuture, CancelCause, CancelToken};
use vault::with_unknown_outcome;

use crate::paths::{is_at_or_below, renamed_path};
use crate::protocol::{
    HostError, HostEvent, HostHello, HostNotice, HostReply, HostRequest, HostRequestMessage,
    MAX_MESSAGE_CHARS, MAX_OPEN_NOTES, RequestId,
};

/// Details that the engine acts on: a host cannot set them.
const ENGINE_DETAILS: [&str; 3] = ["outcome", "unforeseen", "stillRunning"];

/// Largest details of an error of a host, as JSON. Larger ones are left out.
const MAX_DETAILS_BYTES: usize = 16 << 10;

/// Future of the reply to a request that was sent.
pub type ReplyFuture = BoxFuture<'static, Result<HostReply, HostError>>;

/// A connection to a host. Implemented by the headless host and by [`RemoteHost`](crate::RemoteHost).
///
/// No method waits. A message that cannot be sent is an error, after which the host is detached: it would miss a
/// change.
pub trait HostConnection: Send + Sync {
    /// Sends a request; the future completes with the reply. The caller watches the deadline. Fails if the
    /// request was not sent.
    fn request(&self, message: HostRequestMessage) -> Result<ReplyFuture, HostError>;

    /// Cancels a request, whose reply is not wanted any more. One that is not open is ignored.
    fn cancel(&self, id: RequestId) -> Result<(), HostError>;

    /// Sends a message without a reply.
    fn notify(&self, notice: HostNotice) -> Result<(), HostError>;

    /// Ends the connection. Requests that are open fail.
    fn detach(&self, reason: &str);
}

/// A host that is attached, with the notes that it has announced as open.
pub(crate) struct AttachedHost {
    /// Tells this attachment from earlier and later ones.
    number: u64,
    hello: HostHello,
    connection: Arc<dyn HostConnection>,
    open: Mutex<BTreeSet<VaultPath>>,
    deadline: Duration,
    /// Requests run on it, because they are also made from threads without a runtime.
    runtime: Handle,
    next_request: AtomicU64,
    detached: CancelToken,
}

impl AttachedHost {
    pub(crate) fn new(
        number: u64,
        mut hello: HostHello,
        connection: Arc<dyn HostConnection>,
        deadline: Duration,
    ) -> AttachedHost {
        let open = Mutex::new(std::mem::take(&mut hello.open_notes));
        AttachedHost {
            number,
            hello,
            connection,
            open,
            deadline,
            runtime: Handle::current(),
            next_request: AtomicU64::new(1),
            detached: CancelToken::new(),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn hello(&self) -> &HostHello {
        &self.hello
    }

    pub(crate) fn is_detached(&self) -> bool {
        self.detached.is_cancelled()
    }

    /// Completes when the host is detached.
    pub(crate) async fn wait_until_detached(&self) {
        self.detached.cancelled().await;
    }

    /// Ends the attachment. Only the first call has an effect.
    pub(crate) fn detach(&self, reason: &str) {
        if !self.is_detached() {
            self.detached.cancel(CancelCause::Run);
            self.connection.detach(reason);
        }
    }

    /// Makes a request. Fails with `timeout`, and detaches the host, if it misses the deadline; fails with
    /// `dependency_unavailable` if the host leaves first. Dropping the future cancels the request.
    ///
    /// If the request was sent, has effects, and its reply is lost, the fault says that the outcome is unknown.
    pub(crate) fn request(
        self: &Arc<AttachedHost>,
        request: HostRequest,
    ) -> BoxFuture<'static, Result<HostReply, Fault>> {
        let id = self.next_request.fetch_add(1, Ordering::Relaxed);
        let deadline_ms = u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX);
        let has_effects = request.has_effects();
        let host = self.clone();
        let task = self.runtime.spawn(async move {
            if host.is_detached() {
                return Err(host.left());
            }
            let sent = host.connection.request(HostRequestMessage { id, deadline_ms, request });
            let reply = match sent {
                Ok(reply) => reply,
                Err(error) => {
                    host.detach(&error.message);
                    return Err(host.left());
                }
            };
            let answer = tokio::select! {
                biased;
                reply = reply => reply.map_err(|error| match host.is_detached() {
                    true => host.left(),
                    false => host.fault(error),
                }),
                _cause = host.detached.cancelled() => Err(host.left()),
                () = tokio::time::sleep(host.deadline) => {
                    host.cancel(id);
                    host.detach("a request was not answered within its deadline");
                    Err(host.late())
                }
            };
            answer.map_err(|fault| if has_effects { lost(fault) } else { fault })
        });
        let mut guard = RequestGuard { host: self.clone(), id, task: Some(task.abort_handle()) };
        Box::pin(async move {
            let result = task.await;
            guard.task = None;
            result.unwrap_or_else(|_| {
                let left = guard.host.left();
                Err(if has_effects { lost(left) } else { left })
            })
        })
    }

    fn cancel(&self, id: RequestId) {
        if let Err(error) = self.connection.cancel(id) {
            self.detach(&error.message);
        }
    }

    pub(crate) fn notify(&self, notice: HostNotice) {
        match &notice {
            HostNotice::PathMoved { from, to } => {
                let mut open = self.open();
                *open = open
                    .iter()
                    .map(|path| renamed_path(path, from, to).unwrap_or_else(|| path.clone()))
                    .collect();
            }
            HostNotice::PathRemoved { path } => {
                self.open().retain(|other| !is_at_or_below(other, path));
            }
            HostNotice::NoteSaved { .. }
            | HostNotice::NoteNotSaved { .. }
            | HostNotice::RevertEdit { .. } => {}
        }
        if let Err(error) = self.connection.notify(notice) {
            self.detach(&error.message);
        }
    }

    /// Takes a message that the host sends on its own. A host that announces too many notes is detached: a note
    /// that is not remembered would be written over.
    pub(crate) fn receive_event(&self, event: HostEvent) {
        let announced = {
            let mut open = self.open();
            match event {
                HostEvent::NoteOpened { path } => drop(open.insert(path)),
                HostEvent::NoteClosed { path } => drop(open.remove(&path)),
            }
            open.len()
        };
        if announced > MAX_OPEN_NOTES {
            self.detach(&too_many_open_notes());
        }
    }

    pub(crate) fn is_open(&self, path: &VaultPath) -> bool {
        self.open().contains(path)
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    fn open(&self) -> MutexGuard<'_, BTreeSet<VaultPath>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn left(&self) -> Fault {
        Fault::new(
            Failure::DependencyUnavailable,
            format!("{} left before it answered", self.hello.name.escape_debug()),
        )
        .hint("call again: without that application the vault is used directly")
    }

    fn late(&self) -> Fault {
        Fault::new(
            Failure::Timeout,
            format!(
                "{} did not answer within {} ms and was detached",
                self.hello.name.escape_debug(),
                self.deadline.as_millis()
            ),
        )
        .hint("check whether the application waits for you, then connect it again")
    }

    /// The error of a host as a failure of the call. A host decides about its notes and not about permissions
    /// or repetitions, so any other code counts as a failed execution, and what the engine acts on is dropped.
    fn fault(&self, error: HostError) -> Fault {
        let mut fault = Fault::from(error);
        fault.retryable = None;
        shorten(&mut fault.message);
        if let Some(hint) = &mut fault.hint {
            shorten(hint);
        }
        if let Some(details) = &mut fault.details {
            details.retain(|name, _| !ENGINE_DETAILS.contains(&name.as_str()));
        }
        fault.details = fault.details.filter(|details| {
            let size = serde_json::to_vec(details).map_or(usize::MAX, |text| text.len());
            !details.is_empty() && size <= MAX_DETAILS_BYTES
        });
        let is_about_notes = matches!(
            fault.failure,
            Failure::InvalidArguments
                | Failure::NotFound
                | Failure::Conflict
                | Failure::PreconditionFailed
                | Failure::ExecutionFailed
                | Failure::Timeout
                | Failure::Canceled
                | Failure::DependencyUnavailable
        );
        if !is_about_notes {
            fault.failure = Failure::ExecutionFailed;
        }
        fault
    }
}

/// Marks the fault of a request that may have been done although its reply is not there.
fn lost(fault: Fault) -> Fault {
    match fault.failure == Failure::Canceled
        || fault.failure == Failure::Timeout
        || fault.failure == Failure::DependencyUnavailable
    {
        true => with_unknown_outcome(fault),
        false => fault,
    }
}

/// Returns why a host with too many open notes is refused or detached.
pub(crate) fn too_many_open_notes() -> String {
    format!("the host has more than {MAX_OPEN_NOTES} notes open")
}

fn shorten(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MAX_MESSAGE_CHARS) {
        text.truncate(end);
        text.push('\u{2026}');
    }
}

/// Cancels a request whose caller is gone.
struct RequestGuard {
    host: Arc<AttachedHost>,
    id: RequestId,
    task: Option<tokio::task::AbortHandle>,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            self.host.cancel(self.id);
        }
    }
}
