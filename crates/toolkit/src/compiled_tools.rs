//! A cache of declarations with their compiled schemas, shared by the registries of a process.
//!
//! A server opens the tools again for each session and each forecast. Compiling the schemas of all tools takes some ten
//! milliseconds and a few megabytes, and the result depends on the declarations only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use envelope::{Hash, ToolDecl};

use crate::CompiledSchema;

/// Entries after which the cache starts anew. Servers of others may change their declarations again and again.
const MAX_ENTRIES: usize = 1_024;

/// A declaration with its compiled schemas.
pub(crate) struct CompiledTool {
    pub(crate) decl: Arc<ToolDecl>,
    pub(crate) input: Arc<CompiledSchema>,
    pub(crate) output: Arc<CompiledSchema>,
}

/// Compiled tools by the hash of their declarations. Clones share their entries.
#[derive(Clone, Default)]
pub struct CompiledTools(Arc<Mutex<HashMap<Hash, Arc<CompiledTool>>>>);

impl CompiledTools {
    /// Returns the compiled tool of a declaration, compiling it if it is not in the cache. Fails with all reasons why its
    /// schemas cannot be compiled.
    pub(crate) fn compile(&self, decl: ToolDecl) -> Result<Arc<CompiledTool>, Vec<String>> {
        let key = serde_json::to_value(&decl).map(|decl| envelope::canonical_hash(&decl));
        let key = key.map_err(|error| vec![format!("declaration: {error}")])?;
        if let Some(known) = self.entries().get(&key) {
            return Ok(known.clone());
        }
        // Compiled outside of the lock: two registries may do the same work once, but none waits for the other.
        let input = CompiledSchema::compile(&decl.input_schema);
        let output = CompiledSchema::compile(&decl.output_schema);
        let tool = match (input, output) {
            (Ok(input), Ok(output)) => Arc::new(CompiledTool {
                decl: Arc::new(decl),
                input: Arc::new(input),
                output: Arc::new(output),
            }),
            (input, output) => {
                let input = input.err().map(|refused| format!("input: {refused}"));
                let output = output.err().map(|refused| format!("output: {refused}"));
                return Err(input.into_iter().chain(output).collect());
            }
        };
        let mut entries = self.entries();
        if entries.len() >= MAX_ENTRIES {
            entries.clear();
        }
        Ok(entries.entry(key).or_insert(tool).clone())
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, HashMap<Hash, Arc<CompiledTool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
