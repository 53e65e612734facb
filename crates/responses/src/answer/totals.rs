//! The counts of an answer over all of its turns.

use backend::TokenUsage;
use sentinel::ParserCounts;

use super::turn_reader::TurnOutcome;

/// The average size of a token, for estimates.
const BYTES_PER_TOKEN: u64 = 4;

/// The counts of one answer.
#[derive(Default)]
pub(super) struct AnswerTotals {
    /// Bytes of the model's output.
    pub(super) output_bytes: u64,
    /// The usage that the model reported, if it did.
    pub(super) usage: Option<TokenUsage>,
    pub(super) counts: ParserCounts,
    pub(super) calls: u64,
    pub(super) server_calls: u64,
    pub(super) turns: u32,
}

impl AnswerTotals {
    /// Adds the counts of a turn.
    pub(super) fn add(&mut self, outcome: &TurnOutcome) {
        self.calls += outcome.client_calls;
        if let Some(usage) = outcome.usage {
            let sum = self.usage.get_or_insert_default();
            sum.input_tokens += usage.input_tokens;
            sum.cached_input_tokens += usage.cached_input_tokens;
            sum.output_tokens += usage.output_tokens;
            sum.reasoning_tokens += usage.reasoning_tokens;
        }
        let (sum, counts) = (&mut self.counts, outcome.counts);
        sum.calls += counts.calls;
        sum.repairs += counts.repairs;
        sum.object_arguments += counts.object_arguments;
        sum.malformed += counts.malformed;
        sum.unknown_names += counts.unknown_names;
        sum.soft_mismatches += counts.soft_mismatches;
        sum.strict_failures += counts.strict_failures;
        sum.quoted += counts.quoted;
    }

    /// Returns an estimate of the tokens of the output so far.
    pub(super) fn output_tokens(&self) -> u64 {
        self.output_bytes / BYTES_PER_TOKEN
    }

    /// Returns the reported usage, or an estimate.
    pub(super) fn usage_or_estimate(&self) -> TokenUsage {
        let estimate = || TokenUsage { output_tokens: self.output_tokens(), ..TokenUsage::default() };
        self.usage.unwrap_or_else(estimate)
    }
}
