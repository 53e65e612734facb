//! From a complete output to the two forms of a result: the canonical result, which is bounded and structured, and
//! the receipt, which a model reads.
//!
//! Each family has a projector and a renderer. The *projector* takes the complete output of a tool and makes the
//! typed `result` that fits the budget; the rest is stored as an artifact or can be requested. The *renderer* words
//! the receipt from the canonical result alone, so that a record can be shown again without the tool. Both are
//! deterministic for the same output, budget and artifacts.
//!
//! The outer envelope and errors are the same for all families and are made here and in [`failed`].

pub mod command;
mod json_bound;
pub mod editor;
pub mod host_command;
pub mod workspace;
pub mod artifact;
pub mod external;
pub mod failed;
pub mod process_output;
#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod test_support;
pub mod links;
pub mod listing;
pub mod mutation;
mod receipt_writer;
pub mod read;
pub mod search;
pub mod text;
pub mod streams;
pub mod task;
mod not_looked_into;
mod warnings;

use envelope::{CanonicalResult, CanonicalStatus, Failure, Fault, ReceiptFamily};
use serde::Serialize;
use serde_json::Value;

pub(crate) use receipt_writer::one_line;
use toolkit::{ProjectedResult, Projection};

use crate::preview::tokenizer::estimate;
use receipt_writer::entry_budget;

/// Serializes the typed result of a projector.
fn project_result(family: ReceiptFamily, result: &impl Serialize) -> Result<ProjectedResult, Fault> {
    let result = serde_json::to_value(result).map_err(|error| serialization_fault(&error))?;
    Ok(ProjectedResult { family, result, render })
}

/// Tokens of a canonical result besides its `result`: the name of the tool, the status, the summary.
const ENVELOPE_TOKENS: usize = 64;
/// Attempts to fit a result in proportion to its excess. After them the room is halved.
const PROPORTIONAL_ATTEMPTS: usize = 6;

/// A `result` of this many tokens is within any budget: its field names, paths and digests need a part of them.
const LEAST_JSON: usize = 400;

/// Returns the budget of a `result` as JSON.
fn json_budget(budget: usize) -> usize {
    budget.saturating_sub(ENVELOPE_TOKENS).max(LEAST_JSON)
}

/// Returns the tokens of a value as JSON.
fn json_cost(value: &Value) -> usize {
    estimate(&value.to_string())
}

/// Bounds an output, so that neither its receipt nor its canonical result exceeds the budget. `make` bounds it to the
/// tokens of its receipt; field names can make the JSON several times as long, then `make` gets less room. Exceeds the
/// budget only if the output does so without any room.
fn project_within<T: Serialize>(
    family: ReceiptFamily,
    with: &Projection<'_>,
    mut make: impl FnMut(usize) -> T,
) -> Result<ProjectedResult, Fault> {
    let most = json_budget(with.budget());
    let mut room = entry_budget(with.budget());
    for attempt in 1.. {
        let projected = project_result(family, &make(room))?;
        let cost = json_cost(&projected.result);
        if cost <= most || room == 0 {
            return Ok(projected);
        }
        room = match attempt {
            ..=PROPORTIONAL_ATTEMPTS => (room.saturating_mul(most) / cost).min(room - 1),
            _ => room / 2,
        };
    }
    project_result(family, &make(0))
}

/// Returns the fault for a result that cannot be serialized.
fn serialization_fault(error: &serde_json::Error) -> Fault {
    Fault::new(Failure::ResultMappingFailed, format!("the result cannot be serialized: {error}"))
}

/// Renders the receipt from the canonical result, within about `budget` tokens.
pub fn render(family: ReceiptFamily, canonical: &CanonicalResult, budget: usize) -> String {
    match (canonical.status, &canonical.result, &canonical.error) {
        (CanonicalStatus::Success, Some(result), _) => succeeded(family, canonical, result, budget),
        (CanonicalStatus::Error, _, Some(error)) => failed::render(canonical, error, budget),
        // A record that violates the rule between status, result and error still has its summary.
        (CanonicalStatus::Success | CanonicalStatus::Error, _, _) => canonical.summary_text.clone(),
    }
}

fn succeeded(family: ReceiptFamily, canonical: &CanonicalResult, result: &Value, budget: usize) -> String {
    let summary = canonical.summary_text.as_str();
    match family {
        ReceiptFamily::Command => command::render(summary, result, budget),
        ReceiptFamily::Task => task::render(summary, result, budget),
        ReceiptFamily::Artifact => artifact::render(summary, result, budget),
        ReceiptFamily::HostCommand => host_command::render(summary, result, budget),
        ReceiptFamily::Workspace => workspace::render(summary, result, budget),
        ReceiptFamily::Editor => editor::render(summary, result, budget),
        ReceiptFamily::Mutation => mutation::render(summary, result, budget),
        ReceiptFamily::Read => read::render(summary, result, budget),
        ReceiptFamily::Listing => listing::render(summary, result, budget),
        ReceiptFamily::Search => search::render(summary, result, budget),
        ReceiptFamily::Links => links::render(summary, result, budget),
        ReceiptFamily::Text => text::render(summary, result, budget),
        ReceiptFamily::External => external::render(summary, result, budget),
    }
}
