//! Schemas, compiled and remembered from one request to the next.
//!
//! A client sends the same tools with every request of a conversation, and compiling a schema takes longer than all
//! other reading together. What a schema compiles to depends on nothing but the schema, so a memory for the whole
//! process changes no answer. It is bounded by the bytes of the schemas; what was not used for long is forgotten.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use blake3::Hash;
use serde_json::Value;
use toolkit::{CompiledSchema, SchemaRefused};

use crate::responses::known_schema::KnownSchema;

/// Of schemas as JSON text, in each of the two generations. Compiled ones are some ten times as large.
const GENERATION_BYTES: usize = 512 * 1024;

static MEMORY: LazyLock<Mutex<Memory>> = LazyLock::new(Mutex::default);

/// Screens and compiles a schema, unless that was done before.
pub(super) fn compile(schema: &Value) -> Result<Arc<KnownSchema>, SchemaRefused> {
    let (key, bytes) = key(schema);
    if let Some(known) = lock(|memory| memory.get(key, bytes)) {
        return Ok(known);
    }
    let compiled = Arc::new(KnownSchema::new(CompiledSchema::compile(schema)?));
    lock(|memory| memory.put(key, bytes, Arc::clone(&compiled)));
    Ok(compiled)
}

fn lock<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    work(&mut MEMORY.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What tells schemas apart, and how long the schema is.
fn key(schema: &Value) -> (Hash, usize) {
    let text = schema.to_string();
    (blake3::hash(text.as_bytes()), text.len())
}

/// Two generations. What is used is in the young one; when that is full it becomes the old one, and what was old and
/// not used since is gone.
#[derive(Default)]
struct Memory {
    young: HashMap<Hash, Arc<KnownSchema>>,
    young_bytes: usize,
    old: HashMap<Hash, Arc<KnownSchema>>,
}

impl Memory {
    fn get(&mut self, key: Hash, bytes: usize) -> Option<Arc<KnownSchema>> {
        if let Some(known) = self.young.get(&key) {
            return Some(Arc::clone(known));
        }
        let known = self.old.remove(&key)?;
        self.put(key, bytes, Arc::clone(&known));
        Some(known)
    }

    fn put(&mut self, key: Hash, bytes: usize, compiled: Arc<KnownSchema>) {
        if self.young_bytes + bytes > GENERATION_BYTES {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if self.young.insert(key, compiled).is_none() {
            self.young_bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::{GENERATION_BYTES, Memory, compile, key};

    #[test]
    fn the_same_schema_is_compiled_once_and_another_one_is_another() {
        let schema = |title: &str| json!({ "type": "object", "title": title });
        let first = compile(&schema("the same")).unwrap();
        assert!(Arc::ptr_eq(&first, &compile(&schema("the same")).unwrap()));
        assert!(!Arc::ptr_eq(&first, &compile(&schema("another")).unwrap()));
    }

    #[test]
    fn a_schema_that_is_refused_is_refused_every_time() {
        let dangling = json!({ "$ref": "#/$defs/gone" });
        assert_eq!(compile(&dangling).unwrap_err(), compile(&dangling).unwrap_err());
    }

    #[test]
    fn what_is_not_used_is_forgotten_and_what_is_used_stays() {
        let compiled = compile(&json!({})).unwrap();
        let keys: Vec<_> = (0..100).map(|n| key(&json!(n)).0).collect();
        let bytes = GENERATION_BYTES / 10;
        let mut memory = Memory::default();
        for key in &keys {
            memory.put(*key, bytes, Arc::clone(&compiled));
            assert!(memory.get(keys[0], bytes).is_some(), "it was used all the time");
            assert!(memory.young.len() + memory.old.len() <= 20);
        }
        assert!(memory.get(keys[50], bytes).is_none(), "it was used long ago");
        assert!(memory.get(keys[99], bytes).is_some(), "it was used just now");
    }
}
