//! `vault.createFile`: a new file, complete or not at all.

use envelope::{CallId, Failure, Fault, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolkit::PathKeys;
use toolkit::families::mutation::{self, Facts, Mutation, Outcome};
use toolkit::families::{Projected, Projection};

use super::collision::CollisionStrategy;
use super::evidence::Evidence;
use super::frontmatter;
use super::given_path::GivenPath;
use super::maybe_vault::MaybeVault;
use super::writing::Writer;
use crate::sandbox::{Content, FreeName, Prepared, Seen, Step, Vault, Witness, Written, etag_of};

pub(crate) struct CreateFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File to create, relative to the vault, with `/` between parts and with its extension, such as
    /// `Notes/Idea.md`. Missing folders are created.
    path: GivenPath,
    /// The whole text of the file.
    content: String,
    /// Only create, never replace: an existing file is a CONFLICT. True unless `collisionStrategy` says
    /// something else; false alone means `overwrite`.
    #[serde(default)]
    if_not_exists: Option<bool>,
    /// When the path is taken: `error` fails with CONFLICT, `create-unique` takes the next free name
    /// (`Idea 1.md`), `overwrite` replaces the file. Left out: `error`.
    #[serde(default)]
    collision_strategy: Option<CollisionStrategy>,
    /// Properties to put at the top of the note, as YAML frontmatter. `content` must then not begin with
    /// frontmatter of its own.
    #[serde(default)]
    frontmatter: Option<Map<String, Value>>,
    /// Report what would happen without writing anything.
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
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// What a call is about to write.
pub(crate) struct Draft {
    path: VaultPath,
    created: bool,
    etag: String,
    /// Keeps a free name from being chosen by another call.
    _free: Option<FreeName>,
}

impl Writer for CreateFile {
    const NAME: &'static str = "vault.createFile";
    const SUMMARY: &'static str = "Create a file with the given text, and the folders above it.";
    const SIDE_EFFECTS: &'static [SideEffect] =
        &[SideEffect::CreateFile, SideEffect::CreateFolder, SideEffect::ModifyFile];
    /// A free name is chosen before anyone is asked: what is permitted must be what is written.
    const LOOKS_FIRST: bool = true;

    type Args = Args;
    type Output = Output;
    type Draft = Draft;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        args.path.get()?;
        args.strategy()?;
        args.text().map(drop)
    }

    fn reach(vault: &MaybeVault, args: &Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: args.path.reach(vault) }
    }

    fn preview(args: &Args, draft: Option<&Draft>) -> String {
        let size = args.text().map_or(args.content.len(), |text| text.len());
        let path = draft.map_or_else(|| args.path.shown(), |draft| draft.path.to_string());
        match args.strategy() {
            Ok(CollisionStrategy::Overwrite) => format!("Create or overwrite {path} ({size} bytes)"),
            Ok(CollisionStrategy::CreateUnique) if draft.is_none() => {
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
        witness: &dyn Witness,
    ) -> Result<(Prepared, Draft), Fault> {
        let asked = args.path.get()?;
        let bytes = args.text()?.into_bytes();
        let etag = etag_of(&bytes);
        let content = Content::of(bytes);
        let (path, free) = match args.strategy()? {
            CollisionStrategy::Error => (vault.would_create(asked, witness)?, None),
            CollisionStrategy::CreateUnique => {
                let free = vault.choose_free(asked, call)?;
                (free.path().clone(), Some(free))
            }
            CollisionStrategy::Overwrite => (asked.clone(), None),
        };
        let survey = vault.survey(&path, witness)?;
        let mut steps: Vec<Step> = survey.missing.into_iter().map(Step::making_folder).collect();
        let (step, created) = match survey.seen {
            Seen::File { state: before, .. } => {
                (Step::ReplaceFile { path: survey.path.clone(), before, content, mode: None }, false)
            }
            Seen::Nothing => {
                let path = vault.would_create(&path, witness)?;
                (Step::CreateFile { path, content, mode: None }, true)
            }
            Seen::Folder | Seen::Other => return Err(no_file(&survey.path, &survey.seen)),
        };
        steps.push(step);
        Ok((Prepared { steps }, Draft { path: survey.path, created, etag, _free: free }))
    }

    fn output(args: &Args, draft: &Draft, written: Option<&Written>) -> Output {
        Output {
            path: draft.path.to_string(),
            created: draft.created,
            etag: draft.etag.clone(),
            mtime_ms: written.and_then(|written| written.mtime_ms),
            dry_run: args.dry_run,
        }
    }

    fn found(args: &Args, evidence: &Evidence) -> Output {
        let (path, etag, created) = evidence.last_written(&args.path.shown());
        Output { path, created, etag, mtime_ms: evidence.mtime_ms, dry_run: false }
    }

    fn summary(output: &Output) -> String {
        let Output { path, created, dry_run, .. } = output;
        match (created, dry_run) {
            (true, false) => format!("Created {path}"),
            (false, false) => format!("Overwrote {path}"),
            (true, true) => format!("Would create {path}"),
            (false, true) => format!("Would overwrite {path}"),
        }
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        let mutation = Mutation {
            outcome: if output.created { Outcome::Created } else { Outcome::Replaced },
            path: output.path.as_str().into(),
            etag: Some(output.etag.as_str().into()),
            facts: Facts::default(),
            dry_run: output.dry_run,
        };
        mutation::project(mutation, with)
    }
}

/// Something that cannot be overwritten.
fn no_file(path: &VaultPath, seen: &Seen) -> Fault {
    let what = if *seen == Seen::Folder { "a folder" } else { "a pipe, a device or a dead link" };
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

    /// The file as it will be written.
    fn text(&self) -> Result<String, Fault> {
        match &self.frontmatter {
            Some(properties) if !properties.is_empty() => frontmatter::on_top(properties, &self.content),
            Some(_) | None => Ok(self.content.clone()),
        }
    }
}
