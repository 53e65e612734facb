//! File mutations: a short confirmation, with the etag that the next write needs.

pub mod restored;

use std::borrow::Cow;

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::receipt_writer::{DRY_RUN, ReceiptWriter, is_zero, one_line, take_within, truncate_line};
use super::{ProjectedResult, Projection, external, project_within};

/// Number of property names in each list.
const MAX_NAMES: usize = 20;
/// Longest property name, in characters.
const MAX_NAME: usize = 60;

/// Report of a change to one file or folder. Only the names need a bound, so complete and bounded form are the same
/// type.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
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
    /// True if names, or parts of them, are missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// Bounds the report of a change.
pub fn project(complete: FileMutation<'_>, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    project_within(ReceiptFamily::Mutation, with, |room| {
        let properties = complete.facts.properties.as_ref().map(|properties| bounded(properties, room));
        FileMutation { facts: MutationFacts { properties, ..complete.facts.clone() }, ..complete.clone() }
    })
}

fn bounded(properties: &PropertyChanges, mut room: usize) -> PropertyChanges {
    let (mut left_out, mut truncated) = (0, false);
    let mut first = |names: &[String]| -> Vec<String> {
        let shown: Vec<String> =
            names.iter().take(MAX_NAMES).map(|name| truncate_line(name, MAX_NAME)).collect();
        let kept = take_within(shown, &mut room, String::clone);
        left_out += (names.len() - kept.len()) as u64;
        truncated |=
            kept.iter().zip(names).any(|(kept, name)| name.chars().count() > MAX_NAME && kept != name);
        kept
    };
    let (added, changed) = (first(&properties.added), first(&properties.changed));
    let (removed, unchanged) = (first(&properties.removed), first(&properties.unchanged));
    PropertyChanges { added, changed, removed, unchanged, left_out, truncated: truncated || left_out > 0 }
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
