//! Token counts of an answer, from either wire.

use serde::Deserialize;

use crate::TokenUsage;

/// Parts of a sum. A server that does not count sends `null`, which must not fail a finished answer.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenDetails {
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

/// Input or output: a sum and its parts.
pub(super) type TokenCount = (Option<u64>, Option<TokenDetails>);

pub(super) fn token_usage((input, of_input): TokenCount, (output, of_output): TokenCount) -> TokenUsage {
    TokenUsage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        cached_input_tokens: of_input.and_then(|of| of.cached_tokens).unwrap_or(0),
        reasoning_tokens: of_output.and_then(|of| of.reasoning_tokens).unwrap_or(0),
    }
}
