//! The processes: started when they are needed, started again when they die, replaced when they are used up.
//!
//! A process that is replaced takes no more turns and ends after its last one, so replacing disturbs no turn. Time is
//! tokio's and nothing is random, so that tests can repeat it.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::app_server::{AppServer, ProcessEnd, ServerLease};
use super::process::LaunchServer;
use super::settings::{CodexTimeouts, PoolSettings};
use crate::{BackendError, BackendErrorKind};

/// A process is weighed once in so many threads.
const WEIGHED_EVERY: u64 = 8;

pub(super) struct ProcessPool {
    launch: Box<dyn LaunchServer>,
    settings: PoolSettings,
    limits: CodexTimeouts,
    state: Mutex<PoolState>,
    /// A process came, went, or has room again.
    changed: Arc<Notify>,
    room: Arc<Semaphore>,
}

struct PoolState {
    slots: Vec<ProcessSlot>,
    /// Processes that have no place any more and have not ended yet, as long as they have turns open or longer.
    leaving: Vec<(Weak<AppServer>, ProcessEnd)>,
    closing: bool,
}

/// The place of one process. `failures` counts starts in a row that led to nothing.
enum ProcessSlot {
    Empty { failures: u32, not_before: Instant, why: Option<BackendError> },
    Starting { failures: u32 },
    Up { failures: u32, server: Arc<AppServer> },
}

/// Next step of a turn that wants a process.
enum LeaseChoice {
    Take(Arc<AppServer>),
    Start(usize),
    Wait(Option<Instant>),
    GiveUp(BackendError),
}

impl ProcessPool {
    pub(super) fn new(
        launch: Box<dyn LaunchServer>,
        settings: PoolSettings,
        limits: CodexTimeouts,
    ) -> Arc<ProcessPool> {
        let now = Instant::now();
        let empty = || ProcessSlot::Empty { failures: 0, not_before: now, why: None };
        let slots = std::iter::repeat_with(empty).take(settings.processes.get()).collect();
        let room = Arc::new(Semaphore::new(places(&settings).get()));
        let state = Mutex::new(PoolState { slots, leaving: Vec::new(), closing: false });
        Arc::new(ProcessPool { launch, settings, limits, state, changed: Arc::new(Notify::new()), room })
    }

    /// A process for one turn, started if need be.
    pub(super) async fn lease(self: &Arc<ProcessPool>) -> Result<ServerLease, BackendError> {
        let deadline = Instant::now() + self.limits.start;
        let room = Arc::clone(&self.room).acquire_owned();
        let room = match timeout(self.limits.start, room).await {
            Ok(Ok(room)) => room,
            Ok(Err(_closed)) => return Err(shutting_down()),
            Err(_late) => {
                let message = format!("{} turns run already; try again later", places(&self.settings));
                return Err(BackendError::new(BackendErrorKind::Overloaded, message));
            }
        };
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            let until = match self.choose(Instant::now()) {
                LeaseChoice::Take(server) => {
                    return Ok(ServerLease::new(server, room, Arc::clone(&self.changed)));
                }
                LeaseChoice::GiveUp(error) => return Err(error),
                LeaseChoice::Start(index) => {
                    tokio::spawn(Arc::clone(self).start(index));
                    None
                }
                LeaseChoice::Wait(until) => until,
            };
            let until = until.map_or(deadline, |until| until.min(deadline));
            tokio::select! {
                () = &mut changed => {}
                () = sleep_until(until) => {}
            }
            if Instant::now() >= deadline {
                return Err(self.late());
            }
        }
    }

    fn choose(&self, now: Instant) -> LeaseChoice {
        let mut state = self.lock();
        if state.closing {
            return LeaseChoice::GiveUp(shutting_down());
        }
        self.clear(&mut state, now);
        let least = ProcessPool::up(&state).min_by_key(|server| server.open_turns());
        if let Some(server) =
            least.filter(|server| server.open_turns() < self.settings.turns_per_process.get())
        {
            return LeaseChoice::Take(Arc::clone(server));
        }
        if ProcessPool::is_starting_one(&state) {
            return LeaseChoice::Wait(None);
        }
        let is_full = least.is_some();
        let mut pause: Option<(Instant, Option<BackendError>)> = None;
        for (index, slot) in state.slots.iter_mut().enumerate() {
            let ProcessSlot::Empty { failures, not_before, why } = slot else { continue };
            if *not_before <= now {
                *slot = ProcessSlot::Starting { failures: *failures };
                return LeaseChoice::Start(index);
            }
            if pause.as_ref().is_none_or(|(earliest, _)| *not_before < *earliest) {
                pause = Some((*not_before, why.clone()));
            }
        }
        match pause {
            // A process that cannot be started at all is an error at once, not after the longest wait.
            Some((_, Some(why))) if why.kind == BackendErrorKind::Unavailable && !is_full => {
                LeaseChoice::GiveUp(why)
            }
            Some((until, _)) => LeaseChoice::Wait(Some(until)),
            None => LeaseChoice::Wait(None),
        }
    }

    /// Makes room where a process server_died or is used up.
    fn clear(&self, state: &mut PoolState, now: Instant) {
        let PoolState { slots, leaving, .. } = state;
        leaving.retain(|(_, end)| !end.is_over());
        for (index, slot) in slots.iter_mut().enumerate() {
            let ProcessSlot::Up { failures, server } = slot else { continue };
            if !server.is_alive() {
                // One that worked before is started again at once.
                let failures = if server.has_served() { 0 } else { failures.saturating_add(1) };
                let not_before = now + self.pause(index, failures);
                // It may have closed its output and be at its end only.
                leaving.push((Arc::downgrade(server), server.end()));
                *slot = ProcessSlot::Empty { failures, not_before, why: None };
            } else if self.is_used_up(server) {
                leaving.push((Arc::downgrade(server), server.end()));
                *slot = ProcessSlot::Empty { failures: 0, not_before: now, why: None };
            }
        }
    }

    fn is_used_up(&self, server: &AppServer) -> bool {
        let threads = server.threads();
        let weighed = || server.memory().is_some_and(|bytes| bytes > self.settings.memory_per_process);
        server.is_retired()
            || threads >= self.settings.threads_per_process.get()
            || (threads > 0 && threads.is_multiple_of(WEIGHED_EVERY) && weighed())
    }

    async fn start(self: Arc<ProcessPool>, index: usize) {
        let limit = self.limits.start;
        let started =
            timeout(limit, async { AppServer::initialize(self.launch.launch().await?, self.limits).await });
        let started = started.await.unwrap_or_else(|_late| {
            let message = format!("the codex app-server did not start within {limit:?}");
            Err(BackendError::new(BackendErrorKind::Timeout, message))
        });
        {
            let mut state = self.lock();
            let PoolState { slots, leaving, closing } = &mut *state;
            if let Some(slot) = slots.get_mut(index) {
                let failures = match slot {
                    ProcessSlot::Starting { failures }
                    | ProcessSlot::Empty { failures, .. }
                    | ProcessSlot::Up { failures, .. } => *failures,
                };
                *slot = match started {
                    Ok(server) if !*closing => ProcessSlot::Up { failures, server: Arc::new(server) },
                    Ok(server) => {
                        leaving.push((Weak::new(), server.end()));
                        ProcessSlot::Empty { failures, not_before: Instant::now(), why: None }
                    }
                    Err(error) => {
                        tracing::warn!(kind = %error.kind, %error, "codex app-server not started");
                        let failures = failures.saturating_add(1);
                        let not_before = Instant::now() + self.pause(index, failures);
                        ProcessSlot::Empty { failures, not_before, why: Some(error) }
                    }
                };
            }
        }
        self.changed.notify_waiters();
    }

    /// Twice as long after each failure. Each place has a share of its own, so that processes which server_died
    /// together do not come back together.
    fn pause(&self, index: usize, failures: u32) -> Duration {
        let (first, longest) = self.settings.back_off;
        let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
        let full = first.saturating_mul(2_u32.saturating_pow(doublings)).min(longest);
        let eighths = u32::try_from(index % 3).unwrap_or(0);
        full - full / 8 * eighths
    }

    /// Waits for the turns to end, then for the processes. Giving up the wait ends the processes at once.
    pub(super) async fn shut_down(&self) {
        self.lock().closing = true;
        let end = CloseServersOnDrop(self);
        // Turns that wait for room fail now.
        self.room.close();
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            // A process may still be starting although its turn is gone.
            if self.room.available_permits() == places(&self.settings).get()
                && !ProcessPool::is_starting_one(&self.lock())
            {
                break;
            }
            changed.await;
        }
        let ends = self.ends();
        drop(end);
        for end in ends {
            end.wait().await;
        }
    }

    fn is_starting_one(state: &PoolState) -> bool {
        state.slots.iter().any(|slot| matches!(slot, ProcessSlot::Starting { .. }))
    }

    fn up(state: &PoolState) -> impl Iterator<Item = &Arc<AppServer>> {
        state.slots.iter().filter_map(|slot| match slot {
            ProcessSlot::Up { server, .. } => Some(server),
            ProcessSlot::Empty { .. } | ProcessSlot::Starting { .. } => None,
        })
    }

    fn ends(&self) -> Vec<ProcessEnd> {
        let state = self.lock();
        let leaving = state.leaving.iter().map(|(_, end)| end.clone());
        ProcessPool::up(&state).map(|server| server.end()).chain(leaving).collect()
    }

    fn servers(&self) -> Vec<Arc<AppServer>> {
        let state = self.lock();
        let leaving = state.leaving.iter().filter_map(|(server, _)| server.upgrade());
        ProcessPool::up(&state).map(Arc::clone).chain(leaving).collect()
    }

    fn late(&self) -> BackendError {
        let state = self.lock();
        let why = state.slots.iter().find_map(|slot| match slot {
            ProcessSlot::Empty { why, .. } => why.clone(),
            ProcessSlot::Starting { .. } | ProcessSlot::Up { .. } => None,
        });
        why.unwrap_or_else(|| {
            let message = format!("no codex app-server was ready within {:?}", self.limits.start);
            BackendError::new(BackendErrorKind::Unavailable, message)
        })
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the input of every process, however the wait for them ends.
struct CloseServersOnDrop<'a>(&'a ProcessPool);

impl Drop for CloseServersOnDrop<'_> {
    fn drop(&mut self) {
        for server in self.0.servers() {
            server.rpc.close();
        }
    }
}

/// Turns that all processes together can have open.
fn places(settings: &PoolSettings) -> NonZeroUsize {
    let most = NonZeroUsize::new(Semaphore::MAX_PERMITS.min(u32::MAX as usize)).unwrap_or(NonZeroUsize::MIN);
    settings.processes.saturating_mul(settings.turns_per_process).min(most)
}

fn shutting_down() -> BackendError {
    BackendError::new(BackendErrorKind::Unavailable, "the server is shutting down")
}
