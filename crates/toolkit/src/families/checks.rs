//! What must be true of every receipt, for the tests of the families.

use envelope::{CanonicalResult, CanonicalStatus, Fault};

use super::{Projected, Projection, render};
use crate::preview::tokens;

/// Projects without a place for artifacts.
pub(super) fn projected(
    budget: usize,
    project: impl FnOnce(&mut Projection<'_>) -> Result<Projected, Fault>,
) -> Projected {
    project(&mut Projection::new(budget, None)).unwrap()
}

/// The receipt, once everything is found that must be true of it: it depends on the canonical result as it was
/// written down and on nothing else, holds nothing that acts on a screen, and keeps to its budget but for
/// `slack` tokens.
#[track_caller]
pub(super) fn receipt(summary: &str, projected: &Projected, budget: usize, slack: usize) -> String {
    let canonical = CanonicalResult {
        tool_name: "a.tool".to_owned(),
        status: CanonicalStatus::Success,
        summary_text: summary.to_owned(),
        result: Some(projected.result.clone()),
        error: None,
    };
    let receipt = render(projected.family, &canonical, budget);
    let written = serde_json::to_string(&canonical).unwrap();
    let read: CanonicalResult = serde_json::from_str(&written).unwrap();
    assert_eq!(render(projected.family, &read, budget), receipt);
    assert!(!receipt.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{receipt:?}");
    assert!(!receipt.contains(['\u{202e}', '\u{2028}', '\u{200b}', '\u{feff}']), "{receipt:?}");
    let tokens = tokens::estimate(&receipt);
    assert!(tokens <= budget + slack, "{tokens} tokens for {budget}:\n{receipt}");
    receipt
}

/// The canonical result and the receipt of it, for a golden test.
#[track_caller]
pub(super) fn shown(summary: &str, projected: &Projected, budget: usize) -> String {
    format!("{}\n---\n{}\n", projected.result, receipt(summary, projected, budget, 0))
}
