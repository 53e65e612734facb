//! What a model is shown of earlier calls once they no longer all fit: less and less, in a fixed order, and
//! never so little that it loses the thread.
//!
//! Everything here is made from canonical results. A receipt is shown exactly as it was returned or not at all; it
//! is never read. Nothing is looked up in artifacts, in the complete output or in any storage, so what was
//! once cut stays cut. The same calls and the same budget always give the same.
//!
//! A call is shown at one of four [`Level`]s. Whatever the level, these survive: the tool, the status, the summary,
//! all of an error but its details, ids and handles, and the paths of artifacts. [`fields`] says which
//! parts of a `result` are what.
//!
//! The order: every call of an older round is trimmed, from the oldest on, before any is laid bare, and all
//! are bare before any becomes a recap. It ends as soon as the budget holds, so a larger budget never shows
//! less. A level that would cost as much as the one before is passed over. The newest rounds stay exact, even if that breaks
//! the budget; the result says so.

mod cut;
mod fields;
#[cfg(test)]
mod laws;
mod reduce;
mod words;

use std::borrow::Cow;

use envelope::{CanonicalResult, Family};
use serde::Serialize;

use crate::preview::tokens::estimate;

/// One call with what it gave.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// One short line: what was called, with what.
    pub call: &'a str,
    /// Short, and enough to speak of the call.
    pub id: &'a str,
    pub family: Family,
    pub canonical: &'a CanonicalResult,
    /// Exactly as it was returned.
    pub receipt: &'a str,
}

/// The calls of one turn.
#[derive(Debug, Clone)]
pub struct Round<'a> {
    pub calls: Vec<Entry<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// So many rounds at the end are never touched.
    pub keep_exact_rounds: usize,
}

/// How much of a call is shown. Each level shows less than the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The receipt as it was returned.
    Exact,
    /// Worded again from the canonical result, with its previews cut short.
    Trimmed,
    /// No previews: the outcome, ids, handles, artifacts and counts.
    Bare,
    /// One line: which call, its outcome, ids, handles and artifacts.
    Recap,
}

impl Level {
    pub const ALL: [Level; 4] = [Level::Exact, Level::Trimmed, Level::Bare, Level::Recap];

    pub const fn name(self) -> &'static str {
        match self {
            Level::Exact => "exact",
            Level::Trimmed => "trimmed",
            Level::Bare => "bare",
            Level::Recap => "recap",
        }
    }
}

/// A call as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown<'a> {
    pub id: &'a str,
    pub level: Level,
    /// None for a recap, which names its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<&'a str>,
    pub text: Cow<'a, str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compacted<'a> {
    /// All calls, in their order.
    pub entries: Vec<Shown<'a>>,
    /// What they cost together.
    pub tokens: usize,
    /// Set when it could not be made to fit.
    pub over_budget: bool,
}

/// Shows as much of these calls as fits.
pub fn compact<'a>(rounds: &[Round<'a>], budget_tokens: usize, rules: &Rules) -> Compacted<'a> {
    let entries: Vec<&Entry<'a>> = rounds.iter().flat_map(|round| &round.calls).collect();
    let old_rounds = rounds.len().saturating_sub(rules.keep_exact_rounds);
    let old: usize = rounds.iter().take(old_rounds).map(|round| round.calls.len()).sum();
    let mut shown: Vec<Shown<'a>> = entries.iter().map(|entry| at(Level::Exact, entry)).collect();
    let mut tokens: usize = shown.iter().map(cost).sum();
    let levels = Level::ALL.into_iter().filter(|level| *level != Level::Exact);
    let steps = levels.flat_map(|level| (0..old).map(move |index| (level, index)));
    for (level, index) in steps {
        if tokens <= budget_tokens {
            break;
        }
        let (less, before) = (at(level, entries[index]), cost(&shown[index]));
        // Names and handles can be longer than a short receipt.
        if cost(&less) < before {
            tokens = tokens - before + cost(&less);
            shown[index] = less;
        }
    }
    Compacted { entries: shown, tokens, over_budget: tokens > budget_tokens }
}

fn at<'a>(level: Level, entry: &Entry<'a>) -> Shown<'a> {
    let text = match level {
        Level::Exact => Cow::Borrowed(entry.receipt),
        Level::Trimmed | Level::Bare | Level::Recap => Cow::Owned(words::of(level, entry)),
    };
    let call = (level != Level::Recap).then_some(entry.call);
    Shown { id: entry.id, level, call, text }
}

/// Tokens of a call as it is shown, each part with its line end.
fn cost(shown: &Shown<'_>) -> usize {
    shown.call.map_or(0, |call| estimate(call) + 1) + estimate(&shown.text) + 1
}
