//! `vault.rename`: another name or place for a file or a folder, with every link to it kept.
//!
//! It can be stopped as long as it only looks. Once the move is made, its links are finished.

use std::sync::Arc;

use envelope::{CallId, Change, Concurrency, EntryKind, Failure, Family, Fault, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::families::links::renamed;
use toolkit::families::{Projected, Projection};
use toolkit::{PathKeys, Reach};

use super::collision::CollisionStrategy;
use super::evidence::Evidence;
use super::expected_etag::ExpectedEtag;
use super::given_path::GivenPath;
use super::maybe_vault::MaybeVault;
use super::relink::{Relinked, relink};
use super::rename_made::make;
use super::writing::Writer;
use crate::links::{LeftBehind, Moves};
use crate::sandbox::{FreeName, Named, Prepared, Seen, Step, Vault, Witness, Written};

/// Links that could not be kept are named up to this many.
const MAX_NAMED: usize = 100;

pub(crate) struct Rename;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File or folder to rename or move, relative to the vault, with its extension.
    from_path: GivenPath,
    /// Its new path, relative to the vault, with its extension. Missing folders above it are created.
    to_path: GivenPath,
    /// When the new path is taken: `error` fails with CONFLICT, `create-unique` takes the next free name,
    /// `overwrite` replaces the file there (never a folder). Left out: `error`.
    #[serde(default)]
    collision_strategy: CollisionStrategy,
    /// Rewrite the links of other notes so that they lead to the new place: wikilinks, embeds, Markdown
    /// links, links in properties and files on a canvas. Left out: true.
    #[serde(default = "yes")]
    update_links: bool,
    /// Rename only if the file still has this etag; anything else is a CONFLICT. For files only.
    #[serde(default)]
    expected_etag: Option<ExpectedEtag>,
    /// Report what would happen without changing anything.
    #[serde(default)]
    dry_run: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// Where it was, as it was spelled on disk.
    from_path: String,
    /// Where it is now; differs from the asked path when a free name was taken.
    to_path: String,
    /// Hash of the content of a file after the move: 32 hex digits. Absent for a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    etag: Option<String>,
    /// How many links were rewritten. Absent when the call was found to have happened after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    links_updated: Option<u64>,
    /// How many files these links are in.
    files_updated: u64,
    /// These files, where they are now; at most 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    updated_in: Vec<String>,
    /// Links that lead nowhere now, because the new name cannot be written as a link of their kind; at most
    /// 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_updated: Vec<NotUpdated>,
    /// Files that mention the old name in a way that is not rewritten, such as the formulas of a base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mentioned_in: Vec<String>,
    /// Files whose links still have the old name, because they could not be written; at most 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_written: Vec<NotWritten>,
    /// Notes and canvases that may link to it, but have more than 16 MiB or are no UTF-8 text; at most 100 of
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<String>,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// A link that could not be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NotUpdated {
    /// The file that holds the link.
    path: String,
    /// The line of the link, counted from 1.
    line: u32,
    /// What the link names.
    target: String,
}

/// A file that keeps its old links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NotWritten {
    /// Where it is.
    path: String,
    /// Why it could not be written.
    reason: String,
}

/// What is about to move, and which links with it.
pub(crate) struct Draft {
    from: VaultPath,
    to: VaultPath,
    etag: Option<String>,
    links: Arc<Relinked>,
    /// Keeps a free name from being chosen by another call.
    _free: Option<FreeName>,
}

impl Writer for Rename {
    const NAME: &'static str = "vault.rename";
    const SUMMARY: &'static str = "Rename or move a file or a folder, and keep the links to it.";
    const FAMILY: Family = Family::Links;
    const SIDE_EFFECTS: &'static [SideEffect] = &[
        SideEffect::RenameFile,
        SideEffect::RenameFolder,
        SideEffect::ModifyFile,
        SideEffect::CreateFolder,
        SideEffect::DeleteFile,
    ];
    /// It may write any note of the vault.
    const CONCURRENCY: Concurrency = Concurrency::Serial;
    const TIMEOUT_MS: u64 = 300_000;
    const LOOKS_FIRST: bool = true;
    const CANCELLABLE: bool = false;

    type Args = Args;
    type Output = Output;
    type Draft = Draft;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        let (from, to) = (args.from_path.get()?, args.to_path.get()?);
        if from == to {
            return Err(Fault::new(
                Failure::InvalidArguments,
                format!("`{from}` is both the old and the new path"),
            )
            .hint("give another `toPath`"));
        }
        if to.segments().count() > from.segments().count() && below(to, from) {
            return Err(Fault::new(
                Failure::InvalidArguments,
                format!("`{from}` cannot be moved into itself (`{to}`)"),
            )
            .hint("choose a place that is not below it"));
        }
        Ok(())
    }

    fn reach(vault: &MaybeVault, args: &Args) -> PathKeys {
        let kind = |path: &GivenPath| -> Vec<Reach> { path.reach(vault) };
        let mut writes = kind(&args.from_path);
        writes.extend(kind(&args.to_path));
        PathKeys { reads: Vec::new(), writes }
    }

    fn preview(args: &Args, draft: Option<&Draft>) -> String {
        let (from, to) = (args.from_path.shown(), args.to_path.shown());
        match draft {
            Some(draft) if draft.links.links > 0 => format!(
                "Rename {from} to {}, with {} in {}",
                draft.to,
                counted(draft.links.links, "link"),
                counted(draft.links.files.len() as u64, "file")
            ),
            Some(draft) => format!("Rename {from} to {}", draft.to),
            None => format!("Rename {from} to {to}"),
        }
    }

    fn prepare(
        vault: &Vault,
        call: &CallId,
        args: &Args,
        witness: &dyn Witness,
    ) -> Result<(Prepared, Draft), Fault> {
        prepare(vault, call, args, None, witness)
    }

    fn prepare_again(
        vault: &Vault,
        call: &CallId,
        args: &Args,
        first: &Draft,
        witness: &dyn Witness,
    ) -> Result<(Prepared, Draft), Fault> {
        prepare(vault, call, args, Some(&first.links), witness)
    }

    fn apply(
        vault: &Vault,
        args: &Args,
        prepared: &Prepared,
        draft: &Draft,
        witness: &dyn Witness,
    ) -> Result<Output, Fault> {
        let made = make(vault, prepared, &draft.to, &draft.links, witness)?;
        let not_written = made.not_written.into_iter().take(MAX_NAMED);
        Ok(Output {
            etag: made.state.map(|state| state.etag()),
            links_updated: Some(made.links),
            files_updated: made.files.len() as u64,
            updated_in: named(made.files.iter()),
            not_updated: not_updated(&made.left),
            not_written: not_written
                .map(|(path, reason)| NotWritten { path: path.to_string(), reason })
                .collect(),
            ..Self::output(args, draft, None)
        })
    }

    fn output(args: &Args, draft: &Draft, _written: Option<&Written>) -> Output {
        Output {
            from_path: draft.from.to_string(),
            to_path: draft.to.to_string(),
            etag: draft.etag.clone(),
            links_updated: Some(draft.links.links),
            files_updated: draft.links.files.len() as u64,
            updated_in: named(draft.links.files.iter().map(|file| &file.path)),
            not_updated: not_updated(&draft.links.left),
            mentioned_in: draft.links.mentioned_in.iter().map(VaultPath::to_string).collect(),
            not_written: Vec::new(),
            not_looked_into: named(draft.links.not_looked_into.iter()),
            dry_run: args.dry_run,
        }
    }

    fn found(args: &Args, evidence: &Evidence) -> Output {
        let moved = evidence.last_move();
        let rewritten: Vec<&str> = evidence.changes.iter().filter_map(rewritten).collect();
        Output {
            from_path: moved.map_or_else(|| args.from_path.shown(), |(from, _)| from.to_owned()),
            to_path: moved.map_or_else(|| args.to_path.shown(), |(_, to)| to.to_owned()),
            etag: None,
            links_updated: None,
            files_updated: rewritten.len() as u64,
            updated_in: rewritten.into_iter().take(MAX_NAMED).map(str::to_owned).collect(),
            not_updated: Vec::new(),
            mentioned_in: Vec::new(),
            not_written: Vec::new(),
            not_looked_into: Vec::new(),
            dry_run: false,
        }
    }

    fn summary(output: &Output) -> String {
        let Output { from_path, to_path, links_updated, files_updated, dry_run, .. } = output;
        let done = if *dry_run { "Would rename" } else { "Renamed" };
        let links = match links_updated {
            Some(0) => String::new(),
            Some(links) => {
                format!(", updating {} in {}", counted(*links, "link"), counted(*files_updated, "file"))
            }
            None => format!(", updating links in {}", counted(*files_updated, "file")),
        };
        format!("{done} {from_path} to {to_path}{links}")
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        let complete = renamed::Renamed {
            from_path: &output.from_path,
            to_path: &output.to_path,
            etag: output.etag.as_deref(),
            links_updated: output.links_updated,
            files_updated: output.files_updated,
            updated_in: output.updated_in.iter().map(String::as_str).collect(),
            not_updated: output.not_updated.iter().map(NotUpdated::told).collect(),
            not_written: output.not_written.iter().map(NotWritten::told).collect(),
            mentioned_in: output.mentioned_in.iter().map(String::as_str).collect(),
            not_looked_into: output.not_looked_into.iter().map(String::as_str).collect(),
            dry_run: output.dry_run,
        };
        renamed::project(complete, with)
    }
}

impl NotUpdated {
    fn told(&self) -> renamed::Left<&str> {
        renamed::Left { path: &self.path, line: u64::from(self.line), target: &self.target }
    }
}

impl NotWritten {
    fn told(&self) -> renamed::NotWritten<&str> {
        renamed::NotWritten { path: &self.path, reason: &self.reason }
    }
}

/// The steps of a rename; `first` is what was found out about the links before.
fn prepare(
    vault: &Vault,
    call: &CallId,
    args: &Args,
    first: Option<&Arc<Relinked>>,
    witness: &dyn Witness,
) -> Result<(Prepared, Draft), Fault> {
    let asked = args.from_path.get()?;
    let source = vault.entry(asked)?.ok_or_else(|| vault.not_found(asked))?;
    let baggage = ExpectedEtag::baggage(args.expected_etag.as_ref(), vault, &source, witness)?;
    let etag = baggage.before.map(|state| state.etag());
    let target = target(vault, call, args, &source, witness)?;
    let moves = moves(vault, &source, &target.path, witness)?;
    let links = match args.update_links {
        true => relink(vault, Moves::new(moves), &source.path, first, witness)?,
        false => Arc::default(),
    };
    let mut steps = target.steps;
    let (from, to) = (source.path.clone(), target.path.clone());
    steps.push(Step::Move { from, to, kind: source.kind, baggage });
    steps.extend(links.files.iter().map(|file| file.step.clone()));
    let etag = links.etag_of(&target.path).map(str::to_owned).or(etag);
    let draft = Draft { from: source.path, to: target.path, etag, links, _free: target.free };
    Ok((Prepared { steps }, draft))
}

/// The first of them, as text.
fn named<'a>(paths: impl Iterator<Item = &'a VaultPath>) -> Vec<String> {
    paths.take(MAX_NAMED).map(VaultPath::to_string).collect()
}

/// The file whose links were written anew, if that is what the change did.
fn rewritten(change: &Change) -> Option<&str> {
    match change {
        Change::FileReplaced { path, .. } => Some(path),
        Change::FileCreated { .. }
        | Change::FileRemoved { .. }
        | Change::FolderCreated { .. }
        | Change::FolderRemoved { .. }
        | Change::Moved { .. } => None,
    }
}

fn not_updated(left: &[(VaultPath, LeftBehind)]) -> Vec<NotUpdated> {
    let named = left.iter().take(MAX_NAMED).map(|(path, left)| NotUpdated {
        path: path.to_string(),
        line: left.line,
        target: left.target.clone(),
    });
    named.collect()
}

/// Where something goes, and what has to be done there first.
struct Target {
    path: VaultPath,
    steps: Vec<Step>,
    free: Option<FreeName>,
}

fn target(
    vault: &Vault,
    call: &CallId,
    args: &Args,
    source: &Named,
    witness: &dyn Witness,
) -> Result<Target, Fault> {
    let asked = args.to_path.get()?;
    let mut free = None;
    let mut steps = Vec::new();
    // `Note` may become `note`: its only twin is itself. A folder above it cannot be spelled anew on the way.
    let respelled = asked.folded() == source.path.folded() && asked.parent() == source.path.parent();
    let path = match args.collision_strategy {
        _ if respelled => asked.clone(),
        CollisionStrategy::Error => vault.would_create(asked, witness)?,
        CollisionStrategy::CreateUnique => {
            let name = vault.choose_free(asked, call)?;
            let path = name.path().clone();
            free = Some(name);
            path
        }
        CollisionStrategy::Overwrite => match vault.entry(asked)? {
            None => vault.would_create(asked, witness)?,
            Some(there) => {
                steps.push(overwritten(vault, source, &there, witness)?);
                there.path
            }
        },
    };
    let survey = vault.survey(&path, witness)?;
    let mut folders: Vec<Step> = survey.missing.into_iter().map(Step::making_folder).collect();
    folders.append(&mut steps);
    Ok(Target { path, steps: folders, free })
}

/// The file at the target goes, and can be brought back.
fn overwritten(vault: &Vault, source: &Named, there: &Named, witness: &dyn Witness) -> Result<Step, Fault> {
    let refuse = |why: &str| {
        Err(Fault::new(Failure::Conflict, format!("`{}` already exists, and {why}", there.path))
            .detail("existing", there.path.as_str())
            .hint("choose another path, or move what is there away first"))
    };
    match (source.kind, there.kind) {
        (EntryKind::File, EntryKind::File) => {}
        (_, EntryKind::Folder) => return refuse("a folder is never overwritten"),
        (EntryKind::Folder, EntryKind::File) => return refuse("a folder does not take the place of a file"),
    }
    match vault.survey_entry(&there.path, witness)? {
        Seen::File { state: before, .. } => Ok(Step::RemoveFile { path: there.path.clone(), before }),
        Seen::Nothing | Seen::Folder | Seen::Other => refuse("it is a link or a device"),
    }
}

/// Every file that has another path afterwards.
fn moves(
    vault: &Vault,
    source: &Named,
    to: &VaultPath,
    witness: &dyn Witness,
) -> Result<Vec<(VaultPath, VaultPath)>, Fault> {
    match source.kind {
        EntryKind::File => Ok(vec![(source.path.clone(), to.clone())]),
        EntryKind::Folder => {
            let prefix = source.path.as_str().len();
            let moved = vault.tree(&source.path, witness)?.files.into_iter().map(|from| {
                let rest = from.as_str().get(prefix..).unwrap_or_default();
                let to = VaultPath::parse(&format!("{to}{rest}"))
                    .map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))?;
                Ok((from, to))
            });
            moved.collect()
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn below(path: &VaultPath, folder: &VaultPath) -> bool {
    path.folded().starts_with(&format!("{}/", folder.folded()))
}
