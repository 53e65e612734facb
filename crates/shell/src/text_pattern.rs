//! Regular expressions of callers, compiled within limits: a search takes time proportional to the text.

use envelope::{Failure, Fault};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// Size limit of a compiled pattern. Only large repetitions of large character classes exceed it.
const PROGRAM_BYTES: usize = 1 << 20;
/// Limit of the tables that are built while searching.
const TABLE_BYTES: usize = 4 << 20;

/// How a pattern is read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PatternOptions {
    /// It is the text itself, not a regular expression.
    pub(crate) plain: bool,
    pub(crate) ignore_case: bool,
}

/// Compiles a pattern. Fails with `invalid_arguments`; `hint` says what to do then.
pub(crate) fn compile_pattern(
    pattern: &str,
    options: PatternOptions,
    hint: &str,
) -> Result<RegexMatcher, Fault> {
    let built = RegexMatcherBuilder::new()
        .fixed_strings(options.plain)
        .case_insensitive(options.ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(PROGRAM_BYTES)
        .dfa_size_limit(TABLE_BYTES)
        .build(pattern);
    built.map_err(|error| {
        // The last line is the message; those above it show the position.
        let message = error.to_string();
        let why = message.lines().next_back().unwrap_or_default().trim_start_matches("error: ");
        Fault::new(Failure::InvalidArguments, format!("the pattern cannot be used: {why}")).hint(hint)
    })
}
