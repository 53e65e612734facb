//! What earlier calls of a run left for later ones.

use std::sync::{Arc, Mutex, PoisonError};

use envelope::{Concurrency, ContextModifier};
use serde_json::{Map, Value};

/// A map that only calls which ran alone may change.
///
/// Two calls side by side would change it in the order in which they happen to end, and a replay could
/// not repeat that. Their changes are recorded as deferred instead.
#[derive(Default)]
pub(crate) struct RunContext(Mutex<Arc<Map<String, Value>>>);

impl RunContext {
    pub(crate) fn current(&self) -> Arc<Map<String, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What calls had left before an interruption.
    pub(crate) fn restore(&self, left: Map<String, Value>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(left);
    }

    /// Applies or defers what a call asked for, and says which.
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
