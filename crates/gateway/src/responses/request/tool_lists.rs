//! Lists of tools, read and remembered from one request to the next.
//!
//! A client sends the same list with every request of a conversation, and it is most of what a request has to read.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::memory::{Key, Memory};
use super::tools::Tools;

/// Of lists as JSON text, in each of the two generations. Read ones are some ten times as large.
const GENERATION_BYTES: usize = 256 * 1024;

static MEMORY: LazyLock<Mutex<Memory<Tools>>> = LazyLock::new(|| Mutex::new(Memory::new(GENERATION_BYTES)));

/// What was made of a list that had the same text, to the byte.
pub(super) fn known(text: &str) -> Option<Arc<Tools>> {
    lock().get(Key::of(text))
}

/// Remembers what became of a list. `tools` must come of this list alone.
pub(super) fn remember(text: &str, tools: &Tools) {
    lock().put(Key::of(text), Arc::new(tools.clone()));
}

fn lock() -> MutexGuard<'static, Memory<Tools>> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}
