//! From a complete output to the two surfaces of a result: the canonical result, which is bounded and
//! structured, and the receipt, which a model reads.
//!
//! A family is a pair. Its *projector* takes what a tool has to say, without bound, and makes the typed `result`
//! that fits the budget; what does not fit goes to an artifact or can be asked for. Its *renderer* words the
//! receipt from the canonical result alone, so that a record can be shown again without the tool. Both give
//! the same for the same output, budget and artifacts.
//!
//! The outer envelope and every error are the same for all families and are made here and in [`failed`].

pub mod command;
mod bound;
pub mod editor;
pub mod host_command;
pub mod workspace;
pub mod artifact;
pub mod external;
pub mod failed;
pub mod printed;
#[cfg(test)]
mod checks;
pub mod links;
pub mod listing;
pub mod mutation;
mod plain;
mod projection;
pub mod read;
pub mod search;
pub mod text;
pub mod streams;
pub mod task;
mod warnings;

use envelope::{CanonicalResult, CanonicalStatus, Family};
use serde::Serialize;
use serde_json::Value;

pub(crate) use plain::one_line;
pub use projection::Projection;

/// The bounded `result` of a successful call, made by the projector of one family.
#[derive(Debug, Clone, PartialEq)]
pub struct Projected {
    pub(crate) family: Family,
    pub(crate) result: Value,
}

impl Projected {
    /// For the projectors: their typed result as it will stand in the canonical result.
    pub(crate) fn new(family: Family, result: &impl Serialize) -> Result<Projected, serde_json::Error> {
        Ok(Projected { family, result: serde_json::to_value(result)? })
    }
}

/// Words the receipt from the canonical result, within about `budget` tokens.
pub fn render(family: Family, canonical: &CanonicalResult, budget: usize) -> String {
    match (canonical.status, &canonical.result, &canonical.error) {
        (CanonicalStatus::Success, Some(result), _) => succeeded(family, canonical, result, budget),
        (CanonicalStatus::Error, _, Some(error)) => failed::render(canonical, error, budget),
        // A record that breaks the rule between status, result and error still has its summary.
        (CanonicalStatus::Success | CanonicalStatus::Error, _, _) => canonical.summary_text.clone(),
    }
}

fn succeeded(family: Family, canonical: &CanonicalResult, result: &Value, budget: usize) -> String {
    let summary = canonical.summary_text.as_str();
    match family {
        Family::Command => command::render(summary, result, budget),
        Family::Task => task::render(summary, result, budget),
        Family::Artifact => artifact::render(summary, result, budget),
        Family::HostCommand => host_command::render(summary, result, budget),
        Family::Workspace => workspace::render(summary, result, budget),
        Family::Editor => editor::render(summary, result, budget),
        Family::Mutation => mutation::render(summary, result, budget),
        Family::Read => read::render(summary, result, budget),
        Family::Listing => listing::render(summary, result, budget),
        Family::Search => search::render(summary, result, budget),
        Family::Links => links::render(summary, result, budget),
        Family::Text => text::render(summary, result, budget),
        Family::External => external::render(summary, result, budget),
    }
}
