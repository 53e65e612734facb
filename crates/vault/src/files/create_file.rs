//! `vault.createFile`: a new file, complete or not at all.

mod judge;

use std::sync::OnceLock;

use envelope::{Failure, Fault, Idempotency, Observed, Requirement, Risk, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolkit::{PathKeys, Reach, Reconciled, Tool, ToolCx};

use self::judge::judge;
use super::before::{observed, report_folders};
use super::blocking::{blocking, finding_out};
use super::frontmatter;
use super::given_path::GivenPath;
use super::maybe_vault::MaybeVault;
use crate::sandbox::{Change, FreeName, Seen, Vault, Witness, Written, etag_of};

pub(crate) struct CreateFile {
    pub(crate) vault: MaybeVault,
}

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
    /// The free name of `create-unique`, once it is chosen. Not part of what is sent.
    #[serde(skip)]
    chosen: OnceLock<FreeName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CollisionStrategy {
    Error,
    CreateUnique,
    Overwrite,
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

impl Tool for CreateFile {
    const NAME: &'static str = "vault.createFile";
    const SUMMARY: &'static str = "Create a file with the given text, and the folders above it.";
    const CATEGORY: &'static str = "vault";
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] =
        &[SideEffect::CreateFile, SideEffect::CreateFolder, SideEffect::ModifyFile];
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];

    type Args = Args;
    type Output = Output;

    async fn validate(&self, cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        args.text()?;
        self.target(cx, args).await.map(drop)
    }

    fn paths(&self, args: &Args) -> PathKeys {
        let mut writes = args.path.reach(&self.vault);
        writes.extend(self.free_name(args).map(Reach::Path).filter(|free| !writes.contains(free)));
        PathKeys { reads: Vec::new(), writes }
    }

    fn preview(&self, args: &Args) -> String {
        let size = args.text().map_or(args.content.len(), |text| text.len());
        let path = args.chosen.get().map_or_else(|| args.path.shown(), |chosen| chosen.path().to_string());
        match args.strategy() {
            Ok(CollisionStrategy::Overwrite) => format!("Create or overwrite {path} ({size} bytes)"),
            Ok(CollisionStrategy::CreateUnique) if args.chosen.get().is_none() => {
                format!("Create {path}, or the next free name ({size} bytes)")
            }
            Ok(CollisionStrategy::Error | CollisionStrategy::CreateUnique) | Err(_) => {
                format!("Create {path} ({size} bytes)")
            }
        }
    }

    async fn observe(&self, cx: &ToolCx, args: &Args) -> Vec<Observed> {
        let (Ok(vault), Ok(path)) = (self.vault.get(), self.target(cx, args).await) else {
            return Vec::new();
        };
        blocking(cx, move |witness| vault.survey(&path, witness)).await.map_or_else(|_| Vec::new(), observed)
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let path = self.target(cx, &args).await?;
        let strategy = args.strategy()?;
        let text = args.text()?;
        let dry_run = args.dry_run;
        let vault = self.vault.get()?;
        let written = blocking(cx, move |witness| {
            let bytes = text.as_bytes();
            match (strategy, args.chosen.get()) {
                _ if dry_run => foreseen(&vault, &path, strategy, bytes, witness),
                (CollisionStrategy::CreateUnique, Some(name)) => vault.create_chosen(name, bytes, witness),
                (CollisionStrategy::CreateUnique, None) | (CollisionStrategy::Error, _) => {
                    vault.create(&path, bytes, witness)
                }
                (CollisionStrategy::Overwrite, _) => vault.overwrite(&path, bytes, witness),
            }
        })
        .await?;
        Ok(Output {
            path: written.path.to_string(),
            created: written.created,
            etag: written.etag,
            mtime_ms: written.mtime_ms,
            dry_run,
        })
    }

    async fn reconcile(&self, cx: &ToolCx, args: &Args, before: &[Observed]) -> Reconciled<Output> {
        if args.dry_run {
            return Reconciled::DidNot;
        }
        let unknown = |why: &str| Reconciled::Unknown { why: why.to_owned() };
        let (Ok(strategy), Ok(text), [folders @ .., file]) = (args.strategy(), args.text(), before) else {
            return unknown("what was there before the call is not recorded");
        };
        let Ok(path) = VaultPath::parse(&file.path) else {
            return unknown("the recorded path cannot be read");
        };
        let Ok(vault) = self.vault.get() else {
            return unknown("no vault is open");
        };
        let (folders, file) = (folders.to_vec(), file.clone());
        let found = finding_out(cx, move |witness| {
            report_folders(&vault, &folders, witness)?;
            let now = vault.survey(&path, witness)?;
            // A link that was put there since is not what the call wrote, wherever it leads.
            let seen = if now.path == path { now.seen } else { Seen::Other };
            let verdict = judge(strategy, &file, seen, etag_of(text.as_bytes()));
            if let Reconciled::Happened(output) = &verdict {
                witness.saw(match file.etag {
                    None => Change::FileCreated { path },
                    Some(before_etag) => {
                        Change::FileReplaced { path, before_etag, after_etag: output.etag.clone() }
                    }
                });
            }
            Ok(verdict)
        });
        found.await.unwrap_or_else(|fault| Reconciled::Unknown { why: fault.message })
    }

    fn summary(&self, output: &Output) -> String {
        let Output { path, created, dry_run, .. } = output;
        match (created, dry_run) {
            (true, false) => format!("Created {path}"),
            (false, false) => format!("Overwrote {path}"),
            (true, true) => format!("Would create {path}"),
            (false, true) => format!("Would overwrite {path}"),
        }
    }

    fn receipt(&self, output: &Output) -> String {
        format!("{} (etag {})", self.summary(output), output.etag)
    }
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

impl CreateFile {
    /// The path that the call will write. A free name is chosen once, before anyone is asked, and then
    /// kept: what was permitted is what is written.
    async fn target(&self, cx: &ToolCx, args: &Args) -> Result<VaultPath, Fault> {
        let asked = args.path.get()?.clone();
        match (args.strategy()?, args.chosen.get()) {
            (CollisionStrategy::Error | CollisionStrategy::Overwrite, _) => Ok(asked),
            (CollisionStrategy::CreateUnique, Some(chosen)) => Ok(chosen.path().clone()),
            (CollisionStrategy::CreateUnique, None) => {
                let (vault, call) = (self.vault.get()?, cx.call_id().clone());
                let free = blocking(cx, move |_| vault.choose_free(&asked, &call)).await?;
                Ok(args.chosen.get_or_init(|| free).path().clone())
            }
        }
    }

    /// The free name that was chosen or, before that, the one that would be.
    fn free_name(&self, args: &Args) -> Option<VaultPath> {
        match (args.strategy().ok()?, args.chosen.get()) {
            (CollisionStrategy::Error | CollisionStrategy::Overwrite, _) => None,
            (CollisionStrategy::CreateUnique, Some(chosen)) => Some(chosen.path().clone()),
            (CollisionStrategy::CreateUnique, None) => {
                self.vault.get().ok()?.next_free(args.path.get().ok()?).ok()
            }
        }
    }
}

fn foreseen(
    vault: &Vault,
    path: &VaultPath,
    strategy: CollisionStrategy,
    bytes: &[u8],
    witness: &dyn Witness,
) -> Result<Written, Fault> {
    let (path, created) = match strategy {
        CollisionStrategy::Error => (vault.would_create(path)?, true),
        CollisionStrategy::CreateUnique => (path.clone(), true),
        CollisionStrategy::Overwrite => {
            let (path, before) = vault.would_overwrite(path, witness)?;
            (path, before.is_none())
        }
    };
    Ok(Written { path, etag: etag_of(bytes), mtime_ms: None, created })
}
