//! A schema of arguments with all that follows from it alone.
//!
//! A client sends the same tools with every request of a conversation. What a schema compiles to, and how a model is shown
//! it, is made once and lives as long as the schema is remembered.

use std::ops::Deref;
use std::sync::OnceLock;

use toolkit::CompiledSchema;

#[derive(Debug)]
pub struct KnownSchema {
    compiled: CompiledSchema,
    shown: OnceLock<Shown>,
}

/// How a model is shown a schema.
#[derive(Debug)]
pub(super) struct Shown {
    /// The schema, as short as it can be.
    pub(super) parameters: String,
    /// Arguments that match it, as the JSON string that a call has. None if none could be made.
    pub(super) example: Option<String>,
}

impl KnownSchema {
    pub fn new(compiled: CompiledSchema) -> KnownSchema {
        KnownSchema { compiled, shown: OnceLock::new() }
    }

    /// How a model is shown it. `make` must look at nothing but the schema.
    pub(super) fn shown(&self, make: impl FnOnce() -> Shown) -> &Shown {
        self.shown.get_or_init(make)
    }
}

impl Deref for KnownSchema {
    type Target = CompiledSchema;

    fn deref(&self) -> &CompiledSchema {
        &self.compiled
    }
}
