//! What was made of a text, remembered from one request to the next.
//!
//! Only for what depends on nothing but the text: then a memory for the whole process changes no answer. What is kept
//! is weighed, and what was not used is forgotten when others need the room.

use std::collections::HashMap;
use std::sync::Arc;

use blake3::Hash;
use memchr::memmem;

/// What everything weighs beside its text: an entry, and the least that is made of a text.
const ENTRY_BYTES: usize = 1024;
/// What a pattern weighs. A short one can take far more when compiled, so few are kept.
const PATTERN_BYTES: usize = 16 * 1024;

/// Two generations. What is used is in the young one; when that is full it becomes the old one, and what was old and
/// not used since is gone.
pub(super) struct Memory<T> {
    young: HashMap<Key, Kept<T>>,
    young_bytes: usize,
    old: HashMap<Key, Kept<T>>,
    /// In each of the two.
    most_bytes: usize,
}

struct Kept<T> {
    known: Arc<T>,
    weight: usize,
}

/// What tells texts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(Hash);

impl Key {
    pub(super) fn of(text: &str) -> Key {
        Key(blake3::hash(text.as_bytes()))
    }
}

/// How much of the room what becomes of schemas counts for: some multiple of it is really taken. They are weighed as
/// JSON on one line, written by us. None for those that are not worth keeping.
pub(super) fn weight(json: &str) -> Option<usize> {
    // Each of its names is a pattern.
    if memmem::find(json.as_bytes(), b"\"patternProperties\":{").is_some() {
        return None;
    }
    let patterns = memmem::find_iter(json.as_bytes(), b"\"pattern\":\"").count();
    Some(ENTRY_BYTES + json.len() + patterns * PATTERN_BYTES)
}

impl<T> Memory<T> {
    pub(super) fn new(most_bytes: usize) -> Memory<T> {
        Memory { young: HashMap::new(), young_bytes: 0, old: HashMap::new(), most_bytes }
    }

    pub(super) fn get(&mut self, key: Key) -> Option<Arc<T>> {
        if let Some(kept) = self.young.get(&key) {
            return Some(Arc::clone(&kept.known));
        }
        let Kept { known, weight } = self.old.remove(&key)?;
        self.put(key, Arc::clone(&known), weight);
        Some(known)
    }

    /// What alone is more than a generation holds is not remembered.
    pub(super) fn put(&mut self, key: Key, known: Arc<T>, weight: usize) {
        if weight > self.most_bytes {
            return;
        }
        if self.young_bytes + weight > self.most_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if self.young.insert(key, Kept { known, weight }).is_none() {
            self.young_bytes += weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ENTRY_BYTES, Key, Memory, PATTERN_BYTES, weight};

    #[test]
    fn what_is_not_used_is_forgotten_and_what_is_used_stays() {
        let keys: Vec<Key> = (0..100).map(|number| Key::of(&number.to_string())).collect();
        let mut memory = Memory::new(100);
        for (number, key) in keys.iter().enumerate() {
            memory.put(*key, Arc::new(number), 10);
            assert_eq!(memory.get(keys[0]).as_deref(), Some(&0), "it was used all the time");
            assert!(memory.young.len() + memory.old.len() <= 20);
        }
        assert!(memory.get(keys[50]).is_none(), "it was used long ago");
        assert_eq!(memory.get(keys[99]).as_deref(), Some(&99), "it was used just now");
    }

    #[test]
    fn what_is_too_heavy_costs_none_of_the_others() {
        let mut memory = Memory::new(10);
        let (light, heavy) = (Key::of("light"), Key::of("heavy"));
        memory.put(light, Arc::new(1), 10);
        memory.put(heavy, Arc::new(2), 11);
        assert!(memory.get(heavy).is_none());
        assert!(memory.get(light).is_some());
    }

    #[test]
    fn a_pattern_weighs_more_than_its_text() {
        let plain = r#"{"type":"string"}"#;
        assert_eq!(weight(plain), Some(ENTRY_BYTES + plain.len()));
        let patterns = r#"{"anyOf":[{"pattern":"a{9}"},{"pattern":"b"}]}"#;
        assert_eq!(weight(patterns), Some(ENTRY_BYTES + patterns.len() + 2 * PATTERN_BYTES));
        assert_eq!(weight(r#"{"patternProperties":{"a":{},"b":{}}}"#), None);
        let named = r#"{"properties":{"pattern":{"type":"string"}},"required":["pattern"]}"#;
        assert_eq!(weight(named), Some(ENTRY_BYTES + named.len()));
    }
}
