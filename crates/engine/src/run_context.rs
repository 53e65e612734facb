//! Context that earlier calls of a run set for later ones.

use std::sync::{Arc, Mutex, PoisonError};

use envelope::{Concurrency, ContextModifier};
use serde_json::{Map, Value};

/// The context of a run. Only calls that run alone can change it.
///
/// Calls side by side would change it in the order in which they happen to end, which a replay could not repeat.
/// Their changes are recorded as deferred instead.
#[derive(Default)]
pub(crate) struct RunContext(Mutex<Arc<Map<String, Value>>>);

impl RunContext {
    pub(crate) fn current(&self) -> Arc<Map<String, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Restores the context of an interrupted run.
    pub(crate) fn restore(&self, left: Map<String, Value>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(left);
    }

    /// Applies or defers the changes of a call, and returns which was done.
    pub(crate) fn settle(
        &self,
        concurrency: Concurrency,
        asked: Vec<(String, Value)>,
    ) -> Vec<ContextModifier> {
        let applied = match concurrency {
            Concurrency::Serial => true,
            Concurrency::Parallel => false,
        };
        if applied && !asked.is_empty() {
            let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut current).extend(asked.iter().cloned());
        }
        asked.into_iter().map(|(key, value)| ContextModifier { key, value, applied }).collect()
    }
}
