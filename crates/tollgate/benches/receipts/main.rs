//! Measures the tokens of receipts, beside the JSON that they replace, and checks that the important facts are in them.
//!
//! The measure is the canonical result of the same call, printed compactly and prettily. The complete output, which no
//! model sees, is a column of its own. Tokens are counted by the vocabulary `o200k_base`.
//!
//! `-- --show` prints each receipt; words after that name the cases.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first surprise"
)]

mod corpus;
mod foreign;
mod measure;

use std::collections::BTreeSet;
use std::process::ExitCode;

use measure::{ReceiptSizes, ReceiptTokenCounts, TokenScale, percent};

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let show = words.iter().any(|word| word == "--show");
    words.retain(|word| word != "--show");
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));

    let scale = TokenScale::new();
    let cases: Vec<ReceiptSizes> =
        corpus::all().iter().filter(|case| wanted(case.name)).map(|case| scale.weigh(case)).collect();
    println!(
        "{:<34} {:>7} {:>7} {:>5} {:>7} {:>5} {:>7} {:>5} {:>6}",
        "case", "receipt", "compact", "%", "pretty", "%", "data", "%", "est. %"
    );
    for case in &cases {
        line(case.name, &case.tokens);
        if show {
            println!("{}\n", case.receipt);
        }
    }
    totals(&cases);
    let missing: Vec<&ReceiptSizes> = cases.iter().filter(|case| !case.missing.is_empty()).collect();
    for case in &missing {
        println!("MISSING in \"{}\": {}\n{}\n", case.name, case.missing.join(" | "), case.receipt);
    }
    if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn totals(cases: &[ReceiptSizes]) {
    println!();
    let families: BTreeSet<&str> = cases.iter().map(|case| case.family).collect();
    for family in families {
        line(family, &sum(cases.iter().filter(|case| case.family == family)));
    }
    line(&format!("all {} cases", cases.len()), &sum(cases.iter()));
    let mut shares: Vec<f64> =
        cases.iter().map(|case| percent(case.tokens.receipt, case.tokens.compact)).collect();
    shares.sort_by(f64::total_cmp);
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    let median = shares.get(shares.len() / 2).copied().unwrap_or_default();
    println!("share of compact JSON by case: {mean:.1} % on average, {median:.1} % in the middle");
    let off = |case: &ReceiptSizes| percent(case.tokens.estimated, case.tokens.receipt) - 100.0;
    let (low, high) =
        cases.iter().map(off).fold((f64::MAX, f64::MIN), |(low, high), off| (low.min(off), high.max(off)));
    println!("the estimate is off by {low:+.1} % to {high:+.1} % for single receipts");
    for case in cases {
        if let Some(budget) = case.budget.filter(|budget| *budget < case.tokens.receipt) {
            println!("{} has {} tokens for {budget}", case.name, case.tokens.receipt);
        }
    }
}

fn sum<'a>(cases: impl Iterator<Item = &'a ReceiptSizes>) -> ReceiptTokenCounts {
    let mut sum = ReceiptTokenCounts::default();
    cases.for_each(|case| sum.add(&case.tokens));
    sum
}

fn line(name: &str, tokens: &ReceiptTokenCounts) {
    let ReceiptTokenCounts { receipt, compact, pretty, data, receipt_of_data, estimated } = *tokens;
    let of_data = match data {
        0 => format!("{:>7} {:>5}", "-", "-"),
        _ => format!("{data:>7} {:>5.1}", percent(receipt_of_data, data)),
    };
    println!(
        "{name:<34} {receipt:>7} {compact:>7} {:>5.1} {pretty:>7} {:>5.1} {of_data} {:>+6.1}",
        percent(receipt, compact),
        percent(receipt, pretty),
        percent(estimated, receipt) - 100.0
    );
}
