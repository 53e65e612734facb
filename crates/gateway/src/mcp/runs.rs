//! Which run a client's calls belong to.
//!
//! A connection that lasts has a run of its own, opened by its first call. Requests that stand alone, as over HTTP in
//! the newer era, share one with the others of the same client: it ends when the client has not called for a while, and
//! the next call opens another. A run ends, too, once the surface is another than it was opened under, since its policy
//! cannot change: whatever is under way goes on in it, the next call opens another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use envelope::RunId;
use tokio::time::Instant;

use super::surface::Surface;
use crate::gate_run::GateRun;

/// Clients whose requests stand alone. What they are called is theirs to choose, so their number has a bound.
const MOST_CLIENTS: usize = 64;

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
pub(super) type Open<'a> = &'a dyn Fn() -> Result<OpenRun, String>;

/// The run of one connection.
#[derive(Default)]
pub(super) struct OwnRun(Mutex<Option<Arc<OpenRun>>>);

impl OwnRun {
    pub(super) fn get(&self, now: &Arc<Surface>, open: Open<'_>) -> Result<Arc<OpenRun>, String> {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*own {
            Some(run) if run.is_of(now) => Ok(run.clone()),
            Some(_) | None => {
                let run = Arc::new(open()?);
                *own = Some(run.clone());
                Ok(run)
            }
        }
    }

    pub(super) fn id(&self) -> Option<RunId> {
        let own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        own.as_ref().map(|own| own.run.run_id().clone())
    }

    pub(super) fn take(&self) -> Option<Arc<OpenRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The runs of clients whose requests stand alone.
pub(super) struct SharedRuns {
    current: Mutex<HashMap<String, Current>>,
    /// How long a client may be silent before its run ends.
    idle: Duration,
}

struct Current {
    run: Arc<OpenRun>,
    last: Instant,
}

impl SharedRuns {
    pub(super) fn new(idle: Duration) -> SharedRuns {
        SharedRuns { current: Mutex::default(), idle }
    }

    /// The run for one more call of a client. A new one is handed out with the news that it needs somebody to watch
    /// over it.
    pub(super) fn get(
        &self,
        client: &str,
        now: &Arc<Surface>,
        open: Open<'_>,
    ) -> Result<(Arc<OpenRun>, bool), String> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let last = Instant::now();
        if let Some(current) = current.get_mut(client).filter(|current| current.run.is_of(now)) {
            current.last = last;
            return Ok((current.run.clone(), false));
        }
        let run = Arc::new(open()?);
        if current.len() >= MOST_CLIENTS && !current.contains_key(client) {
            let longest =
                current.iter().min_by_key(|(_, current)| current.last).map(|(name, _)| name.clone());
            longest.and_then(|longest| current.remove(&longest));
        }
        current.insert(client.to_owned(), Current { run: run.clone(), last });
        Ok((run, true))
    }

    pub(super) fn id(&self, client: &str) -> Option<RunId> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.get(client).map(|current| current.run.run.run_id().clone())
    }

    /// Ends this run of a client as soon as it has not called for long enough and waits for no call. `look` comes
    /// before each look at it, to let go of what holds it in vain.
    pub(super) async fn watch(&self, client: &str, run: &RunId, look: impl Fn()) {
        while let Some(due) = self.due(client, run) {
            tokio::time::sleep_until(due).await;
            look();
            if let Some(idle) = self.take_idle(client, run) {
                idle.run.close(None).await;
                return;
            }
        }
    }

    fn due(&self, client: &str, run: &RunId) -> Option<Instant> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let current = current.get_mut(client).filter(|current| current.run.run.run_id() == run)?;
        if Arc::strong_count(&current.run) > 1 {
            // A call is under way, which is as good as one that has just come.
            current.last = Instant::now();
        }
        Some(current.last + self.idle)
    }

    fn take_idle(&self, client: &str, run: &RunId) -> Option<Arc<OpenRun>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let found = current.get(client)?;
        let is_idle = found.run.run.run_id() == run
            && Arc::strong_count(&found.run) == 1
            && found.last.elapsed() >= self.idle;
        if is_idle { current.remove(client).map(|current| current.run) } else { None }
    }
}
