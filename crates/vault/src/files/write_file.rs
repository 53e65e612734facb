//! `vault.writeFile`: overwrites a file or appends to it.

use std::borrow::Cow;

use envelope::{CallId, Failure, Fault, Hash, SideEffect, VaultPath};
use receipts::families::mutation::{self, FileMutation, MutationFacts, MutationOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, ProjectedResult, Projection};

use super::content_arg::ContentEncoding;
use super::expected_etag::ExpectedEtag;
use super::maybe_vault::MaybeVault;
use super::path_arg::PathArg;
use super::reconcile::ReconcileEvidence;
use super::write_tool::{WriteTool, WriteToolDecl};
use crate::file_layer::{
    ChangeStep, FileContent, IoContext, PathState, PreparedSteps, Vault, WrittenFile, etag_of,
};
use notes::lines::LineEnding;

pub(crate) struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File; created if missing.
    path: PathArg,
    /// Exact text.
    content: String,
    /// `base64` for attachments.
    #[serde(default)]
    encoding: ContentEncoding,
    /// Default: `overwrite`.
    #[serde(default)]
    mode: WriteMode,
    /// Fail unless the etag is this.
    #[serde(default)]
    expected_etag: Option<ExpectedEtag>,
    /// Only report.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WriteMode {
    #[default]
    Overwrite,
    Append,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The file as it is spelled on disk.
    path: String,
    /// Hash of the whole content as it is now: 32 hex digits.
    etag: String,
    /// When the file was written, in milliseconds since 1970 UTC. Absent on a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    mtime_ms: Option<i64>,
    /// How many bytes of `content` were written.
    bytes_written: u64,
    /// True when the file was not there before.
    created: bool,
    /// True when the file had this content already, so that nothing was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unchanged: bool,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

pub(crate) struct WritePlan {
    path: VaultPath,
    etag: String,
    created: bool,
    /// Modification time of a file that has the content already.
    unchanged_since: Option<i64>,
}

impl WriteTool for WriteFile {
    const DECL: WriteToolDecl = WriteToolDecl::new(
        "vault.writeFile",
        "Write the whole text of a file, or append to it.",
        &[SideEffect::CreateFile, SideEffect::CreateFolder, SideEffect::ModifyFile],
    );

    type Args = Args;
    type Output = Output;
    type Plan = WritePlan;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        args.path.get()?;
        args.bytes().map(drop)
    }

    fn path_keys(vault: &MaybeVault, args: &Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: args.path.file_scopes(vault) }
    }

    fn preview(args: &Args, _draft: Option<&WritePlan>) -> String {
        let (path, size) = (args.path.display(), args.size());
        match args.mode {
            WriteMode::Overwrite => format!("Write {path} ({size} bytes)"),
            WriteMode::Append => format!("Append {size} bytes to {path}"),
        }
    }

    fn prepare(
        vault: &Vault,
        _call: &CallId,
        args: &Args,
        io: &dyn IoContext,
    ) -> Result<(PreparedSteps, WritePlan), Fault> {
        let resolved = vault.resolve_path(args.path.get()?, io)?;
        let mut steps: Vec<ChangeStep> =
            resolved.missing_folders.iter().cloned().map(ChangeStep::create_folder).collect();
        let mut unchanged_since = None;
        let (step, etag, created) = match &resolved.state {
            PathState::File { state, mtime_ms } => {
                if let Some(expected) = &args.expected_etag {
                    expected.check(&resolved.path, state)?;
                }
                let bytes = match args.mode {
                    WriteMode::Overwrite => args.bytes()?.into_owned(),
                    WriteMode::Append => {
                        let loaded = vault.load(&resolved.path, io)?;
                        if loaded.state.hash != state.hash {
                            return Err(changing(&resolved.path));
                        }
                        let added = match args.encoding {
                            // The line endings of the file are used: two kinds in one file would spoil both.
                            ContentEncoding::Utf8 => {
                                let text = LineEnding::of(loaded.text()?).normalize(&args.content);
                                Cow::Owned(text.into_owned().into_bytes())
                            }
                            ContentEncoding::Base64 => args.bytes()?,
                        };
                        let mut bytes = loaded.bytes;
                        bytes.extend_from_slice(&added);
                        bytes
                    }
                };
                let etag = etag_of(&bytes);
                unchanged_since = (Hash::of(&bytes) == state.hash).then_some(*mtime_ms);
                let content = FileContent::of(bytes);
                let path = resolved.path.clone();
                (ChangeStep::ReplaceFile { path, before: *state, content, mode: None }, etag, false)
            }
            PathState::Missing => {
                if let Some(expected) = &args.expected_etag {
                    return Err(expected.missing(&resolved.path));
                }
                let path = vault.would_create(&resolved.path, io)?;
                let bytes = args.bytes()?;
                let etag = etag_of(&bytes);
                let content = FileContent::of(bytes.into_owned());
                (ChangeStep::CreateFile { path, content, mode: None }, etag, true)
            }
            PathState::Folder | PathState::Other => {
                return Err(Fault::new(
                    Failure::PreconditionFailed,
                    format!("`{}` is a folder, a link to nothing or a device, not a file", resolved.path),
                )
                .hint("name a file"));
            }
        };
        // The same content does not count as a change: a record of it would let an undo write over a later edit.
        if unchanged_since.is_none() {
            steps.push(step);
        }
        Ok((PreparedSteps { steps }, WritePlan { path: resolved.path, etag, created, unchanged_since }))
    }

    fn output(args: &Args, plan: &WritePlan, written: Option<&WrittenFile>) -> Output {
        Output {
            path: plan.path.to_string(),
            etag: plan.etag.clone(),
            mtime_ms: match written {
                Some(written) => written.mtime_ms,
                None => plan.unchanged_since.filter(|_| !args.dry_run),
            },
            bytes_written: if plan.unchanged_since.is_some() { 0 } else { args.size() as u64 },
            created: plan.created,
            unchanged: plan.unchanged_since.is_some(),
            dry_run: args.dry_run,
        }
    }

    fn output_from_evidence(args: &Args, evidence: &ReconcileEvidence) -> Output {
        let (path, etag, created) = evidence.last_written(&args.path.display());
        Output {
            path,
            etag,
            mtime_ms: evidence.mtime_ms,
            bytes_written: args.size() as u64,
            created,
            // A call without a change has no intent, so reconciliation never finds one.
            unchanged: false,
            dry_run: false,
        }
    }

    fn summary(output: &Output) -> String {
        if output.unchanged {
            return format!("{} already holds this", output.path);
        }
        let Output { path, bytes_written, created, dry_run, .. } = output;
        let done = match (created, dry_run) {
            (true, false) => "Created",
            (true, true) => "Would create",
            (false, false) => "Wrote",
            (false, true) => "Would write",
        };
        format!("{done} {path} ({bytes_written} bytes)")
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let mutation = FileMutation {
            outcome: match (output.created, output.unchanged) {
                (true, _) => MutationOutcome::Created,
                (false, true) => MutationOutcome::Unchanged,
                (false, false) => MutationOutcome::Changed,
            },
            path: output.path.as_str().into(),
            etag: Some(output.etag.as_str().into()),
            facts: MutationFacts { bytes_written: Some(output.bytes_written), ..MutationFacts::default() },
            dry_run: output.dry_run,
        };
        mutation::project(mutation, with)
    }
}

impl Args {
    /// Returns the content as bytes.
    fn bytes(&self) -> Result<Cow<'_, [u8]>, Fault> {
        self.encoding.decode(&self.content)
    }

    /// Returns the number of bytes, also of content that is refused.
    fn size(&self) -> usize {
        self.bytes().map_or(self.content.len(), |bytes| bytes.len())
    }
}

/// Returns the error for a file that another program writes during the read.
pub(super) fn changing(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` is being changed by another program"))
        .hint("try again when the other program has finished")
        .retryable(true)
}
