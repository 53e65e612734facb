//! Receipts are shorter than the JSON that they stand for, and say as much.
//!
//! The share of the tokens depends on the content. A result that consists of fields needs less than half. The output of a
//! command is shown whole as far as its budget goes, and folded only beyond. A note that is read can only lose what is
//! around its text.

#[path = "../../benches/receipts/corpus/mod.rs"]
mod corpus;
#[path = "../../benches/receipts/foreign.rs"]
mod foreign;
#[path = "../../benches/receipts/measure.rs"]
mod measure;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use envelope::ReceiptFamily;
use measure::{ReceiptSizes, ReceiptTokenCounts, TokenScale, percent};

/// The most that the receipts of each family may have of the tokens of compact JSON, in percent: what they have,
/// and a little room for a better word.
const SHARES: [(&str, f64); 14] = [
    ("artifact", 72.0),
    ("command", 80.0),
    ("editor", 38.0),
    ("external", 60.0),
    ("failure", 49.0),
    ("host_command", 41.0),
    ("links", 50.0),
    ("listing", 46.0),
    ("mutation", 41.0),
    ("read", 92.0),
    ("search", 54.0),
    ("task", 51.0),
    ("text", 39.0),
    ("workspace", 36.0),
];
const OF_ALL: f64 = 71.5;

/// All cases, weighed once: to count takes longer than to map.
fn weighed() -> &'static [ReceiptSizes] {
    static WEIGHED: LazyLock<Vec<ReceiptSizes>> = LazyLock::new(|| {
        let scale = TokenScale::new();
        corpus::all().iter().map(|case| scale.weigh(case)).collect()
    });
    &WEIGHED
}

fn sum<'a>(cases: impl Iterator<Item = &'a ReceiptSizes>) -> ReceiptTokenCounts {
    let mut sum = ReceiptTokenCounts::default();
    cases.for_each(|case| sum.add(&case.tokens));
    sum
}

// Conformance: result 1.2
#[test]
fn every_fact_is_said() {
    for case in weighed() {
        assert!(case.missing.is_empty(), "{}: {:?} in\n{}", case.name, case.missing, case.receipt);
    }
}

// Conformance: result 1.2
#[test]
fn no_family_takes_more_of_its_json_than_it_has_to() {
    let cases = weighed();
    for (family, most) in SHARES {
        let ReceiptTokenCounts { receipt, compact, .. } =
            sum(cases.iter().filter(|case| case.family == family));
        let share = percent(receipt, compact);
        assert!(share <= most, "{family}: {receipt} of {compact} tokens, {share:.1} %");
    }
    let all = sum(cases.iter());
    let share = percent(all.receipt, all.compact);
    assert!(share <= OF_ALL, "{} of {} tokens, {share:.1} %", all.receipt, all.compact);
    let estimated = percent(all.estimated, all.receipt);
    assert!((95.0..=105.0).contains(&estimated), "the estimate is {estimated:.1} % of the count");
}

#[test]
fn every_receipt_is_shorter_than_its_json_and_keeps_to_its_budget() {
    for case in weighed() {
        let ReceiptTokenCounts { receipt, compact, .. } = case.tokens;
        assert!(receipt < compact, "{}: {receipt} of {compact} tokens", case.name);
        // Budgets are kept by an estimate.
        let most = case.budget.map_or(usize::MAX, |budget| budget + budget / 10);
        assert!(receipt <= most, "{}: {receipt} tokens for {:?}", case.name, case.budget);
    }
}

#[test]
fn every_family_has_its_cases() {
    let cases = weighed();
    let told: BTreeSet<&str> = cases.iter().map(|case| case.family).collect();
    let mut families: BTreeSet<&str> = ReceiptFamily::ALL.iter().map(|family| family.name()).collect();
    families.insert("failure");
    assert_eq!(told, families);
    assert_eq!(SHARES.map(|(family, _)| family).into_iter().collect::<BTreeSet<_>>(), families);
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "two cases have one name");
    assert!(cases.len() >= 48, "{}", cases.len());
}
