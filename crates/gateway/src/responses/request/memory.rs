//! What was made of a text, remembered for a while.
//!
//! Only for what depends on nothing but the text: then a memory for the whole process changes no answer. It is bounded by
//! the bytes of the texts; what was not used for long is forgotten.

use std::collections::HashMap;
use std::sync::Arc;

use blake3::Hash;

/// Two generations. What is used is in the young one; when that is full it becomes the old one, and what was old and
/// not used since is gone.
pub(super) struct Memory<T> {
    young: HashMap<Hash, Arc<T>>,
    young_bytes: usize,
    old: HashMap<Hash, Arc<T>>,
    /// Of texts, in each of the two.
    most_bytes: usize,
}

/// What tells texts apart, and how long this one is.
#[derive(Clone, Copy)]
pub(super) struct Key {
    hash: Hash,
    bytes: usize,
}

impl Key {
    pub(super) fn of(text: &str) -> Key {
        Key { hash: blake3::hash(text.as_bytes()), bytes: text.len() }
    }
}

impl<T> Memory<T> {
    pub(super) fn new(most_bytes: usize) -> Memory<T> {
        Memory { young: HashMap::new(), young_bytes: 0, old: HashMap::new(), most_bytes }
    }

    pub(super) fn get(&mut self, key: Key) -> Option<Arc<T>> {
        if let Some(known) = self.young.get(&key.hash) {
            return Some(Arc::clone(known));
        }
        let known = self.old.remove(&key.hash)?;
        self.put(key, Arc::clone(&known));
        Some(known)
    }

    /// A text that alone is more than a generation holds is not remembered.
    pub(super) fn put(&mut self, key: Key, known: Arc<T>) {
        if key.bytes > self.most_bytes {
            return;
        }
        if self.young_bytes + key.bytes > self.most_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if self.young.insert(key.hash, known).is_none() {
            self.young_bytes += key.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Key, Memory};

    #[test]
    fn what_is_not_used_is_forgotten_and_what_is_used_stays() {
        let texts: Vec<String> = (0..100).map(|number| format!("{number:>10}")).collect();
        let mut memory = Memory::new(100);
        for (number, text) in texts.iter().enumerate() {
            memory.put(Key::of(text), Arc::new(number));
            assert_eq!(memory.get(Key::of(&texts[0])).as_deref(), Some(&0), "it was used all the time");
            assert!(memory.young.len() + memory.old.len() <= 20);
        }
        assert!(memory.get(Key::of(&texts[50])).is_none(), "it was used long ago");
        assert_eq!(memory.get(Key::of(&texts[99])).as_deref(), Some(&99), "it was used just now");
    }

    #[test]
    fn a_text_that_is_too_long_costs_none_of_the_others() {
        let mut memory = Memory::new(10);
        memory.put(Key::of("short"), Arc::new(1));
        memory.put(Key::of("much too long"), Arc::new(2));
        assert!(memory.get(Key::of("much too long")).is_none());
        assert!(memory.get(Key::of("short")).is_some());
    }
}
