//! `vault.createFile`: creates a file, completely or not at all.

use std::borrow::Cow;

use envelope::{CallId, Failure, Fault, Hash, SideEffect, VaultPath};
use receipts::families::mutation::{self, FileMutation, MutationFacts, MutationOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolkit::{PathKeys, ProjectedResult, Projection};

use super::collision::CollisionStrategy;
use super::content_arg::ContentEncoding;
use super::frontmatter;
use super::maybe_vault::MaybeVault;
use super::path_arg::PathArg;
use super::reconcile::ReconcileEvidence;
use super::write_tool::{WriteTool, WriteToolDecl};
use crate::file_layer::{
    ChangeStep, FileContent, IoContext, NameReservation, PathState, PreparedSteps, Vault, WrittenFile,
    etag_of,
};

pub(crate) struct CreateFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Path in the vault with `/` and extension, such as `Notes/Idea.md`.
    path: PathArg,
    /// Whole text, or bytes.
    content: String,
    /// `base64` for attachments.
    #[serde(default)]
    encoding: ContentEncoding,
    /// False alone means `overwrite`.
    #[serde(default)]
    if_not_exists: Option<bool>,
    /// If the path is taken; `create-unique` takes the next free name.
    #[serde(default)]
    collision_strategy: Option<CollisionStrategy>,
    /// Properties to put at the top.
    #[serde(default)]
    frontmatter: Option<Map<String, Value>>,
    /// Only report.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The file that was written; differs from the asked path when a free name was taken.
    path: String,
    /// False when an existing file was replaced.
    created: bool,
    /// Hash of the content: 32 hex digits.
    etag: String,
    /// When the file was written, in milliseconds since 1970 UTC. Absent on a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    mtime_ms: Option<i64>,
    /// True when the file had this content already, so that nothing was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unchanged: bool,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// File that a call will write.
pub(crate) struct CreatePlan {
    path: VaultPath,
    created: bool,
    etag: String,
    /// Modification time of a file that has the content already.
    unchanged_since: Option<i64>,
    /// Prevents another call from choosing the same free name.
    _free: Option<NameReservation>,
}

impl WriteTool for CreateFile {
    const DECL: WriteToolDecl = WriteToolDecl {
        // A free name is chosen before approval, so that the approved path is the one that is written.
        prepares_early: true,
        ..WriteToolDecl::new(
            "vault.createFile",
            "Create a file with the given text, and the folders above it.",
            &[SideEffect::CreateFile, SideEffect::CreateFolder, SideEffect::ModifyFile],
        )
    };

    type Args = Args;
    type Output = Output;
    type Plan = CreatePlan;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        args.path.get()?;
        args.strategy()?;
        args.bytes().map(drop)
    }

    fn path_keys(vault: &MaybeVault, args: &Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: args.path.path_scopes(vault) }
    }

    fn preview(args: &Args, plan: Option<&CreatePlan>) -> String {
        let size = args.bytes().map_or(args.content.len(), |bytes| bytes.len());
        let path = plan.map_or_else(|| args.path.display(), |plan| plan.path.to_string());
        match args.strategy() {
            Ok(CollisionStrategy::Overwrite) => format!("Create or overwrite {path} ({size} bytes)"),
            Ok(CollisionStrategy::CreateUnique) if plan.is_none() => {
                format!("Create {path}, or the next free name ({size} bytes)")
            }
            Ok(CollisionStrategy::Error | CollisionStrategy::CreateUnique) | Err(_) => {
                format!("Create {path} ({size} bytes)")
            }
        }
    }

    fn prepare(
        vault: &Vault,
        call: &CallId,
        args: &Args,
        io: &dyn IoContext,
    ) -> Result<(PreparedSteps, CreatePlan), Fault> {
        let asked = args.path.get()?;
        let bytes = args.bytes()?.into_owned();
        let etag = etag_of(&bytes);
        let hash = Hash::of(&bytes);
        let content = FileContent::of(bytes);
        let (path, free) = match args.strategy()? {
            CollisionStrategy::Error => (vault.would_create(asked, io)?, None),
            CollisionStrategy::CreateUnique => {
                let free = vault.reserve_name(asked, call)?;
                (free.path().clone(), Some(free))
            }
            CollisionStrategy::Overwrite => (asked.clone(), None),
        };
        let resolved = vault.resolve_path(&path, io)?;
        let mut steps: Vec<ChangeStep> =
            resolved.missing_folders.into_iter().map(ChangeStep::create_folder).collect();
        let mut unchanged_since = None;
        let (step, created) = match resolved.state {
            PathState::File { state: before, mtime_ms } => {
                unchanged_since = (hash == before.hash).then_some(mtime_ms);
                (ChangeStep::ReplaceFile { path: resolved.path.clone(), before, content, mode: None }, false)
            }
            PathState::Missing => {
                let path = vault.would_create(&path, io)?;
                (ChangeStep::CreateFile { path, content, mode: None }, true)
            }
            PathState::Folder | PathState::Other => return Err(no_file(&resolved.path, &resolved.state)),
        };
        if unchanged_since.is_none() {
            steps.push(step);
        }
        let plan = CreatePlan { path: resolved.path, created, etag, unchanged_since, _free: free };
        Ok((PreparedSteps { steps }, plan))
    }

    fn output(args: &Args, plan: &CreatePlan, written: Option<&WrittenFile>) -> Output {
        Output {
            path: plan.path.to_string(),
            created: plan.created,
            etag: plan.etag.clone(),
            mtime_ms: match written {
                Some(written) => written.mtime_ms,
                None => plan.unchanged_since.filter(|_| !args.dry_run),
            },
            unchanged: plan.unchanged_since.is_some(),
            dry_run: args.dry_run,
        }
    }

    fn output_from_evidence(args: &Args, evidence: &ReconcileEvidence) -> Output {
        let (path, etag, created) = evidence.last_written(&args.path.display());
        Output { path, created, etag, mtime_ms: evidence.mtime_ms, unchanged: false, dry_run: false }
    }

    fn summary(output: &Output) -> String {
        let Output { path, created, dry_run, .. } = output;
        if output.unchanged {
            return format!("{path} already holds this");
        }
        match (created, dry_run) {
            (true, false) => format!("Created {path}"),
            (false, false) => format!("Overwrote {path}"),
            (true, true) => format!("Would create {path}"),
            (false, true) => format!("Would overwrite {path}"),
        }
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let mutation = FileMutation {
            outcome: match (output.created, output.unchanged) {
                (true, _) => MutationOutcome::Created,
                (false, true) => MutationOutcome::Unchanged,
                (false, false) => MutationOutcome::Replaced,
            },
            path: output.path.as_str().into(),
            etag: Some(output.etag.as_str().into()),
            facts: MutationFacts::default(),
            dry_run: output.dry_run,
        };
        mutation::project(mutation, with)
    }
}

/// Returns the error for an entry that cannot be overwritten.
fn no_file(path: &VaultPath, seen: &PathState) -> Fault {
    let what = if *seen == PathState::Folder { "a folder" } else { "a pipe, a device or a dead link" };
    Fault::new(Failure::PreconditionFailed, format!("`{path}` is {what}, not a file"))
        .hint("choose another path")
}

impl Args {
    fn strategy(&self) -> Result<CollisionStrategy, Fault> {
        match (self.collision_strategy, self.if_not_exists) {
            (Some(CollisionStrategy::Overwrite), Some(true)) => Err(Fault::new(
                Failure::InvalidArguments,
                "ifNotExists: true and collisionStrategy: \"overwrite\" contradict each other",
            )
            .hint("leave out ifNotExists to overwrite, or leave out collisionStrategy to only create")),
            (Some(strategy), _) => Ok(strategy),
            (None, Some(false)) => Ok(CollisionStrategy::Overwrite),
            (None, Some(true) | None) => Ok(CollisionStrategy::Error),
        }
    }

    /// Returns the content of the file, with frontmatter.
    fn bytes(&self) -> Result<Cow<'_, [u8]>, Fault> {
        match (&self.frontmatter, self.encoding) {
            (Some(properties), ContentEncoding::Utf8) if !properties.is_empty() => {
                frontmatter::on_top(properties, &self.content).map(|text| Cow::Owned(text.into_bytes()))
            }
            (Some(properties), ContentEncoding::Base64) if !properties.is_empty() => Err(Fault::new(
                Failure::InvalidArguments,
                "`frontmatter` goes on top of text, and `content` is base64",
            )
            .hint("leave out `frontmatter`, or give `content` as text")),
            (Some(_) | None, encoding) => encoding.decode(&self.content),
        }
    }
}
