//! Lists of tools, read and remembered from one request to the next.
//!
//! A client sends the same list with every request of a conversation, and it is most of what a request has to read.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::memory::{Key, Memory, weight};
use super::tools::Tools;

/// By weight, in each of the two generations.
const GENERATION_BYTES: usize = 256 * 1024;

static MEMORY: LazyLock<Mutex<Memory<Tools>>> = LazyLock::new(|| Mutex::new(Memory::new(GENERATION_BYTES)));

/// What is known of the text of a list.
pub(super) enum Seen {
    /// What was made of a list that had the same text, to the byte.
    Before(Arc<Tools>),
    /// It is not known, and may be remembered.
    Never(Key),
    TooLong,
}

pub(super) fn look_up(text: &str) -> Seen {
    if text.len() > GENERATION_BYTES {
        return Seen::TooLong;
    }
    let key = Key::of(text);
    let known = lock().get(key);
    known.map_or(Seen::Never(key), Seen::Before)
}

/// Remembers what became of a list. `tools` must come of this list alone.
pub(super) fn remember(key: Key, tools: &Tools) {
    // Not as the client spelled it: what is an escape there may be a pattern.
    let Some(weight) = weight(&tools.echoed) else { return };
    let known = Arc::new(tools.clone());
    lock().put(key, known, weight);
}

fn lock() -> MutexGuard<'static, Memory<Tools>> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}
