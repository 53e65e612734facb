//! `vault.rename`: renames or moves a file or a folder and updates the links to it.
//!
//! The call can be cancelled until the move is made. After that it updates the links to the end.

use std::sync::Arc;

use envelope::{
    CallId, Concurrency, EntryKind, Failure, Fault, ReceiptFamily, SideEffect, VaultChange, VaultPath,
};
use receipts::families::links::renamed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, PathScope, ProjectedResult, Projection};

use super::apply_rename::apply_rename;
use super::collision::CollisionStrategy;
use super::expected_etag::ExpectedEtag;
use super::first_names::{MAX_NAMED, first_names};
use super::link_updates::{LinkUpdates, find_link_updates};
use super::maybe_vault::MaybeVault;
use super::path_arg::PathArg;
use super::reconcile::ReconcileEvidence;
use super::write_tool::{WriteTool, WriteToolDecl};
use crate::file_layer::{
    ChangeStep, IoContext, NameReservation, NamedEntry, PathState, PreparedSteps, Vault, WrittenFile,
};
use notes::links::{FileMoves, StaleLink};

pub(crate) struct RenamePath;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File or folder, with extension.
    from_path: PathArg,
    /// New path, with extension.
    to_path: PathArg,
    /// If the new path is taken; `create-unique` takes the next free name.
    #[serde(default)]
    collision_strategy: CollisionStrategy,
    /// Keep the links of other notes to it.
    #[serde(default = "default_true")]
    update_links: bool,
    /// Fail unless the etag is this.
    #[serde(default)]
    expected_etag: Option<ExpectedEtag>,
    /// Only report.
    #[serde(default)]
    dry_run: bool,
}

fn default_true() -> bool {
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
    not_updated: Vec<BrokenLinkEntry>,
    /// Files that mention the old name in a way that is not rewritten, such as the formulas of a base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mentioned_in: Vec<String>,
    /// Files whose links still have the old name, because they could not be written; at most 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_written: Vec<UnwrittenEntry>,
    /// Notes and canvases that may link to it, but have more than 16 MiB, are no UTF-8 text or have a path that is too
    /// long, and folders (with a `/` at the end) that cannot be opened or named; at most 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<String>,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// A link that could not be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct BrokenLinkEntry {
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
pub(crate) struct UnwrittenEntry {
    /// Where it is.
    path: String,
    /// Why it could not be written.
    reason: String,
}

/// Entry that a call will move, and the link updates.
pub(crate) struct RenamePlan {
    from: VaultPath,
    to: VaultPath,
    etag: Option<String>,
    links: Arc<LinkUpdates>,
    /// Prevents another call from choosing the same free name.
    _free: Option<NameReservation>,
}

impl WriteTool for RenamePath {
    const DECL: WriteToolDecl = WriteToolDecl {
        family: ReceiptFamily::Links,
        // A rename may write any note of the vault.
        concurrency: Concurrency::Serial,
        timeout_ms: 300_000,
        prepares_early: true,
        cancellable: false,
        ..WriteToolDecl::new(
            "vault.rename",
            "Rename or move a file or a folder, and keep the links to it.",
            &[
                SideEffect::RenameFile,
                SideEffect::RenameFolder,
                SideEffect::ModifyFile,
                SideEffect::CreateFolder,
                SideEffect::DeleteFile,
            ],
        )
    };

    type Args = Args;
    type Output = Output;
    type Plan = RenamePlan;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        let (from, to) = (args.from_path.existing()?, args.to_path.get()?);
        if from == to {
            return Err(Fault::new(
                Failure::InvalidArguments,
                format!("`{from}` is both the old and the new path"),
            )
            .hint("give another `toPath`"));
        }
        if to.segments().count() > from.segments().count() && is_below(to, from) {
            return Err(Fault::new(
                Failure::InvalidArguments,
                format!("`{from}` cannot be moved into itself (`{to}`)"),
            )
            .hint("choose a place that is not below it"));
        }
        Ok(())
    }

    fn path_keys(vault: &MaybeVault, args: &Args) -> PathKeys {
        let kind = |path: &PathArg| -> Vec<PathScope> { path.path_scopes(vault) };
        let mut writes = kind(&args.from_path);
        writes.extend(kind(&args.to_path));
        PathKeys { reads: Vec::new(), writes }
    }

    fn preview(args: &Args, plan: Option<&RenamePlan>) -> String {
        let (from, to) = (args.from_path.display(), args.to_path.display());
        match plan {
            Some(plan) if plan.links.links > 0 => format!(
                "Rename {from} to {}, with {} in {}",
                plan.to,
                count_noun(plan.links.links, "link"),
                count_noun(plan.links.files.len() as u64, "file")
            ),
            Some(plan) => format!("Rename {from} to {}", plan.to),
            None => format!("Rename {from} to {to}"),
        }
    }

    fn prepare(
        vault: &Vault,
        call: &CallId,
        args: &Args,
        io: &dyn IoContext,
    ) -> Result<(PreparedSteps, RenamePlan), Fault> {
        prepare(vault, call, args, None, io)
    }

    fn prepare_again(
        vault: &Vault,
        call: &CallId,
        args: &Args,
        first: &RenamePlan,
        io: &dyn IoContext,
    ) -> Result<(PreparedSteps, RenamePlan), Fault> {
        prepare(vault, call, args, Some(&first.links), io)
    }

    fn apply(
        vault: &Vault,
        args: &Args,
        prepared: &PreparedSteps,
        plan: &RenamePlan,
        io: &dyn IoContext,
    ) -> Result<Output, Fault> {
        let made = apply_rename(vault, prepared, &plan.to, &plan.links, io)?;
        let not_written = made.not_written.into_iter().take(MAX_NAMED);
        Ok(Output {
            etag: made.state.map(|state| state.etag()),
            links_updated: Some(made.links),
            files_updated: made.files.len() as u64,
            updated_in: first_paths(made.files.iter()),
            not_updated: not_updated(&made.left),
            not_written: not_written
                .map(|(path, reason)| UnwrittenEntry { path: path.to_string(), reason })
                .collect(),
            ..Self::output(args, plan, None)
        })
    }

    fn output(args: &Args, plan: &RenamePlan, _written: Option<&WrittenFile>) -> Output {
        Output {
            from_path: plan.from.to_string(),
            to_path: plan.to.to_string(),
            etag: plan.etag.clone(),
            links_updated: Some(plan.links.links),
            files_updated: plan.links.files.len() as u64,
            updated_in: first_paths(plan.links.files.iter().map(|file| &file.path)),
            not_updated: not_updated(&plan.links.left),
            mentioned_in: plan.links.mentioned_in.iter().map(VaultPath::to_string).collect(),
            not_written: Vec::new(),
            not_looked_into: first_names(&plan.links.not_looked_into),
            dry_run: args.dry_run,
        }
    }

    fn output_from_evidence(args: &Args, evidence: &ReconcileEvidence) -> Output {
        let moved = evidence.last_move();
        let rewritten: Vec<&str> = evidence.changes.iter().filter_map(rewritten).collect();
        Output {
            from_path: moved.map_or_else(|| args.from_path.display(), |(from, _)| from.to_owned()),
            to_path: moved.map_or_else(|| args.to_path.display(), |(_, to)| to.to_owned()),
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
                format!(", updating {} in {}", count_noun(*links, "link"), count_noun(*files_updated, "file"))
            }
            None => format!(", updating links in {}", count_noun(*files_updated, "file")),
        };
        format!("{done} {from_path} to {to_path}{links}")
    }

    fn incomplete(output: &Output) -> Option<String> {
        let first = output.not_written.first()?;
        let files = match output.not_written.len() {
            1 => "1 file keeps its links".to_owned(),
            number if number < MAX_NAMED => format!("{number} files keep their links"),
            number => format!("{number} or more files keep their links"),
        };
        let from = &output.from_path;
        Some(format!("{files} to {from}: {} could not be written ({})", first.path, first.reason))
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let complete = renamed::RenameReport {
            from_path: &output.from_path,
            to_path: &output.to_path,
            etag: output.etag.as_deref(),
            links_updated: output.links_updated,
            files_updated: output.files_updated,
            updated_in: output.updated_in.iter().map(String::as_str).collect(),
            not_updated: output.not_updated.iter().map(BrokenLinkEntry::as_result).collect(),
            not_written: output.not_written.iter().map(UnwrittenEntry::as_result).collect(),
            mentioned_in: output.mentioned_in.iter().map(String::as_str).collect(),
            not_looked_into: output.not_looked_into.iter().map(String::as_str).collect(),
            dry_run: output.dry_run,
        };
        renamed::project(complete, with)
    }
}

impl BrokenLinkEntry {
    fn as_result(&self) -> renamed::BrokenLink<&str> {
        renamed::BrokenLink { path: &self.path, line: u64::from(self.line), target: &self.target }
    }
}

impl UnwrittenEntry {
    fn as_result(&self) -> renamed::UnwrittenFile<&str> {
        renamed::UnwrittenFile { path: &self.path, reason: &self.reason }
    }
}

/// Returns the steps of a rename. `first` is an earlier scan of the links.
fn prepare(
    vault: &Vault,
    call: &CallId,
    args: &Args,
    first: Option<&Arc<LinkUpdates>>,
    io: &dyn IoContext,
) -> Result<(PreparedSteps, RenamePlan), Fault> {
    let asked = args.from_path.existing()?;
    let source = vault.entry(asked)?.ok_or_else(|| vault.not_found(asked))?;
    let details = ExpectedEtag::details(args.expected_etag.as_ref(), vault, &source, io)?;
    let etag = details.before.map(|state| state.etag());
    let target = resolve_target(vault, call, args, &source, io)?;
    let moves = moved_files(vault, &source, &target.path, io)?;
    let links = match args.update_links {
        true => find_link_updates(vault, FileMoves::new(moves), &source.path, first, io)?,
        false => Arc::default(),
    };
    let mut steps = target.steps;
    let (from, to) = (source.path.clone(), target.path.clone());
    steps.push(ChangeStep::Move { from, to, kind: source.kind, details });
    steps.extend(links.files.iter().map(|file| file.step.clone()));
    let etag = links.etag_of(&target.path).map(str::to_owned).or(etag);
    let plan = RenamePlan { from: source.path, to: target.path, etag, links, _free: target.free };
    Ok((PreparedSteps { steps }, plan))
}

/// Returns the first paths as text.
fn first_paths<'a>(paths: impl Iterator<Item = &'a VaultPath>) -> Vec<String> {
    paths.take(MAX_NAMED).map(VaultPath::to_string).collect()
}

/// Returns the path of a file whose links were rewritten by a change.
fn rewritten(change: &VaultChange) -> Option<&str> {
    match change {
        VaultChange::FileReplaced { path, .. } => Some(path),
        VaultChange::FileCreated { .. }
        | VaultChange::FileRemoved { .. }
        | VaultChange::FolderCreated { .. }
        | VaultChange::FolderRemoved { .. }
        | VaultChange::Moved { .. } => None,
    }
}

fn not_updated(left: &[(VaultPath, StaleLink)]) -> Vec<BrokenLinkEntry> {
    let named = left.iter().take(MAX_NAMED).map(|(path, left)| BrokenLinkEntry {
        path: path.to_string(),
        line: left.line,
        target: left.target.clone(),
    });
    named.collect()
}

/// Target of a move, with the steps that come before it.
struct RenameTarget {
    path: VaultPath,
    steps: Vec<ChangeStep>,
    free: Option<NameReservation>,
}

fn resolve_target(
    vault: &Vault,
    call: &CallId,
    args: &Args,
    source: &NamedEntry,
    io: &dyn IoContext,
) -> Result<RenameTarget, Fault> {
    let asked = args.to_path.get()?;
    let mut free = None;
    let mut steps = Vec::new();
    // `Note` may become `note`, which collides only with itself. The folder above it cannot be respelled by that.
    let respelled = asked.folded() == source.path.folded() && asked.parent() == source.path.parent();
    let path = match args.collision_strategy {
        _ if respelled => asked.clone(),
        CollisionStrategy::Error => vault.would_create(asked, io)?,
        CollisionStrategy::CreateUnique => {
            let name = vault.reserve_name(asked, call)?;
            let path = name.path().clone();
            free = Some(name);
            path
        }
        CollisionStrategy::Overwrite => match vault.entry(asked)? {
            None => vault.would_create(asked, io)?,
            Some(there) => {
                steps.push(removal_of_target(vault, source, &there, io)?);
                there.path
            }
        },
    };
    let resolved = vault.resolve_path(&path, io)?;
    let mut folders: Vec<ChangeStep> =
        resolved.missing_folders.into_iter().map(ChangeStep::create_folder).collect();
    folders.append(&mut steps);
    Ok(RenameTarget { path, steps: folders, free })
}

/// Returns the step that removes the file at the target. It is stored, so it can be restored.
fn removal_of_target(
    vault: &Vault,
    source: &NamedEntry,
    there: &NamedEntry,
    io: &dyn IoContext,
) -> Result<ChangeStep, Fault> {
    let refuse = |why: &str| {
        Err(Fault::new(Failure::Conflict, format!("`{}` already exists, and {why}", there.path))
            .detail("existing", there.path.as_str())
            .hint("choose another path, or move what is there away first"))
    };
    if there.path == source.path {
        return refuse("it is what would be moved, through a link");
    }
    match (source.kind, there.kind) {
        (EntryKind::File, EntryKind::File) => {}
        (_, EntryKind::Folder) => return refuse("a folder is never overwritten"),
        (EntryKind::Folder, EntryKind::File) => return refuse("a folder does not take the place of a file"),
    }
    // The move would fail by it, after the file was removed.
    if let Some(other) = vault.other_spellings(&there.path)?.first() {
        return refuse(&format!("so does `{other}`, which is the same name on many systems"));
    }
    match vault.entry_state(&there.path, io)? {
        PathState::File { state: before, .. } => {
            Ok(ChangeStep::RemoveFile { path: there.path.clone(), before })
        }
        PathState::Missing | PathState::Folder | PathState::Other => refuse("it is a link or a device"),
    }
}

/// Returns every file that gets another path.
fn moved_files(
    vault: &Vault,
    source: &NamedEntry,
    to: &VaultPath,
    io: &dyn IoContext,
) -> Result<Vec<(VaultPath, VaultPath)>, Fault> {
    match source.kind {
        EntryKind::File => Ok(vec![(source.path.clone(), to.clone())]),
        EntryKind::Folder => {
            let prefix = source.path.as_str().len();
            let moved = vault.folder_tree(&source.path, io)?.files.into_iter().map(|from| {
                let rest = from.as_str().get(prefix..).unwrap_or_default();
                let to = VaultPath::parse_escaped(&format!("{to}{rest}"))
                    .map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))?;
                Ok((from, to))
            });
            moved.collect()
        }
    }
}

fn count_noun(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn is_below(path: &VaultPath, folder: &VaultPath) -> bool {
    path.folded().starts_with(&format!("{}/", folder.folded()))
}
