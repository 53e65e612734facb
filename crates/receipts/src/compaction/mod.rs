//! Compaction: shows earlier calls in less detail once a conversation exceeds its budget, in a fixed order.
//!
//! Everything is made from canonical results. A receipt is shown exactly as it was returned or not at all; it is
//! never parsed. No artifact, complete output or storage is read, so a result that was cut once stays cut. The same
//! calls and budget always give the same text.
//!
//! A call is shown at one of four [`DetailLevel`]s. Every level keeps the tool, the status, the summary, all of an
//! error but its details, ids and handles, and the paths of artifacts. [`fields`] classifies the parts of a
//! `result`.
//!
//! Order: all calls of older rounds are trimmed, oldest first; then all are reduced to bare, then to recaps. It
//! stops as soon as the budget holds, so a larger budget never shows less. A level that saves nothing is skipped.
//! The newest rounds stay exact, even if that exceeds the budget; the result says so.

mod cut;
mod fields;
#[cfg(test)]
mod tests;
mod reduce;
mod renderer;

use std::borrow::Cow;

use envelope::{CanonicalResult, ReceiptFamily};
use serde::Serialize;

use crate::preview::tokenizer::estimate;

/// One call with its result.
#[derive(Debug, Clone, Copy)]
pub struct CallEntry<'a> {
    /// One short line: the tool and its arguments.
    pub call: &'a str,
    /// Short name that identifies the call.
    pub id: &'a str,
    pub family: ReceiptFamily,
    pub canonical: &'a CanonicalResult,
    /// Receipt exactly as it was returned.
    pub receipt: &'a str,
}

/// The calls of one turn.
#[derive(Debug, Clone)]
pub struct CallRound<'a> {
    pub calls: Vec<CallEntry<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub struct CompactionRules {
    /// Number of rounds at the end that are never changed.
    pub keep_exact_rounds: usize,
}

/// Level of detail of a call. Each level shows less than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DetailLevel {
    /// The receipt as it was returned.
    Exact,
    /// Rendered again from the canonical result, with its previews cut.
    Trimmed,
    /// No previews: the outcome, ids, handles, artifacts and counts.
    Bare,
    /// One line: the call, its outcome, ids, handles and artifacts.
    Recap,
}

impl DetailLevel {
    pub const ALL: [DetailLevel; 4] =
        [DetailLevel::Exact, DetailLevel::Trimmed, DetailLevel::Bare, DetailLevel::Recap];

    pub const fn name(self) -> &'static str {
        match self {
            DetailLevel::Exact => "exact",
            DetailLevel::Trimmed => "trimmed",
            DetailLevel::Bare => "bare",
            DetailLevel::Recap => "recap",
        }
    }
}

/// A call as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CompactedCall<'a> {
    pub id: &'a str,
    pub level: DetailLevel,
    /// `None` for a recap of anything but a command, which names its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<&'a str>,
    pub text: Cow<'a, str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactedHistory<'a> {
    /// All calls, in order.
    pub entries: Vec<CompactedCall<'a>>,
    /// Their total cost.
    pub tokens: usize,
    /// True if the text could not be made to fit.
    pub over_budget: bool,
}

/// Shows as much of these calls as fits the budget.
pub fn compact<'a>(
    rounds: &[CallRound<'a>],
    budget_tokens: usize,
    rules: &CompactionRules,
) -> CompactedHistory<'a> {
    let entries: Vec<&CallEntry<'a>> = rounds.iter().flat_map(|round| &round.calls).collect();
    let old_rounds = rounds.len().saturating_sub(rules.keep_exact_rounds);
    let old: usize = rounds.iter().take(old_rounds).map(|round| round.calls.len()).sum();
    let mut shown: Vec<CompactedCall<'a>> =
        entries.iter().map(|entry| at_level(DetailLevel::Exact, entry)).collect();
    let mut tokens: usize = shown.iter().map(call_cost).sum();
    let levels = DetailLevel::ALL.into_iter().filter(|level| *level != DetailLevel::Exact);
    let steps = levels.flat_map(|level| (0..old).map(move |index| (level, index)));
    for (level, index) in steps {
        if tokens <= budget_tokens {
            break;
        }
        let (less, before) = (at_level(level, entries[index]), call_cost(&shown[index]));
        // Names and handles can be longer than a short receipt.
        if call_cost(&less) < before {
            tokens = tokens - before + call_cost(&less);
            shown[index] = less;
        }
    }
    CompactedHistory { entries: shown, tokens, over_budget: tokens > budget_tokens }
}

fn at_level<'a>(level: DetailLevel, entry: &CallEntry<'a>) -> CompactedCall<'a> {
    let text = match level {
        DetailLevel::Exact => Cow::Borrowed(entry.receipt),
        DetailLevel::Trimmed | DetailLevel::Bare | DetailLevel::Recap => {
            Cow::Owned(renderer::render_call(level, entry))
        }
    };
    // Without its command, the outcome of a command says little.
    let is_named = level != DetailLevel::Recap || entry.family == ReceiptFamily::Command;
    let call = is_named.then_some(entry.call);
    CompactedCall { id: entry.id, level, call, text }
}

/// Returns the tokens of a shown call, each part with its line end.
fn call_cost(shown: &CompactedCall<'_>) -> usize {
    shown.call.map_or(0, |call| estimate(call) + 1) + estimate(&shown.text) + 1
}
