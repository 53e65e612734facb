//! Schemas, compiled and remembered from one request to the next.
//!
//! A client sends the same tools with every request of a conversation, and compiling a schema takes longer than all
//! other reading together. What a schema compiles to depends on nothing but the schema, so a memory for the whole
//! process changes no answer.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use toolkit::{CompiledSchema, SchemaRefused};

use super::memory::{Key, Memory, weight};
use crate::responses::known_schema::KnownSchema;

/// By weight, in each of the two generations.
const GENERATION_BYTES: usize = 512 * 1024;

static MEMORY: LazyLock<Mutex<Memory<KnownSchema>>> =
    LazyLock::new(|| Mutex::new(Memory::new(GENERATION_BYTES)));

/// Screens and compiles a schema, unless that was done before.
pub(super) fn compile(schema: &Value) -> Result<Arc<KnownSchema>, SchemaRefused> {
    let text = schema.to_string();
    let key = Key::of(&text);
    if let Some(known) = lock().get(key) {
        return Ok(known);
    }
    let compiled = Arc::new(KnownSchema::new(CompiledSchema::compile(schema)?));
    if let Some(weight) = weight(&text) {
        lock().put(key, Arc::clone(&compiled), weight);
    }
    Ok(compiled)
}

fn lock() -> MutexGuard<'static, Memory<KnownSchema>> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::compile;

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
}
