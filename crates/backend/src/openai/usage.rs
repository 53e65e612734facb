//! What an answer took, whichever of the two wires counts it: they differ in what they call the sums.

use serde::Deserialize;

use crate::Usage;

/// Parts of a sum. Servers that do not count say `null`, which must not cost a finished answer.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Details {
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

/// One side of an answer: how much, and of what.
pub(super) type Side = (Option<u64>, Option<Details>);

pub(super) fn counted((input, of_input): Side, (output, of_output): Side) -> Usage {
    Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        cached_input_tokens: of_input.and_then(|of| of.cached_tokens).unwrap_or(0),
        reasoning_tokens: of_output.and_then(|of| of.reasoning_tokens).unwrap_or(0),
    }
}
