//! Which run a client's calls belong to.
//!
//! A connection that lasts has a run of its own, opened by its first call. Requests that stand alone, as over HTTP in
//! the newer era, share one with the others of the same client: it ends when the client has not called for a while, and
//! the next call opens another. A run ends, too, once the surface is another than it was opened under, since its policy
//! cannot change: whatever is under way goes on in it, the next call opens another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use envelope::RunId;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;
use tokio::time::Instant;

use super::surface::Surface;
use crate::client::Client;
use crate::gate_run::GateRun;

/// Runs of clients whose requests stand alone.
const MOST_RUNS: usize = 64;
/// The share of one client, which has a run for each name that it gives itself: names are its own to choose.
const MOST_OF_ONE: usize = 8;

/// A run, and what it was opened under. It comes to its end when nobody holds it any more.
pub(super) struct OpenRun {
    pub(super) run: GateRun,
    pub(super) surface: Arc<Surface>,
    /// What the face had when it was opened; as a rule the same.
    opened_at: Arc<Surface>,
}

impl OpenRun {
    pub(super) fn new(run: GateRun, surface: Arc<Surface>, opened_at: Arc<Surface>) -> OpenRun {
        OpenRun { run, surface, opened_at }
    }

    fn is_of(&self, now: &Arc<Surface>) -> bool {
        Arc::ptr_eq(&self.opened_at, now)
    }
}

/// Opens a run.
pub(super) type Open<'a> = &'a (dyn Fn() -> Result<OpenRun, String> + Sync);

/// The run of one connection, or of one client.
#[derive(Default)]
pub(super) struct OwnRun {
    /// Held for a moment only, so that whoever looks never waits for a disk.
    run: Mutex<Option<Arc<OpenRun>>>,
    /// Held while a run is opened, so that the calls that come meanwhile are made in the same one. They wait without a
    /// thread: however many they are, only the one that opens it has to have one.
    opening: tokio::sync::Mutex<()>,
}

impl OwnRun {
    pub(super) async fn get(&self, now: &Arc<Surface>, open: Open<'_>) -> Result<Arc<OpenRun>, String> {
        self.get_or_open(now, open).await.map(|(run, _is_new)| run)
    }

    async fn get_or_open(&self, now: &Arc<Surface>, open: Open<'_>) -> Result<(Arc<OpenRun>, bool), String> {
        if let Some(run) = self.opened(now) {
            return Ok((run, false));
        }
        let _alone = self.opening.lock().await;
        if let Some(run) = self.opened(now) {
            return Ok((run, false));
        }
        beside_others(|| {
            let run = Arc::new(open()?);
            let before = self.current().replace(run.clone());
            drop(before);
            Ok((run, true))
        })
    }

    pub(super) fn id(&self) -> Option<RunId> {
        self.current().as_ref().map(|run| run.run.run_id().clone())
    }

    pub(super) async fn take(&self) -> Option<Arc<OpenRun>> {
        let _alone = self.opening.lock().await;
        self.current().take()
    }

    fn opened(&self, now: &Arc<Surface>) -> Option<Arc<OpenRun>> {
        self.current().clone().filter(|run| run.is_of(now))
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<OpenRun>>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does what may take as long as a disk does, while the other workers take over what this one had to do.
fn beside_others<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if matches!(flavor, Ok(RuntimeFlavor::MultiThread)) { block_in_place(work) } else { work() }
}

/// The runs of clients whose requests stand alone.
pub(super) struct SharedRuns {
    /// Never held while a run is opened: a client waits for its own disk, and not for another's.
    current: Mutex<HashMap<Client, Current>>,
    /// How long a client may be silent before its run ends.
    idle: Duration,
}

/// One client. Whoever makes a call holds its run, or is about to and holds the place of it.
struct Current {
    own: Arc<OwnRun>,
    last: Instant,
}

impl SharedRuns {
    pub(super) fn new(idle: Duration) -> SharedRuns {
        SharedRuns { current: Mutex::default(), idle }
    }

    /// The run for one more call of a client. A new one is handed out with the news that it needs somebody to watch
    /// over it.
    pub(super) async fn get(
        &self,
        client: &Client,
        now: &Arc<Surface>,
        open: Open<'_>,
    ) -> Result<(Arc<OpenRun>, bool), String> {
        let own = self.own_of(client);
        let got = own.get_or_open(now, open).await;
        if got.is_err() {
            self.forget_unopened(client, &own);
        }
        got
    }

    /// The place of a client's run, whether or not it is open.
    fn own_of(&self, client: &Client) -> Arc<OwnRun> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let last = Instant::now();
        if let Some(known) = current.get_mut(client) {
            known.last = last;
            return known.own.clone();
        }
        let of_one = current.keys().filter(|other| other.id == client.id).count();
        if current.len() >= MOST_RUNS || of_one >= MOST_OF_ONE {
            let is_due = |other: &Client| of_one < MOST_OF_ONE || other.id == client.id;
            let known = current.iter().filter(|(other, _)| is_due(other));
            let longest = known.min_by_key(|(_, known)| known.last).map(|(other, _)| other.clone());
            longest.and_then(|longest| current.remove(&longest));
        }
        let own = Arc::<OwnRun>::default();
        current.insert(client.clone(), Current { own: own.clone(), last });
        own
    }

    /// A client whose run could not be opened takes nobody's place, unless another call of it is still trying.
    fn forget_unopened(&self, client: &Client, own: &Arc<OwnRun>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = current.get(client).is_some_and(|known| Arc::ptr_eq(&known.own, own))
            && Arc::strong_count(own) == 2
            && own.current().is_none();
        if is_last {
            current.remove(client);
        }
    }

    pub(super) fn id(&self, client: &Client) -> Option<RunId> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.get(client).and_then(|known| known.own.id())
    }

    /// Ends this run of a client as soon as it has not called for long enough and waits for no call. `look` comes
    /// before each look at it, to let go of what holds it in vain.
    pub(super) async fn watch(&self, client: &Client, run: &RunId, look: impl Fn()) {
        while let Some(due) = self.due(client, run) {
            tokio::time::sleep_until(due).await;
            look();
            if let Some(idle) = self.take_idle(client, run) {
                idle.run.close(None).await;
                return;
            }
        }
    }

    fn due(&self, client: &Client, run: &RunId) -> Option<Instant> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let known = current.get_mut(client)?;
        let open = known.own.current().clone().filter(|open| open.run.run_id() == run)?;
        // This one, and the one that is kept.
        if Arc::strong_count(&open) > 2 {
            // A call is under way, which is as good as one that has just come.
            known.last = Instant::now();
        }
        Some(known.last + self.idle)
    }

    fn take_idle(&self, client: &Client, run: &RunId) -> Option<Arc<OpenRun>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let known = current.get(client)?;
        // Nobody can come while the clients are locked, so nobody is there who is not counted.
        let is_idle = Arc::strong_count(&known.own) == 1
            && known.own.current().as_ref().is_some_and(|open| {
                open.run.run_id() == run && Arc::strong_count(open) == 1 && known.last.elapsed() >= self.idle
            });
        if is_idle { current.remove(client).and_then(|known| known.own.current().take()) } else { None }
    }
}
