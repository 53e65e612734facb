//! The calls of Tollgate's own tools in one answer, for the next turn of the model: older ones are shown in less detail
//! once all of them exceed their budget.
//!
//! What a model called stays as it is; only the outputs become shorter, in the fixed order of
//! [`receipts::compaction`]. They are made from canonical results, never from a text that was shown before.

use envelope::{CanonicalResult, ReceiptFamily};
use receipts::compaction::{CallEntry, CallRound, CompactionRules, DetailLevel, compact};

/// Turns at the end whose outputs are never shortened.
const EXACT_TURNS: usize = 2;
/// Characters of a call in the line that names it.
const CALL_CHARS: usize = 200;

/// The recorded result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOutcome {
    pub family: ReceiptFamily,
    pub canonical: CanonicalResult,
}

struct PastCall {
    turn: u32,
    id: String,
    call: String,
    receipt: String,
    outcome: CallOutcome,
}

/// The calls of one answer, in order.
#[derive(Default)]
pub(super) struct CallHistory(Vec<PastCall>);

impl CallHistory {
    pub(super) fn add(&mut self, turn: u32, id: &str, call: &str, receipt: &str, outcome: CallOutcome) {
        self.0.push(PastCall {
            turn,
            id: id.to_owned(),
            call: call.chars().take(CALL_CHARS).collect(),
            receipt: receipt.to_owned(),
            outcome,
        });
    }

    /// Returns the ids of the calls whose output has to be shorter within `tokens`, with their new outputs.
    pub(super) fn shortened(&self, tokens: usize) -> Vec<(&str, String)> {
        let rounds: Vec<CallRound<'_>> = self
            .0
            .chunk_by(|a, b| a.turn == b.turn)
            .map(|calls| CallRound { calls: calls.iter().map(PastCall::entry).collect() })
            .collect();
        let shown = compact(&rounds, tokens, &CompactionRules { keep_exact_rounds: EXACT_TURNS });
        let shorter = shown.entries.into_iter().filter(|shown| shown.level != DetailLevel::Exact);
        shorter.map(|shown| (shown.id, shown.text.into_owned())).collect()
    }
}

impl PastCall {
    fn entry(&self) -> CallEntry<'_> {
        CallEntry {
            call: &self.call,
            id: &self.id,
            family: self.outcome.family,
            canonical: &self.outcome.canonical,
            receipt: &self.receipt,
        }
    }
}
