//! Requests for a part of an artifact. `next` in a result is such a request, to be sent back unchanged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lines of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct LineSelection {
    /// First line, from 1.
    #[schemars(range(min = 1))]
    pub start: u64,
    /// How many.
    #[schemars(range(min = 1))]
    pub count: u64,
    /// Its offset, as in `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_byte: Option<u64>,
}

/// Bytes of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ByteSelection {
    /// First byte, from 0.
    pub start: u64,
    /// How many.
    #[schemars(range(min = 1))]
    pub count: u64,
}

/// Lines that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct GrepQuery {
    /// Pattern.
    #[schemars(length(min = 1, max = 10_000))]
    pub pattern: String,
    /// `regex`: Rust syntax.
    #[serde(default, skip_serializing_if = "PatternMode::is_regex")]
    pub mode: PatternMode,
    /// Ignore case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_case: bool,
    /// Lines around each match, up to 100.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 100))]
    pub context: u32,
    /// 1 to 10000.
    #[serde(default = "default_matches")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_matches: u32,
    /// First line to search, from 1.
    #[serde(default = "first_line", skip_serializing_if = "is_first")]
    #[schemars(range(min = 1))]
    pub from_line: u64,
    /// Its offset, as in `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_byte: Option<u64>,
}

/// How a pattern is to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PatternMode {
    #[default]
    Regex,
    Plain,
}

impl PatternMode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "this is how it is called")]
    fn is_regex(&self) -> bool {
        *self == PatternMode::Regex
    }
}

fn default_matches() -> u32 {
    100
}

fn first_line() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "this is how it is called")]
fn is_first(line: &u64) -> bool {
    *line == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "this is how it is called")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Request that continues a slice: the name of a view with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum NextRequest {
    Lines(LineSelection),
    Bytes(ByteSelection),
    Grep(GrepQuery),
}
