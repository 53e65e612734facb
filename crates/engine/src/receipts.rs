//! How long receipts may be: each family's own budget, what the policy makes of it, what the caller wants.

use std::collections::BTreeMap;

use envelope::Family;
use serde::{Deserialize, Serialize};

/// Budgets in tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipts {
    /// The most that a caller may ask for.
    pub max_tokens: u32,
    /// Families that have another budget than their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budgets: BTreeMap<Family, u32>,
}

impl Default for Receipts {
    fn default() -> Receipts {
        Receipts { max_tokens: 20_000, budgets: BTreeMap::new() }
    }
}

impl Receipts {
    /// Below this a receipt could not even name its outcome.
    pub const LEAST: u32 = 50;

    /// What a receipt of this family may have, given what the caller wants.
    pub fn budget(&self, family: Family, wanted: Option<u32>) -> usize {
        let usual = self.budgets.get(&family).copied().unwrap_or(family.default_budget());
        wanted.unwrap_or(usual).min(self.max_tokens).max(Receipts::LEAST) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use envelope::Family;

    use super::Receipts;

    #[test]
    fn a_caller_gets_what_it_wants_within_the_policy() {
        let budgets = BTreeMap::from([(Family::Command, 300)]);
        let receipts = Receipts { max_tokens: 1_000, budgets };
        assert_eq!(receipts.budget(Family::Command, None), 300);
        assert_eq!(receipts.budget(Family::Command, Some(700)), 700);
        assert_eq!(receipts.budget(Family::Command, Some(7_000)), 1_000);
        assert_eq!(receipts.budget(Family::Command, Some(0)), 50);
        assert_eq!(receipts.budget(Family::Mutation, None), 500);
    }
}
