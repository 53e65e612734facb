//! File mutations: a short confirmation, with the etag that the next write needs.

pub mod restored;

use std::borrow::Cow;

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::receipt_writer::{DRY_RUN, ReceiptWriter, is_zero, one_line, truncate_line};
use super::{ProjectedResult, Projection, external, project_result};

/// Number of property names in each list.
const MAX_NAMES: usize = 20;
/// Longest property name, in characters.
const MAX_NAME: usize = 60;

/// Report of a change to one file or folder. Only the names need a bound, so complete and bounded form are the same
/// type.
#[derive(Debug, Serialize, Deserialize)]
pub struct FileMutation<'a> {
    pub outcome: MutationOutcome,
    pub path: Cow<'a, str>,
    /// Etag of the current file, or of the expected one in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<Cow<'a, str>>,
    #[serde(flatten)]
    pub facts: MutationFacts<'a>,
    /// True if nothing was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MutationOutcome {
    Created,
    /// The complete content was replaced.
    Replaced,
    /// A part of the content was changed.
    Changed,
    /// It already had the requested state.
    Unchanged,
    Trashed,
    Deleted,
    /// There was nothing to delete.
    NotThere,
}

/// Known facts about the change.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct MutationFacts<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_added: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_removed: Option<u64>,
    /// Number of replaced places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<u64>,
    /// Line of the new text, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// First byte of the new text, and the byte after its last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<PropertyChanges>,
    /// Number of files that were deleted with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash_path: Option<Cow<'a, str>>,
}

/// Property names by change.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyChanges {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<String>,
    /// Number of names that are not listed here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// Bounds the report of a change.
pub fn project(complete: FileMutation<'_>, _with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    let facts = MutationFacts { properties: complete.facts.properties.map(bounded), ..complete.facts };
    project_result(ReceiptFamily::Mutation, &FileMutation { facts, ..complete })
}

fn bounded(properties: PropertyChanges) -> PropertyChanges {
    let mut left_out = 0;
    let mut first = |names: Vec<String>| -> Vec<String> {
        left_out += names.len().saturating_sub(MAX_NAMES) as u64;
        names.into_iter().take(MAX_NAMES).map(|name| truncate_line(&name, MAX_NAME)).collect()
    };
    let PropertyChanges { added, changed, removed, unchanged, .. } = properties;
    let (added, changed) = (first(added), first(changed));
    let (removed, unchanged) = (first(removed), first(unchanged));
    PropertyChanges { added, changed, removed, unchanged, left_out }
}

/// Renders the outcome and the etag. The summary contains everything else that a model needs.
pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    if let Ok(restored) = restored::BoundedRestore::deserialize(result) {
        return restored::render(summary, &restored, budget);
    }
    let Ok(mutation) = FileMutation::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let mut receipt = ReceiptWriter::new(summary);
    if let Some(etag) = &mutation.etag {
        receipt.append(&format!(" (etag {})", one_line(etag)));
    }
    if mutation.dry_run {
        receipt.line(DRY_RUN);
    }
    receipt.finish()
}

#[cfg(test)]
mod tests;
