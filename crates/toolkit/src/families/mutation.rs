//! Files that were made, changed or removed: a short confirmation, with the etag that the next write needs.

pub mod restored;

use std::borrow::Cow;

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plain::{DRY_RUN, Receipt, is_zero, one_line, projected, short};
use super::{Projected, Projection, external};

/// Names of properties that a result has of each kind.
const MAX_NAMES: usize = 20;
/// Characters that each of them has.
const MAX_NAME: usize = 60;

/// What became of one file or folder. Complete and bounded look alike: only names can be many.
#[derive(Debug, Serialize, Deserialize)]
pub struct Mutation<'a> {
    pub outcome: Outcome,
    pub path: Cow<'a, str>,
    /// Of the file as it is now, or would be after a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<Cow<'a, str>>,
    #[serde(flatten)]
    pub facts: Facts<'a>,
    /// True when nothing was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Created,
    /// The whole of it is new.
    Replaced,
    /// Some of it is new.
    Changed,
    /// It already was as it should be.
    Unchanged,
    Trashed,
    Deleted,
    /// There was nothing to delete.
    NotThere,
}

/// What is known about the change, as far as it says anything.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Facts<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_added: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_removed: Option<u64>,
    /// How many places were replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<u64>,
    /// Where the new text begins, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// First byte of the new text, and the one after its last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Properties>,
    /// How many files went with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash_path: Option<Cow<'a, str>>,
}

/// Names of properties by what became of them.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Properties {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<String>,
    /// How many names do not stand here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// Writes down what became of a file.
pub fn project(complete: Mutation<'_>, _with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let facts = Facts { properties: complete.facts.properties.map(bounded), ..complete.facts };
    projected(Family::Mutation, &Mutation { facts, ..complete })
}

fn bounded(properties: Properties) -> Properties {
    let mut left_out = 0;
    let mut first = |names: Vec<String>| -> Vec<String> {
        left_out += names.len().saturating_sub(MAX_NAMES) as u64;
        names.into_iter().take(MAX_NAMES).map(|name| short(&name, MAX_NAME)).collect()
    };
    let Properties { added, changed, removed, unchanged, .. } = properties;
    let (added, changed) = (first(added), first(changed));
    let (removed, unchanged) = (first(removed), first(unchanged));
    Properties { added, changed, removed, unchanged, left_out }
}

/// The outcome and the etag. Everything else that a model needs is in the summary.
pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    if let Ok(restored) = restored::Shown::deserialize(result) {
        return restored::render(summary, &restored, budget);
    }
    let Ok(mutation) = Mutation::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let mut receipt = Receipt::new(summary);
    if let Some(etag) = &mutation.etag {
        receipt.add(&format!(" (etag {})", one_line(etag)));
    }
    if mutation.dry_run {
        receipt.line(DRY_RUN);
    }
    receipt.done()
}

#[cfg(test)]
mod tests;
