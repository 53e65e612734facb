//! A JSON Schema that is compiled once and answers in words.
//!
//! A schema may come from a stranger, so it is screened before the validator sees it: nothing it says can
//! make us open a file, call a server, or spend more time than a call is worth. What is wrong with a value
//! is said in our own words, never in the validator's: those are written for people who read schemas, and
//! they can carry text that the author of the value must not see.
//!
//! Absent on purpose: remote and file references, dynamic references, anchors, nested `$id`.

mod choice;
mod effort;
mod explain;
mod integers;
mod limits;
mod reference;
mod screen;
mod words;

use std::fmt;

use envelope::SchemaProblem;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use self::explain::Explainer;
pub(crate) use self::integers::with_integers;

/// Bounds for a compiled pattern. A megabyte holds every pattern that fits a kilobyte of text without
/// counted repetitions of counted repetitions, which are what blows up.
const PATTERN_PROGRAM_BYTES: usize = 1 << 20;

/// A value with more mistakes than this is not repaired one by one.
const MAX_PROBLEMS: usize = 64;

/// A schema that has been screened and compiled.
pub struct CompiledSchema {
    /// Kept for the words: descriptions, known fields, alternatives.
    schema: Value,
    validator: Validator,
}

/// Why a schema is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaRefused {
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
    /// Screens and compiles a schema. Does no I/O, whatever the schema says.
    pub fn compile(schema: &Value) -> Result<CompiledSchema, SchemaRefused> {
        let schema = screen::screen(schema)?;
        effort::check(&schema)?;
        let validator = jsonschema::options()
            // The screen leaves no reference that leads outside, and the retriever of the default features
            // is not compiled in. Another crate can switch those features on, so it is shut here as well.
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(PATTERN_PROGRAM_BYTES)
                    .dfa_size_limit(PATTERN_PROGRAM_BYTES),
            )
            .build(&schema)
            .map_err(|error| explain::not_a_schema(&error))?;
        Ok(CompiledSchema { schema, validator })
    }

    /// Everything that is wrong with a value, in pointer order; empty when it is valid.
    pub fn validate(&self, value: &Value) -> Vec<SchemaProblem> {
        // A valid value is the common case and must not pay for the words.
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let explainer = Explainer { root: &self.schema, value };
        let mut problems = Vec::new();
        for error in self.validator.iter_errors(value) {
            explainer.explain(&error, &mut problems);
        }
        problems.sort_by(|a, b| words::pointer_order(&a.pointer, &b.pointer).then(a.message.cmp(&b.message)));
        problems.dedup_by(|a, b| a.pointer == b.pointer && a.message == b.message);
        shorten(problems)
    }
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledSchema").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Keeps a list that fits an answer, and says what it leaves out.
fn shorten(mut problems: Vec<SchemaProblem>) -> Vec<SchemaProblem> {
    if problems.len() > MAX_PROBLEMS {
        let left_out = problems.len() - MAX_PROBLEMS + 1;
        problems.truncate(MAX_PROBLEMS - 1);
        problems.push(SchemaProblem {
            pointer: String::new(),
            message: format!("{left_out} more problems are not listed"),
            hint: Some("mend the listed ones first; the rest often has the same cause".to_owned()),
            from_choice: false,
        });
    }
    problems
}
