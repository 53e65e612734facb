//! A bounded cache of compiled schemas.
//!
//! A client sends the same tools with every request of a conversation, and compiling their schemas takes longer than all
//! other parsing. A compiled schema depends on nothing but the schema, so a cache changes no answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use toolkit::{CompiledSchema, SchemaError};

/// The limit of each of the two generations. A compiled schema takes some multiple of its weight.
const GENERATION_BYTES: usize = 512 * 1024;
/// The weight of a schema besides its text.
const ENTRY_BYTES: usize = 1024;
/// The weight of a pattern. A short one can take far more when it is compiled, so few are kept.
const PATTERN_BYTES: usize = 16 * 1024;

/// Compiles schemas, each once as long as it is in use. Shared by all requests of a server.
#[derive(Debug)]
pub struct SchemaCache(Mutex<CacheGenerations>);

/// Two generations. Schemas in use are in the young one; when it is full it replaces the old one, and schemas that were
/// not used since are dropped.
#[derive(Debug)]
struct CacheGenerations {
    young: HashMap<String, CacheEntry>,
    young_bytes: usize,
    old: HashMap<String, CacheEntry>,
    most_bytes: usize,
}

#[derive(Debug, Clone)]
struct CacheEntry {
    compiled: Arc<CompiledSchema>,
    weight: usize,
}

impl Default for SchemaCache {
    fn default() -> SchemaCache {
        SchemaCache::with_limit(GENERATION_BYTES)
    }
}

impl SchemaCache {
    fn with_limit(most_bytes: usize) -> SchemaCache {
        SchemaCache(Mutex::new(CacheGenerations {
            young: HashMap::new(),
            young_bytes: 0,
            old: HashMap::new(),
            most_bytes,
        }))
    }

    /// Returns the compiled schema. Fails if the schema is invalid or refers to anything outside of itself.
    pub fn compile(&self, schema: &Value) -> Result<Arc<CompiledSchema>, SchemaError> {
        let text = schema.to_string();
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&text);
        if let Some(compiled) = cached {
            return Ok(compiled);
        }
        let compiled = Arc::new(CompiledSchema::compile(schema)?);
        // Weighed outside of the lock, which all requests share.
        if let Some(weight) = weight(&text) {
            let entry = CacheEntry { compiled: compiled.clone(), weight };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(text, entry);
        }
        Ok(compiled)
    }
}

impl CacheGenerations {
    fn get(&mut self, text: &str) -> Option<Arc<CompiledSchema>> {
        if let Some(entry) = self.young.get(text) {
            return Some(entry.compiled.clone());
        }
        let (text, entry) = self.old.remove_entry(text)?;
        let compiled = entry.compiled.clone();
        self.insert(text, entry);
        Some(compiled)
    }

    fn insert(&mut self, text: String, entry: CacheEntry) {
        let weight = entry.weight;
        if weight > self.most_bytes {
            return;
        }
        if self.young_bytes + weight > self.most_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if self.young.insert(text, entry).is_none() {
            self.young_bytes += weight;
        }
    }
}

/// Returns the weight of a schema, given as compact JSON; `None` for one that is not cached.
fn weight(json: &str) -> Option<usize> {
    // Each of its names is a pattern.
    if json.contains("\"patternProperties\":{") {
        return None;
    }
    let patterns = json.matches("\"pattern\":\"").count();
    Some(ENTRY_BYTES + json.len() + patterns * PATTERN_BYTES)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::{ENTRY_BYTES, PATTERN_BYTES, SchemaCache, weight};

    fn titled(title: &str) -> Value {
        json!({ "type": "object", "title": title })
    }

    #[test]
    fn the_same_schema_is_compiled_once_and_another_one_is_another() {
        let cache = SchemaCache::default();
        let first = cache.compile(&titled("the same")).unwrap();
        assert!(Arc::ptr_eq(&first, &cache.compile(&titled("the same")).unwrap()));
        assert!(!Arc::ptr_eq(&first, &cache.compile(&titled("another")).unwrap()));
    }

    #[test]
    fn a_schema_that_is_refused_is_refused_every_time() {
        let cache = SchemaCache::default();
        let dangling = json!({ "$ref": "#/$defs/gone" });
        assert_eq!(cache.compile(&dangling).unwrap_err(), cache.compile(&dangling).unwrap_err());
    }

    #[test]
    fn what_is_not_used_is_forgotten_and_what_is_used_stays() {
        let cache = SchemaCache::with_limit(10 * (ENTRY_BYTES + 100));
        let first = cache.compile(&titled("0")).unwrap();
        let early = cache.compile(&titled("1")).unwrap();
        for number in 2..100 {
            cache.compile(&titled(&number.to_string())).unwrap();
            assert!(Arc::ptr_eq(&first, &cache.compile(&titled("0")).unwrap()), "it was used all the time");
            let generations = cache.0.lock().unwrap();
            assert!(generations.young.len() + generations.old.len() <= 20);
        }
        assert!(!Arc::ptr_eq(&early, &cache.compile(&titled("1")).unwrap()), "it was used long ago");
    }

    #[test]
    fn what_is_too_heavy_costs_none_of_the_others() {
        let cache = SchemaCache::with_limit(ENTRY_BYTES + 100);
        let light = cache.compile(&titled("light")).unwrap();
        let heavy = cache.compile(&titled(&"heavy".repeat(100))).unwrap();
        assert!(!Arc::ptr_eq(&heavy, &cache.compile(&titled(&"heavy".repeat(100))).unwrap()));
        assert!(Arc::ptr_eq(&light, &cache.compile(&titled("light")).unwrap()));
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
