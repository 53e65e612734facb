//! The length of receipts: the budget of the family, the policy's override, and the client's wish.

use std::collections::BTreeMap;

use envelope::ReceiptFamily;
use serde::{Deserialize, Serialize};

/// Budgets of receipts, in tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptLimits {
    /// The largest budget that a client can ask for.
    pub max_tokens: u32,
    /// Overrides of the default budget, by family.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budgets: BTreeMap<ReceiptFamily, u32>,
}

impl Default for ReceiptLimits {
    fn default() -> ReceiptLimits {
        ReceiptLimits { max_tokens: 20_000, budgets: BTreeMap::new() }
    }
}

impl ReceiptLimits {
    /// The smallest budget in which a receipt can still name its outcome.
    pub const MIN_TOKENS: u32 = 50;

    /// Returns the budget of a receipt of this family, given the client's wish.
    pub fn budget(&self, family: ReceiptFamily, wanted: Option<u32>) -> usize {
        let usual = self.budgets.get(&family).copied().unwrap_or(family.default_budget());
        wanted.unwrap_or(usual).min(self.max_tokens).max(ReceiptLimits::MIN_TOKENS) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use envelope::ReceiptFamily;

    use super::ReceiptLimits;

    // Conformance: result 5.6
    //     Each family owns its budget; policy and caller can change it within limits.
    //     In: envelope/family.rs, engine/receipt_limits.rs
    #[test]
    fn a_caller_gets_what_it_wants_within_the_policy() {
        let budgets = BTreeMap::from([(ReceiptFamily::Command, 300)]);
        let receipts = ReceiptLimits { max_tokens: 1_000, budgets };
        assert_eq!(receipts.budget(ReceiptFamily::Command, None), 300);
        assert_eq!(receipts.budget(ReceiptFamily::Command, Some(700)), 700);
        assert_eq!(receipts.budget(ReceiptFamily::Command, Some(7_000)), 1_000);
        assert_eq!(receipts.budget(ReceiptFamily::Command, Some(0)), 50);
        assert_eq!(receipts.budget(ReceiptFamily::Mutation, None), 500);
    }
}
