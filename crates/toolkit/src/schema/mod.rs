//! JSON Schema validation: compiled once, with readable errors.
//!
//! A schema may come from an untrusted server, so it is screened before the validator sees it: it cannot make the
//! program open a file, call a server, or spend more time than a call is worth. Errors are worded here, never by
//! the validator: its texts are written for readers of schemas, and can contain text that the author of the value
//! must not see.
//!
//! Deliberately omitted: remote and file references, dynamic references, anchors, nested `$id`.

mod choice_renderer;
mod complexity;
mod error_renderer;
mod integer_normalizer;
mod reference_resolver;
mod schema_validator;
mod formatter;

use std::fmt;

use envelope::SchemaProblem;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use self::error_renderer::ErrorRenderer;
pub(crate) use self::formatter::found as describe_value;
pub(crate) use self::integer_normalizer::normalize_integers;

/// Size limit of a compiled pattern. One megabyte is enough for every pattern of a kilobyte without nested counted
/// repetitions, whose size grows exponentially.
const PATTERN_PROGRAM_BYTES: usize = 1 << 20;

/// Largest number of reported errors. A value with more of them is not repaired one by one.
const MAX_PROBLEMS: usize = 64;

/// A schema that has been screened and compiled.
pub struct CompiledSchema {
    /// Kept for the messages: descriptions, known fields, alternatives.
    schema: Value,
    validator: Validator,
}

/// Reason why a schema is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error(
        "`{pointer}` refers to {reference}, outside this schema; copy what it names under `$defs` and write `#/$defs/<name>`"
    )]
    OutsideReference { pointer: String, reference: String },
    #[error("a `$ref` to {reference} leads nowhere in this schema")]
    DanglingReference { reference: String },
    #[error("a `$ref` leads back to itself without going deeper into the value, so no check would ever end")]
    EndlessReference,
    #[error("`{pointer}` changes what references mean; write a plain `$ref` to `#/$defs/<name>` instead")]
    MovedBase { pointer: String },
    #[error("`{pointer}` names {dialect}; use JSON Schema 2020-12 or draft-07, or leave `$schema` out")]
    UnknownDialect { pointer: String, dialect: String },
    #[error("the schema has {what}; at most {limit} are allowed")]
    TooLarge { what: &'static str, limit: usize },
    #[error(
        "the schema's choices multiply: one value would be looked at more than {limit} times; give each alternative its own fields instead of nesting `anyOf` and `oneOf`"
    )]
    TooManyPaths { limit: u64 },
    #[error(
        "the pattern at `{pointer}` is not usable: write a regular expression without look-around and back-references, at most {limit} bytes long and without large counted repetitions"
    )]
    BadPattern { pointer: String, limit: usize },
    #[error("the schema is not JSON Schema at \"{pointer}\": {message}")]
    NotASchema { pointer: String, message: String },
}

impl CompiledSchema {
    /// Screens and compiles a schema. Does no I/O, whatever the schema contains.
    pub fn compile(schema: &Value) -> Result<CompiledSchema, SchemaError> {
        let schema = schema_validator::validate_schema(schema)?;
        complexity::check(&schema)?;
        let validator = jsonschema::options()
            // The screen leaves no external reference, and the default features compile no retriever. Another crate
            // could enable those features, so retrieval is disabled here as well.
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(PATTERN_PROGRAM_BYTES)
                    .dfa_size_limit(PATTERN_PROGRAM_BYTES),
            )
            .build(&schema)
            .map_err(|error| error_renderer::not_a_schema(&error))?;
        Ok(CompiledSchema { schema, validator })
    }

    /// Returns every error of a value, in pointer order; empty if it is valid.
    pub fn validate(&self, value: &Value) -> Vec<SchemaProblem> {
        // A valid value is the common case and must not pay for the messages.
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let renderer = ErrorRenderer { root: &self.schema, value };
        let mut problems = Vec::new();
        for error in self.validator.iter_errors(value) {
            renderer.explain(&error, &mut problems);
        }
        problems
            .sort_by(|a, b| formatter::pointer_order(&a.pointer, &b.pointer).then(a.message.cmp(&b.message)));
        problems.dedup_by(|a, b| a.pointer == b.pointer && a.message == b.message);
        shorten(problems)
    }
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledSchema").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Truncates the list to the size of an answer and adds a note about the rest.
fn shorten(mut problems: Vec<SchemaProblem>) -> Vec<SchemaProblem> {
    if problems.len() > MAX_PROBLEMS {
        let left_out = problems.len() - MAX_PROBLEMS + 1;
        problems.truncate(MAX_PROBLEMS - 1);
        problems.push(SchemaProblem {
            pointer: String::new(),
            message: format!("{left_out} more problems are not listed"),
            hint: Some("fix the listed ones first; the rest often has the same cause".to_owned()),
            from_choice: false,
        });
    }
    problems
}
