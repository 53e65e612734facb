//! Assigns a client's calls to runs.
//!
//! A connection has its own run, opened by its first call. Stateless HTTP requests share one run per client: it is
//! closed when the client has been idle for a while, and the next call opens another. A run is also replaced when
//! the settings change, since its policy cannot change: calls in flight finish in the old run, and the next call
//! opens a new one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use envelope::{RunId, SessionId};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;
use tokio::time::Instant;

use super::surface::ServerSurface;
use call_session::ClientIdentity;
use call_session::SessionHandle;

/// Limit of runs shared by stateless requests.
const MAX_CLIENT_RUNS: usize = 64;
/// Limit per client id, which has one run for each name that the client reports: a client can choose any name.
const MAX_RUNS_PER_CLIENT: usize = 8;

/// An open run and the settings that it was opened with. It ends when the last holder drops it.
pub(super) struct ClientRun {
    pub(super) session: SessionHandle,
    pub(super) surface: Arc<ServerSurface>,
    /// Surface of the server when the run was opened; usually the same as `surface`.
    opened_at: Arc<ServerSurface>,
}

impl ClientRun {
    pub(super) fn new(
        session: SessionHandle,
        surface: Arc<ServerSurface>,
        opened_at: Arc<ServerSurface>,
    ) -> ClientRun {
        ClientRun { session, surface, opened_at }
    }

    fn opened_under(&self, now: &Arc<ServerSurface>) -> bool {
        Arc::ptr_eq(&self.opened_at, now)
    }
}

/// Opens a run in a slot.
pub(super) type RunOpener<'a> = &'a (dyn Fn(&RunSlot) -> Result<ClientRun, String> + Sync);

/// The run of one connection, or of one client.
#[derive(Default)]
pub(super) struct RunSlot {
    /// Locked only for a moment, so that readers never wait for disk I/O.
    run: Mutex<Option<Arc<ClientRun>>>,
    /// Locked while a run is opened, so that concurrent calls share it. They wait without blocking a thread: only
    /// the call that opens the run needs one.
    opening: tokio::sync::Mutex<()>,
    /// The session of every run of this slot and of the plans beside them. Created on first use.
    session: OnceLock<Option<SessionId>>,
}

impl RunSlot {
    /// Returns the session; `unique` makes the word in a new id.
    pub(super) fn session(&self, unique: &dyn Fn() -> String) -> Option<SessionId> {
        self.session.get_or_init(|| SessionId::parse(&format!("s{}", unique())).ok()).clone()
    }

    pub(super) async fn get(
        &self,
        now: &Arc<ServerSurface>,
        open: RunOpener<'_>,
    ) -> Result<Arc<ClientRun>, String> {
        self.get_or_open(now, open).await.map(|(run, _is_new)| run)
    }

    async fn get_or_open(
        &self,
        now: &Arc<ServerSurface>,
        open: RunOpener<'_>,
    ) -> Result<(Arc<ClientRun>, bool), String> {
        if let Some(run) = self.opened(now) {
            return Ok((run, false));
        }
        let _guard = self.opening.lock().await;
        if let Some(run) = self.opened(now) {
            return Ok((run, false));
        }
        run_blocking(|| {
            let run = Arc::new(open(self)?);
            let before = self.current().replace(run.clone());
            drop(before);
            Ok((run, true))
        })
    }

    pub(super) fn id(&self) -> Option<RunId> {
        self.current().as_ref().map(|run| run.session.run_id().clone())
    }

    /// Returns the session, if a run or a plan has begun it.
    pub(super) fn begun_session(&self) -> Option<SessionId> {
        self.session.get().cloned().flatten()
    }

    /// Takes the run if no call of it is in progress. Fails with the run left in its place otherwise.
    pub(super) async fn take_unused(&self) -> Result<Option<Arc<ClientRun>>, ()> {
        let _guard = self.opening.lock().await;
        let mut current = self.current();
        // A call in progress holds the run.
        match &*current {
            Some(run) if Arc::strong_count(run) > 1 => Err(()),
            Some(_) | None => Ok(current.take()),
        }
    }

    pub(super) async fn take(&self) -> Option<Arc<ClientRun>> {
        let _guard = self.opening.lock().await;
        self.current().take()
    }

    fn opened(&self, now: &Arc<ServerSurface>) -> Option<Arc<ClientRun>> {
        self.current().clone().filter(|run| run.opened_under(now))
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<ClientRun>>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs blocking disk work while the other workers take over this worker's tasks.
fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if matches!(flavor, Ok(RuntimeFlavor::MultiThread)) { block_in_place(work) } else { work() }
}

/// The runs of stateless clients.
pub(super) struct ClientRuns {
    /// Never locked while a run is opened, so that one client never waits for another client's disk I/O.
    current: Mutex<HashMap<ClientIdentity, ActiveClient>>,
    /// Idle time after which a client's run is closed.
    idle: Duration,
}

/// Entry of one client. A call in progress holds the run, or holds the slot while it opens the run.
struct ActiveClient {
    slot: Arc<RunSlot>,
    last_call: Instant,
}

impl ClientRuns {
    pub(super) fn new(idle: Duration) -> ClientRuns {
        ClientRuns { current: Mutex::default(), idle }
    }

    /// Returns the run for a call of a client, and whether it is new. A new run needs a task that closes it when
    /// idle.
    pub(super) async fn get(
        &self,
        client: &ClientIdentity,
        now: &Arc<ServerSurface>,
        open: RunOpener<'_>,
    ) -> Result<(Arc<ClientRun>, bool), String> {
        let slot = self.slot_of(client);
        let result = slot.get_or_open(now, open).await;
        if result.is_err() {
            self.forget_unopened(client, &slot);
        }
        result
    }

    /// Returns the slot of a client, whether or not its run is open.
    pub(super) fn slot_of(&self, client: &ClientIdentity) -> Arc<RunSlot> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let last_call = Instant::now();
        if let Some(entry) = current.get_mut(client) {
            let is_idle = entry.last_call.elapsed() >= self.idle
                && Arc::strong_count(&entry.slot) == 1
                && entry.slot.current().is_none();
            if is_idle {
                // A client that only runs plans has no run to close. Its next call begins another session.
                entry.slot = Arc::default();
            }
            entry.last_call = last_call;
            return entry.slot.clone();
        }
        let of_one = current.keys().filter(|other| other.id == client.id).count();
        if current.len() >= MAX_CLIENT_RUNS || of_one >= MAX_RUNS_PER_CLIENT {
            let is_due = |other: &ClientIdentity| of_one < MAX_RUNS_PER_CLIENT || other.id == client.id;
            let entry = current.iter().filter(|(other, _)| is_due(other));
            let oldest = entry.min_by_key(|(_, entry)| entry.last_call).map(|(other, _)| other.clone());
            oldest.and_then(|oldest| current.remove(&oldest));
        }
        let slot = Arc::<RunSlot>::default();
        current.insert(client.clone(), ActiveClient { slot: slot.clone(), last_call });
        slot
    }

    /// Removes a client whose run could not be opened, unless another call of it is still trying.
    fn forget_unopened(&self, client: &ClientIdentity, slot: &Arc<RunSlot>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = current.get(client).is_some_and(|entry| Arc::ptr_eq(&entry.slot, slot))
            && Arc::strong_count(slot) == 2
            && slot.current().is_none();
        if is_last {
            current.remove(client);
        }
    }

    pub(super) fn id(&self, client: &ClientIdentity) -> Option<RunId> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.get(client).and_then(|entry| entry.slot.id())
    }

    /// Closes this run once its client has been idle for long enough and has no call in progress. `look` is called
    /// before each check, to drop expired holders.
    pub(super) async fn close_when_idle(&self, client: &ClientIdentity, run: &RunId, look: impl Fn()) {
        while let Some(due) = self.idle_deadline(client, run) {
            tokio::time::sleep_until(due).await;
            look();
            if let Some(idle) = self.take_idle(client, run) {
                idle.session.close(None).await;
                return;
            }
        }
    }

    fn idle_deadline(&self, client: &ClientIdentity, run: &RunId) -> Option<Instant> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = current.get_mut(client)?;
        let open = entry.slot.current().clone().filter(|open| open.session.run_id() == run)?;
        // This reference and the one in the slot.
        if Arc::strong_count(&open) > 2 {
            // A call is in progress, which counts as activity.
            entry.last_call = Instant::now();
        }
        Some(entry.last_call + self.idle)
    }

    fn take_idle(&self, client: &ClientIdentity, run: &RunId) -> Option<Arc<ClientRun>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = current.get(client)?;
        // No call can arrive while the clients are locked, so the reference counts are exact.
        let is_idle = Arc::strong_count(&entry.slot) == 1
            && entry.slot.current().as_ref().is_some_and(|open| {
                open.session.run_id() == run
                    && Arc::strong_count(open) == 1
                    && entry.last_call.elapsed() >= self.idle
            });
        if is_idle { current.remove(client).and_then(|entry| entry.slot.current().take()) } else { None }
    }
}
