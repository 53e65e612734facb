//! `vault.patchFile`: inserts, deletes and replaces at given positions of a file.

use envelope::{Failure, Fault};
use receipts::families::mutation::{FileMutation, MutationFacts as Told, MutationOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit_tool::{EditTarget, EditedFile, TextEdit};
use super::expected_etag::ExpectedEtag;
use super::path_arg::PathArg;
use notes::patch::{PatchEdit, apply_patch};

pub(crate) struct PatchFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Text file.
    path: PathArg,
    /// One of both; positions are bytes of the file before the patch.
    patch: FilePatch,
    /// Fail unless the etag is this.
    #[serde(default)]
    expected_etag: Option<ExpectedEtag>,
    /// Only report.
    #[serde(default)]
    dry_run: bool,
}

/// One replaced part, or a list of operations.
// Two fields instead of an enum of two objects: the checker then finds a mistake in one of them while another
// part is still a reference.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct FilePatch {
    /// One change.
    #[serde(default)]
    replace_range: Option<ReplaceRange>,
    /// Changes that do not overlap, made all or none.
    #[serde(default)]
    #[schemars(length(min = 1, max = 10_000))]
    operations: Option<Vec<PatchOperation>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReplaceRange {
    /// First byte, from 0.
    start: u64,
    /// Byte after the last.
    end: u64,
    /// New text.
    text: String,
}

/// One change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "op", deny_unknown_fields, rename_all = "camelCase")]
pub(crate) enum PatchOperation {
    Insert {
        /// Byte to insert before.
        at: u64,
        /// New text.
        text: String,
    },
    Delete {
        /// First byte, from 0.
        start: u64,
        /// Byte after the last.
        end: u64,
    },
    Replace {
        /// First byte, from 0.
        start: u64,
        /// Byte after the last.
        end: u64,
        /// New text.
        text: String,
    },
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The file as it is spelled on disk.
    path: String,
    /// Hash of the whole content as it is now: 32 hex digits.
    etag: String,
    /// When the file was last written, in milliseconds since 1970 UTC. Absent on a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    mtime_ms: Option<i64>,
    /// False when the file already said what the patch makes of it.
    applied: bool,
    /// How many bytes the patch put in. Absent when the call was found to have happened after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    bytes_added: Option<u64>,
    /// How many bytes the patch took out. Absent when the call was found to have happened after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    bytes_removed: Option<u64>,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// How many bytes a patch adds and removes.
pub(crate) struct PatchFacts {
    added: u64,
    removed: u64,
}

impl TextEdit for PatchFile {
    const NAME: &'static str = "vault.patchFile";
    const SUMMARY: &'static str = "Insert, delete and replace text at given positions of a file.";

    type Args = Args;
    type Output = Output;
    type Facts = PatchFacts;

    fn target(args: &Args) -> EditTarget<'_> {
        EditTarget { path: &args.path, expected_etag: args.expected_etag.as_ref(), dry_run: args.dry_run }
    }

    fn check(args: &Args) -> Result<(), Fault> {
        args.patch.operations().map(drop)
    }

    fn preview(args: &Args) -> String {
        let path = args.path.display();
        match &args.patch.operations {
            Some(operations) if operations.len() != 1 => {
                format!("Patch {path} at {} places", operations.len())
            }
            Some(_) | None => format!("Patch {path} at one place"),
        }
    }

    fn edit(args: &Args, text: &str) -> Result<(String, PatchFacts), Fault> {
        let patched = apply_patch(text, &args.patch.operations()?)?;
        let facts = PatchFacts { added: patched.bytes_added as u64, removed: patched.bytes_removed as u64 };
        Ok((patched.text, facts))
    }

    fn output(_args: &Args, file: EditedFile, facts: Option<&PatchFacts>) -> Output {
        let count = |bytes: u64| if file.changed { bytes } else { 0 };
        Output {
            applied: file.changed,
            bytes_added: facts.map(|facts| count(facts.added)),
            bytes_removed: facts.map(|facts| count(facts.removed)),
            path: file.path,
            etag: file.etag,
            mtime_ms: file.mtime_ms,
            dry_run: file.dry_run,
        }
    }

    fn summary(output: &Output) -> String {
        let Output { path, applied, bytes_added, bytes_removed, dry_run, .. } = output;
        let done = match (applied, dry_run) {
            (false, _) => return format!("Left {path} as it is: the patch changes nothing"),
            (true, false) => "Patched",
            (true, true) => "Would patch",
        };
        match (bytes_added, bytes_removed) {
            (Some(added), Some(removed)) => format!("{done} {path} (+{added} -{removed} bytes)"),
            (Some(_) | None, _) => format!("{done} {path}"),
        }
    }

    fn mutation(output: &Output) -> FileMutation<'_> {
        FileMutation {
            outcome: if output.applied { MutationOutcome::Changed } else { MutationOutcome::Unchanged },
            path: output.path.as_str().into(),
            etag: Some(output.etag.as_str().into()),
            facts: Told {
                bytes_added: output.bytes_added,
                bytes_removed: output.bytes_removed,
                ..Told::default()
            },
            dry_run: output.dry_run,
        }
    }
}

impl FilePatch {
    fn operations(&self) -> Result<Vec<PatchEdit>, Fault> {
        match (&self.replace_range, &self.operations) {
            (Some(range), None) => {
                Ok(vec![PatchEdit::Replace { start: range.start, end: range.end, text: range.text.clone() }])
            }
            (None, Some(operations)) => Ok(operations.iter().map(PatchOperation::to_operation).collect()),
            (Some(_), Some(_)) => Err(one_of_two("`patch` has both `replaceRange` and `operations`")),
            (None, None) => Err(one_of_two("`patch` has neither `replaceRange` nor `operations`")),
        }
    }
}

impl PatchOperation {
    fn to_operation(&self) -> PatchEdit {
        match self {
            PatchOperation::Insert { at, text } => PatchEdit::Insert { at: *at, text: text.clone() },
            PatchOperation::Delete { start, end } => PatchEdit::Delete { start: *start, end: *end },
            PatchOperation::Replace { start, end, text } => {
                PatchEdit::Replace { start: *start, end: *end, text: text.clone() }
            }
        }
    }
}

fn one_of_two(message: &str) -> Fault {
    Fault::new(Failure::InvalidArguments, message)
        .hint("give `replaceRange` for one change, or `operations` for several")
}
