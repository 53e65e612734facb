//! Which run a client's calls belong to.
//!
//! A connection that lasts has a run of its own, opened by its first call. Requests that stand alone, as over HTTP in
//! the newer era, share one: it ends when nobody has called for a while, and the next call opens another.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::gate_run::GateRun;

/// Opens a run.
pub(super) type Open<'a> = &'a dyn Fn() -> Result<GateRun, String>;

/// The run of one connection.
#[derive(Default)]
pub(super) struct OwnRun(Mutex<Option<Arc<GateRun>>>);

impl OwnRun {
    pub(super) fn get(&self, open: Open<'_>) -> Result<Arc<GateRun>, String> {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*own {
            Some(run) => Ok(run.clone()),
            None => {
                let run = Arc::new(open()?);
                *own = Some(run.clone());
                Ok(run)
            }
        }
    }

    /// Lets the run end, once its calls have.
    pub(super) async fn end(&self) {
        let own = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(run) = own {
            run.close(None).await;
        }
    }
}

/// The run that requests share which stand alone.
pub(super) struct SharedRun {
    current: Mutex<Option<Current>>,
    /// How long nobody may call before the run ends.
    idle: Duration,
}

struct Current {
    run: Arc<GateRun>,
    last: Instant,
}

impl SharedRun {
    pub(super) fn new(idle: Duration) -> SharedRun {
        SharedRun { current: Mutex::default(), idle }
    }

    /// The run for one more call. A new one is handed out with the news that it needs somebody to watch over it.
    pub(super) fn get(&self, open: Open<'_>) -> Result<(Arc<GateRun>, bool), String> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let last = Instant::now();
        if let Some(current) = &mut *current {
            current.last = last;
            return Ok((current.run.clone(), false));
        }
        let run = Arc::new(open()?);
        *current = Some(Current { run: run.clone(), last });
        Ok((run, true))
    }

    /// Ends the run that is current now as soon as nobody calls and nobody waits for a call.
    pub(super) async fn watch(&self) {
        loop {
            let Some(due) = self.due() else { return };
            tokio::time::sleep_until(due).await;
            if let Some(run) = self.take_idle() {
                run.close(None).await;
                return;
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let current = current.as_mut()?;
        if Arc::strong_count(&current.run) > 1 {
            // A call is under way, which is as good as one that has just come.
            current.last = Instant::now();
        }
        Some(current.last + self.idle)
    }

    fn take_idle(&self) -> Option<Arc<GateRun>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = |current: &mut Current| {
            Arc::strong_count(&current.run) == 1 && current.last.elapsed() >= self.idle
        };
        current.take_if(is_idle).map(|current| current.run)
    }
}
