//! `vault.writeFile`: the whole of a file anew, or more at its end.

use envelope::{CallId, Failure, Fault, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::PathKeys;
use toolkit::families::mutation::{self, Facts, Mutation, Outcome};
use toolkit::families::{Projected, Projection};

use super::evidence::Evidence;
use super::expected_etag::ExpectedEtag;
use super::given_path::GivenPath;
use super::maybe_vault::MaybeVault;
use super::writing::Writer;
use crate::edit::lines::LineEnding;
use crate::sandbox::{Content, Prepared, Seen, Step, Vault, Witness, Written, etag_of};

pub(crate) struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File to write, relative to the vault, with `/` between parts and with its extension. It is created,
    /// with missing folders above it, if it is not there.
    path: GivenPath,
    /// The text to write. Nothing is added to it, no newline either; appended lines end as those of the file do.
    content: String,
    /// `overwrite` puts the content in the place of the whole file, `append` adds it at the end. Left out:
    /// `overwrite`.
    #[serde(default)]
    mode: Mode,
    /// Write only if the file still has this etag, as an earlier read or write answered it; anything else,
    /// also a file that is gone, is a CONFLICT.
    #[serde(default)]
    expected_etag: Option<ExpectedEtag>,
    /// Report what would happen without writing anything.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
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
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

pub(crate) struct Draft {
    path: VaultPath,
    etag: String,
    created: bool,
}

impl Writer for WriteFile {
    const NAME: &'static str = "vault.writeFile";
    const SUMMARY: &'static str = "Write the whole text of a file, or append to it.";
    const SIDE_EFFECTS: &'static [SideEffect] =
        &[SideEffect::CreateFile, SideEffect::CreateFolder, SideEffect::ModifyFile];

    type Args = Args;
    type Output = Output;
    type Draft = Draft;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        args.path.get().map(drop)
    }

    fn reach(vault: &MaybeVault, args: &Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: args.path.reach_file(vault) }
    }

    fn preview(args: &Args, _draft: Option<&Draft>) -> String {
        let (path, size) = (args.path.shown(), args.content.len());
        match args.mode {
            Mode::Overwrite => format!("Write {path} ({size} bytes)"),
            Mode::Append => format!("Append {size} bytes to {path}"),
        }
    }

    fn prepare(
        vault: &Vault,
        _call: &CallId,
        args: &Args,
        witness: &dyn Witness,
    ) -> Result<(Prepared, Draft), Fault> {
        let survey = vault.survey(args.path.get()?, witness)?;
        let mut steps: Vec<Step> = survey.missing.iter().cloned().map(Step::making_folder).collect();
        let (step, etag, created) = match &survey.seen {
            Seen::File { state, .. } => {
                if let Some(expected) = &args.expected_etag {
                    expected.check(&survey.path, state)?;
                }
                let bytes = match args.mode {
                    Mode::Overwrite => args.content.clone().into_bytes(),
                    Mode::Append => {
                        let loaded = vault.load(&survey.path, witness)?;
                        if loaded.state.hash != state.hash {
                            return Err(changing(&survey.path));
                        }
                        // Its own line endings go on; two encodings in one file would spoil both.
                        let content = LineEnding::of(loaded.text()?).applied(&args.content).into_owned();
                        let mut bytes = loaded.bytes;
                        bytes.extend_from_slice(content.as_bytes());
                        bytes
                    }
                };
                let etag = etag_of(&bytes);
                let content = Content::of(bytes);
                let path = survey.path.clone();
                (Step::ReplaceFile { path, before: *state, content, mode: None }, etag, false)
            }
            Seen::Nothing => {
                if let Some(expected) = &args.expected_etag {
                    return Err(expected.missing(&survey.path));
                }
                let path = vault.would_create(&survey.path, witness)?;
                let content = Content::of(args.content.as_bytes());
                (Step::CreateFile { path, content, mode: None }, etag_of(args.content.as_bytes()), true)
            }
            Seen::Folder | Seen::Other => {
                return Err(Fault::new(
                    Failure::PreconditionFailed,
                    format!("`{}` is a folder, a link to nothing or a device, not a file", survey.path),
                )
                .hint("name a file"));
            }
        };
        steps.push(step);
        Ok((Prepared { steps }, Draft { path: survey.path, etag, created }))
    }

    fn output(args: &Args, draft: &Draft, written: Option<&Written>) -> Output {
        Output {
            path: draft.path.to_string(),
            etag: draft.etag.clone(),
            mtime_ms: written.and_then(|written| written.mtime_ms),
            bytes_written: args.content.len() as u64,
            created: draft.created,
            dry_run: args.dry_run,
        }
    }

    fn found(args: &Args, evidence: &Evidence) -> Output {
        let (path, etag, created) = evidence.last_written(&args.path.shown());
        Output {
            path,
            etag,
            mtime_ms: evidence.mtime_ms,
            bytes_written: args.content.len() as u64,
            created,
            dry_run: false,
        }
    }

    fn summary(output: &Output) -> String {
        let Output { path, bytes_written, created, dry_run, .. } = output;
        let done = match (created, dry_run) {
            (true, false) => "Created",
            (true, true) => "Would create",
            (false, false) => "Wrote",
            (false, true) => "Would write",
        };
        format!("{done} {path} ({bytes_written} bytes)")
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        let mutation = Mutation {
            outcome: if output.created { Outcome::Created } else { Outcome::Changed },
            path: output.path.as_str().into(),
            etag: Some(output.etag.as_str().into()),
            facts: Facts { bytes_written: Some(output.bytes_written), ..Facts::default() },
            dry_run: output.dry_run,
        };
        mutation::project(mutation, with)
    }
}

/// Somebody writes while we read.
pub(super) fn changing(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` is being changed by another program"))
        .hint("try again when the other program has finished")
        .retryable(true)
}
