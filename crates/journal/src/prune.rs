//! Removes old runs, and the stored objects that no remaining run names.
//!
//! A run can be removed if it has finished, no process has it open, and it is old enough. Runs that are linked by
//! undos and redos are kept or removed together, also with runs of other vaults, and the newest run is always kept.
//! An object is kept as long as its hash occurs anywhere in the files of a remaining run, of any vault, or of another
//! folder beside the runs: a text that merely looks like a reference keeps an object, but no form of reference can be
//! overlooked, not even in a damaged record.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use envelope::{Hash, RunId, Timestamp};
use serde::Serialize;

use crate::disk::{FolderHandle, RunDisk, folder_above};
use crate::error::JournalError;
use crate::log_kind::LogKind;
use crate::object_folder::{OBJECTS, STORED_OBJECTS, StoreLock, object_path};
use crate::pruning::PruningRuns;
use crate::run_header::RUN_FILE;
use crate::run_list::{RunState, RunSummary, list_runs, list_runs_again, run_summary};
use crate::run_log::{io_error, lock};
use crate::runs_folder::RunsFolder;
use crate::summary_cache::SUMMARIES_FILE;
use crate::wal::WAL_FILE;

/// Runs that are removed at a time: each of them is locked meanwhile.
const RUNS_AT_ONCE: usize = 200;
const CHUNK_BYTES: usize = 256 << 10;
const HASH_PREFIX: &[u8] = b"b3:";
const HASH_DIGITS: usize = 64;
/// Runs of this format and newer note which objects they store while they are open.
const NOTES_STORED_OBJECTS: u32 = 2;

/// The runs that a prune may remove. A run must fit every limit that is given.
#[derive(Debug, Clone, Copy)]
pub struct PruneLimits {
    /// Only runs that were created before this time.
    pub created_before: Option<Timestamp>,
    /// Not the newest runs, this many. The newest run is kept in any case.
    pub keep: usize,
}

/// A run that a prune removes.
#[derive(Debug, Clone)]
pub struct PrunedRun {
    pub run: RunSummary,
    /// Size of its files.
    pub bytes: u64,
}

/// Runs and files that a prune would remove.
#[derive(Debug, Default)]
pub struct PrunePlan {
    /// Newest first.
    pub runs: Vec<PrunedRun>,
    /// Runs that an earlier prune had begun to remove when it was killed.
    pub begun: Vec<RunId>,
    /// Runs of this vault that stay.
    pub kept: usize,
    /// Objects that no remaining run names.
    pub objects: u64,
    pub object_bytes: u64,
    /// Set if objects cannot be removed, because this run is being written by an earlier build.
    pub objects_in_use_by: Option<RunId>,
    /// Entries beside the runs that may have a record and cannot be read: links, and names that are not UTF-8, with
    /// replacement characters. They are left alone, and as long as there are any, no object is removed.
    pub unreadable: Vec<String>,
}

/// Runs and files that a prune has removed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PruneReport {
    pub runs: u64,
    pub run_bytes: u64,
    pub objects: u64,
    pub object_bytes: u64,
}

/// Number and size of what a state folder contains.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateSizes {
    pub runs: u64,
    pub run_bytes: u64,
    pub objects: u64,
    pub object_bytes: u64,
}

impl PrunePlan {
    /// Returns whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.begun.is_empty() && self.objects == 0
    }

    pub fn run_bytes(&self) -> u64 {
        self.runs.iter().map(|pruned| pruned.bytes).sum()
    }
}

/// One step of a removal. A prune that ends between any two steps can be completed by another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PruneStep {
    LockRuns,
    WriteList,
    RemoveFile,
    RemoveFolder,
    RemoveSummaries,
    RemoveList,
    RemoveObject,
}

/// Called before each step; an error ends the prune there.
type BeforeStep<'a> = &'a mut dyn FnMut(PruneStep) -> io::Result<()>;

impl RunsFolder {
    /// Returns what a prune would remove. Changes nothing.
    pub fn plan_prune(&self, limits: &PruneLimits) -> Result<PrunePlan, JournalError> {
        let failed = |source| io_error("read", self.path(), source);
        let folders = FoldersOfRecords::list(self.path()).map_err(failed)?;
        let all = folders.without_links(list_runs(self.path())?);
        let chosen = self.removable_runs(&all, limits);
        let begun = self.begun_removals()?;
        let removed: HashSet<&str> =
            chosen.iter().map(|run| &run.run_id).chain(&begun).map(RunId::as_str).collect();
        let mut unnamed = StoredObjects::list(&self.state()).map_err(failed)?;
        for name in folders.names.iter().filter(|name| !removed.contains(name.as_str())) {
            unnamed.keep_named(&self.path().join(name)).map_err(failed)?;
        }
        if !folders.unreadable.is_empty() {
            unnamed.objects.clear();
        }
        let in_use = writer_of_earlier_build(&all);
        if in_use.is_some() {
            unnamed.objects.clear();
        }
        let (objects, object_bytes) = unnamed.totals();
        Ok(PrunePlan {
            kept: all.iter().filter(|run| self.owns(run)).count() - chosen.len(),
            begun,
            objects,
            object_bytes,
            objects_in_use_by: in_use,
            unreadable: folders.unreadable,
            runs: chosen
                .into_iter()
                .map(|run| PrunedRun { bytes: size_of_folder(&run.dir).1, run: run.clone() })
                .collect(),
        })
    }

    /// Removes the runs of the plan, and every object that no remaining run names.
    ///
    /// A run that another process has opened since, or that became linked to a run that stays, is not removed.
    /// Fails with [`JournalError::PruneRunning`] if another prune is running.
    pub fn prune(&self, plan: &PrunePlan, limits: &PruneLimits) -> Result<PruneReport, JournalError> {
        self.prune_in_steps(plan, limits, &mut |_step| Ok(()))
    }

    pub(crate) fn prune_in_steps(
        &self,
        plan: &PrunePlan,
        limits: &PruneLimits,
        before: BeforeStep<'_>,
    ) -> Result<PruneReport, JournalError> {
        let failed = |source| io_error("prune", self.path(), source);
        let runs_dir = FolderHandle::open(self.path()).map_err(failed)?;
        // A run that is linked to others is created under a shared lock, which is held for a moment.
        match lock(&runs_dir) {
            Err(JournalError::Locked { path }) => return Err(JournalError::PruneRunning { path }),
            locked => locked?,
        }
        let mut removal = Removal { state: self.state(), report: PruneReport::default(), before };
        removal.complete_begun(&runs_dir).map_err(failed)?;
        let shown: HashSet<&RunId> = plan.runs.iter().map(|pruned| &pruned.run.run_id).collect();
        // The runs are listed again: an undo may have linked two of them since.
        let folders = FoldersOfRecords::list(self.path()).map_err(failed)?;
        let all = folders.without_links(list_runs(self.path())?);
        let approval = Approval { limits, shown };
        for batch in batches(self.approved_groups(&all, &approval)) {
            self.remove_batch(&mut removal, &runs_dir, &batch, &all, &approval)?;
        }
        self.remove_objects(&mut removal)?;
        runs_dir.unlock().map_err(failed)?;
        Ok(removal.report)
    }

    /// Removes groups of linked runs, each as a whole or not at all. `known` is the list from which the groups were
    /// made. A group stays if one of its runs is in use, or if a run that was created since is linked to it.
    fn remove_batch(
        &self,
        removal: &mut Removal<'_>,
        runs_dir: &FolderHandle,
        groups: &[Vec<RunId>],
        known: &[RunSummary],
        approval: &Approval<'_>,
    ) -> Result<(), JournalError> {
        let failed = |source| io_error("prune", self.path(), source);
        (removal.before)(PruneStep::LockRuns).map_err(failed)?;
        let lock = |group: &Vec<RunId>| Some((group.clone(), lock_all(runs_dir, group)?));
        let mut locked: Vec<(Vec<RunId>, Vec<FolderHandle>)> = groups.iter().filter_map(lock).collect();
        // An undo or a continuation may have been created while earlier runs were removed.
        let folders = FoldersOfRecords::list(self.path()).map_err(failed)?;
        let now = folders.without_links(list_runs_again(self.path(), known)?);
        let approved: HashSet<Vec<RunId>> = self.approved_groups(&now, approval).into_iter().collect();
        locked.retain(|(group, _locks)| approved.contains(group));
        let removed: BTreeSet<RunId> = locked.iter().flat_map(|(group, _locks)| group).cloned().collect();
        if removed.is_empty() {
            return Ok(());
        }
        removal.remove_runs(runs_dir, PruningRuns { runs: removed }).map_err(failed)
    }

    fn remove_objects(&self, removal: &mut Removal<'_>) -> Result<(), JournalError> {
        let failed = |source| io_error("prune", self.path(), source);
        let state = self.state();
        let mut unnamed = StoredObjects::list(&state).map_err(failed)?;
        // Most runs have ended, so they are read before writers have to wait.
        let mut seen = HashMap::new();
        for run in list_runs(self.path())? {
            if matches!(run.state, RunState::Finished(_)) {
                let size = size_of_folder(&run.dir);
                unnamed.keep_named(&run.dir).map_err(failed)?;
                seen.insert(run.run_id.to_string(), size);
            }
        }
        let Some(_alone) = StoreLock::exclude_writers(&state).map_err(failed)? else { return Ok(()) };
        if writer_of_earlier_build(&list_runs(self.path())?).is_some() {
            return Ok(());
        }
        let folders = FoldersOfRecords::list(self.path()).map_err(failed)?;
        for name in &folders.names {
            let dir = self.path().join(name);
            // A run may have been opened and closed again meanwhile; files of a run only grow.
            let is_locked = FolderHandle::open(&dir).and_then(|dir| dir.is_locked()).unwrap_or(true);
            if is_locked || seen.get(name) != Some(&size_of_folder(&dir)) {
                unnamed.keep_named(&dir).map_err(failed)?;
            }
        }
        if !folders.unreadable.is_empty() {
            unnamed.objects.clear();
        }
        removal.remove_unnamed(&unnamed).map_err(failed)
    }

    /// Returns the number and size of the runs of this vault, and of the objects, which vaults may share.
    pub fn sizes(&self) -> Result<StateSizes, JournalError> {
        let mut sizes = StateSizes::default();
        for run in self.list()? {
            sizes.runs += 1;
            sizes.run_bytes += size_of_folder(&run.dir).1;
        }
        let objects =
            StoredObjects::list(&self.state()).map_err(|source| io_error("read", self.path(), source))?;
        (sizes.objects, sizes.object_bytes) = objects.totals();
        Ok(sizes)
    }

    /// Returns the runs that a prune had begun to remove when it was killed.
    pub fn begun_removals(&self) -> Result<Vec<RunId>, JournalError> {
        let begun = PruningRuns::read(self.path()).map_err(|source| io_error("read", self.path(), source))?;
        Ok(begun.runs.into_iter().collect())
    }

    fn state(&self) -> PathBuf {
        folder_above(self.path())
    }

    /// Returns the runs of this vault that fit the limits, newest first. `all` are the runs of every vault, sorted so
    /// too: a run that is linked to one of another vault stays.
    fn removable_runs<'a>(&self, all: &'a [RunSummary], limits: &PruneLimits) -> Vec<&'a RunSummary> {
        let is_old = |run: &RunSummary| limits.created_before.is_none_or(|before| run.created_at < before);
        let groups = linked_groups(all);
        let mut kept: HashSet<usize> = HashSet::new();
        let mut newer = 0;
        for run in all {
            let ended = match run.state {
                RunState::Finished(_) => true,
                // The record of a damaged run is evidence, and nobody knows what it needs.
                RunState::Running | RunState::Interrupted | RunState::Damaged(_) => false,
            };
            let is_own = self.owns(run);
            if !(is_own && ended && newer >= limits.keep.max(1) && is_old(run)) {
                kept.extend(groups.get(&run.run_id));
            }
            newer += usize::from(is_own);
        }
        let stays = |run: &RunSummary| groups.get(&run.run_id).is_none_or(|group| kept.contains(group));
        all.iter().filter(|run| !stays(run)).collect()
    }

    /// Returns the groups of linked runs that can be removed and were shown as a whole. The runs of a group are
    /// sorted, and so are the groups.
    fn approved_groups(&self, all: &[RunSummary], approval: &Approval<'_>) -> Vec<Vec<RunId>> {
        let groups = linked_groups(all);
        let mut members: HashMap<usize, Vec<RunId>> = HashMap::new();
        for run in self.removable_runs(all, approval.limits) {
            if let Some(group) = groups.get(&run.run_id) {
                members.entry(*group).or_default().push(run.run_id.clone());
            }
        }
        let is_shown = |group: &Vec<RunId>| group.iter().all(|run| approval.shown.contains(run));
        let mut approved: Vec<Vec<RunId>> = members.into_values().filter(is_shown).collect();
        approved.iter_mut().for_each(|group| group.sort());
        approved.sort();
        approved
    }
}

/// The limits and runs that the user has agreed to.
struct Approval<'a> {
    limits: &'a PruneLimits,
    /// The runs that were listed in the question.
    shown: HashSet<&'a RunId>,
}

/// Returns the number of the group of each run. Runs are in one group if undos or continuations link them, directly or
/// through other runs.
fn linked_groups(runs: &[RunSummary]) -> HashMap<&RunId, usize> {
    let place: HashMap<&RunId, usize> = runs.iter().enumerate().map(|(at, run)| (&run.run_id, at)).collect();
    let mut parent: Vec<usize> = (0..runs.len()).collect();
    fn root(parent: &mut [usize], mut at: usize) -> usize {
        while let Some(&above) = parent.get(at)
            && above != at
        {
            // Each step halves the path, so that long chains of undos stay cheap.
            let next = parent.get(above).copied().unwrap_or(above);
            if let Some(entry) = parent.get_mut(at) {
                *entry = next;
            }
            at = next;
        }
        at
    }
    // Runs that undo or continue the same run belong together, also if that run is gone.
    let mut gone: HashMap<&RunId, usize> = HashMap::new();
    for (at, run) in runs.iter().enumerate() {
        for linked in run.undoes.iter().chain(&run.continues) {
            let other = place.get(linked).copied().unwrap_or_else(|| *gone.entry(linked).or_insert(at));
            let (one, other) = (root(&mut parent, at), root(&mut parent, other));
            if let Some(entry) = parent.get_mut(one) {
                *entry = other;
            }
        }
    }
    runs.iter().enumerate().map(|(at, run)| (&run.run_id, root(&mut parent, at))).collect()
}

/// Divides groups into batches of at most [`RUNS_AT_ONCE`] runs. A larger group is a batch of its own.
fn batches(groups: Vec<Vec<RunId>>) -> Vec<Vec<Vec<RunId>>> {
    let mut batches: Vec<Vec<Vec<RunId>>> = Vec::new();
    let mut free = 0;
    for group in groups {
        match batches.last_mut().filter(|_| group.len() <= free) {
            Some(batch) => {
                free -= group.len();
                batch.push(group);
            }
            None => {
                free = RUNS_AT_ONCE.saturating_sub(group.len());
                batches.push(vec![group]);
            }
        }
    }
    batches
}

/// Locks all runs of a group. Returns `None` if one of them is in use, or is not finished any more.
fn lock_all(runs_dir: &FolderHandle, group: &[RunId]) -> Option<Vec<FolderHandle>> {
    let mut locks = Vec::new();
    for run in group {
        let finished = run_summary(&runs_dir.path().join(run.as_str()))
            .is_some_and(|summary| matches!(summary.state, RunState::Finished(_)));
        let folder = lock_run(runs_dir, run).ok().filter(|_| finished)?;
        locks.push(folder);
    }
    Some(locks)
}

/// Opens and locks a run. Fails if a process is writing to it.
fn lock_run(runs_dir: &FolderHandle, run: &RunId) -> Result<FolderHandle, JournalError> {
    let failed = |source| io_error("open", &runs_dir.path().join(run.as_str()), source);
    let folder = runs_dir.open_subfolder(run.as_str()).map_err(failed)?;
    lock(&folder)?;
    Ok(folder)
}

/// Returns a running run that does not note the objects that it stores.
fn writer_of_earlier_build(runs: &[RunSummary]) -> Option<RunId> {
    let running = runs.iter().find(|run| {
        let is_old = || {
            crate::RunFolder::open(&run.dir).is_ok_and(|folder| folder.header().format < NOTES_STORED_OBJECTS)
        };
        run.state == RunState::Running && is_old()
    });
    running.map(|run| run.run_id.clone())
}

/// A removal in progress.
struct Removal<'a> {
    state: PathBuf,
    report: PruneReport,
    before: BeforeStep<'a>,
}

impl Removal<'_> {
    /// Completes what a killed prune had begun.
    fn complete_begun(&mut self, runs_dir: &FolderHandle) -> io::Result<()> {
        let begun = PruningRuns::read(runs_dir.path())?;
        if begun.runs.is_empty() {
            return Ok(());
        }
        // The list is a file that others could write, so it does not excuse removing a run that is in use.
        let is_free = |run: &RunId| match lock_run(runs_dir, run) {
            Err(JournalError::Locked { .. }) => false,
            Ok(_) | Err(_) => true,
        };
        let runs = begun.runs.into_iter().filter(is_free).collect();
        self.remove_listed(runs_dir, &PruningRuns { runs })
    }

    fn remove_runs(&mut self, runs_dir: &FolderHandle, runs: PruningRuns) -> io::Result<()> {
        (self.before)(PruneStep::WriteList)?;
        runs.write(&mut FolderHandle::open(&self.state)?)?;
        self.remove_listed(runs_dir, &runs)
    }

    fn remove_listed(&mut self, runs_dir: &FolderHandle, listed: &PruningRuns) -> io::Result<()> {
        for run in &listed.runs {
            let (_files, bytes) = size_of_folder(&runs_dir.path().join(run.as_str()));
            if self.remove_folder(runs_dir, run.as_str())? {
                self.report.runs += 1;
                self.report.run_bytes += bytes;
            }
        }
        // The cached summaries contain the goals of these runs. Those of the others are read again.
        (self.before)(PruneStep::RemoveSummaries)?;
        match runs_dir.duplicate()?.remove(SUMMARIES_FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
        // The list goes last: until then these runs are gone for every reader.
        runs_dir.duplicate()?.sync_names()?;
        (self.before)(PruneStep::RemoveList)?;
        PruningRuns::remove(&mut FolderHandle::open(&self.state)?)
    }

    /// Removes a folder with its content. Returns false if it does not exist.
    fn remove_folder(&mut self, above: &FolderHandle, name: &str) -> io::Result<bool> {
        let mut folder = match above.open_subfolder(name) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        for entry in folder.entry_names()? {
            if folder.is_folder(&entry)? {
                self.remove_folder(&folder, &entry)?;
            } else {
                (self.before)(PruneStep::RemoveFile)?;
                folder.remove(&entry)?;
            }
        }
        (self.before)(PruneStep::RemoveFolder)?;
        above.remove_folder(name)?;
        Ok(true)
    }

    fn remove_unnamed(&mut self, unnamed: &StoredObjects) -> io::Result<()> {
        let objects = FolderHandle::open(&self.state)?.open_subfolder(OBJECTS)?;
        let removed = unnamed.objects.iter().map(|(hash, bytes)| (object_path(hash), *bytes));
        for ((shard, name), bytes) in removed {
            (self.before)(PruneStep::RemoveObject)?;
            objects.open_subfolder(&shard)?.remove(&name)?;
            self.report.objects += 1;
            self.report.object_bytes += bytes;
        }
        // No writer is storing anything, so a temporary file that is still there was left by a crash.
        for (shard, name) in &unnamed.temporary {
            (self.before)(PruneStep::RemoveObject)?;
            let removed = match shard {
                Some(shard) => objects.open_subfolder(shard)?.remove(name),
                None => objects.duplicate()?.remove(name),
            };
            match removed {
                // Its writer has given it its final name since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                done => done?,
            }
        }
        Ok(())
    }
}

/// The folders beside each other in `runs`, whether or not they are runs that can be listed.
struct FoldersOfRecords {
    names: Vec<String>,
    /// See [`PrunePlan::unreadable`].
    unreadable: Vec<String>,
}

impl FoldersOfRecords {
    fn list(runs_dir: &Path) -> io::Result<FoldersOfRecords> {
        let mut found = FoldersOfRecords { names: Vec::new(), unreadable: Vec::new() };
        let folder = match FolderHandle::open(runs_dir) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            Err(error) => return Err(error),
        };
        let (names, others) = folder.entry_names_and_others()?;
        found.unreadable = others;
        for name in names {
            if folder.is_folder(&name)? {
                found.names.push(name);
            } else if folder.is_link(&name)? {
                found.unreadable.push(name);
            }
        }
        Ok(found)
    }

    /// Leaves out the links, which a list shows as damaged runs: a link is no run that could be kept.
    fn without_links(&self, mut runs: Vec<RunSummary>) -> Vec<RunSummary> {
        runs.retain(|run| !self.unreadable.iter().any(|name| name == run.run_id.as_str()));
        runs
    }
}

/// The objects of a state folder that no run is known to name.
#[derive(Debug, Default)]
struct StoredObjects {
    objects: HashMap<Hash, u64>,
    /// Files that were not stored completely: the folder, if it is not the folder of all objects, and the name.
    temporary: Vec<(Option<String>, String)>,
}

impl StoredObjects {
    fn list(state: &Path) -> io::Result<StoredObjects> {
        let mut found = StoredObjects::default();
        let objects = match FolderHandle::open(state).and_then(|state| state.open_subfolder(OBJECTS)) {
            Ok(objects) => objects,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            Err(error) => return Err(error),
        };
        for shard in objects.entry_names()? {
            if !objects.is_folder(&shard)? {
                if is_temporary(&shard) {
                    found.temporary.push((None, shard));
                }
                continue;
            }
            let folder = objects.open_subfolder(&shard)?;
            for name in folder.entry_names()? {
                // Another program's file is left alone.
                let stored =
                    Hash::parse(&format!("b3:{name}")).ok().filter(|hash| object_path(hash).0 == shard);
                match (stored, folder.file_size(&name)?) {
                    (Some(hash), Some(bytes)) => drop(found.objects.insert(hash, bytes)),
                    (None, Some(_)) if is_temporary(&name) => {
                        found.temporary.push((Some(shard.clone()), name));
                    }
                    (Some(_) | None, _) => {}
                }
            }
        }
        Ok(found)
    }

    fn totals(&self) -> (u64, u64) {
        (self.objects.len() as u64, self.objects.values().sum())
    }

    /// Keeps the objects whose hash occurs in the files of a run.
    fn keep_named(&mut self, run_dir: &Path) -> io::Result<()> {
        if self.objects.is_empty() {
            return Ok(());
        }
        let folder = match FolderHandle::open(run_dir) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let logs = LogKind::ALL.map(LogKind::file);
        for name in [RUN_FILE, WAL_FILE].into_iter().chain(logs) {
            if let Some(file) = folder.open_file(name)? {
                self.keep_written(file)?;
            }
        }
        for hash in folder.read_file(STORED_OBJECTS)?.unwrap_or_default().chunks_exact(32) {
            if let Ok(hash) = hash.try_into() {
                self.objects.remove(&Hash::from_bytes(hash));
            }
        }
        Ok(())
    }

    /// Keeps the objects whose hash is written in a file.
    fn keep_written(&mut self, mut file: File) -> io::Result<()> {
        let mut text = Vec::new();
        loop {
            let got = (&mut file).take(CHUNK_BYTES as u64).read_to_end(&mut text)?;
            for at in memchr::memmem::find_iter(&text, HASH_PREFIX) {
                let digits = text.get(at..at + HASH_PREFIX.len() + HASH_DIGITS);
                if let Some(hash) = digits.and_then(|hash| std::str::from_utf8(hash).ok())
                    && let Ok(hash) = Hash::parse(hash)
                {
                    self.objects.remove(&hash);
                }
            }
            if got == 0 {
                return Ok(());
            }
            // A hash may begin at the end of this part.
            let overlap = text.len().saturating_sub(HASH_PREFIX.len() + HASH_DIGITS - 1);
            text.drain(..overlap);
        }
    }
}

fn is_temporary(name: &str) -> bool {
    name.ends_with(".tmp")
}

/// Returns the number and the size of the files in a folder and below it, as far as they can be read.
fn size_of_folder(path: &Path) -> (u64, u64) {
    fn add(folder: &FolderHandle, sum: &mut (u64, u64)) -> io::Result<()> {
        for name in folder.entry_names()? {
            if let Some(bytes) = folder.file_size(&name)? {
                *sum = (sum.0 + 1, sum.1 + bytes);
            } else if folder.is_folder(&name)? {
                add(&folder.open_subfolder(&name)?, sum)?;
            }
        }
        Ok(())
    }
    let mut sum = (0, 0);
    // A run that another process is changing has no exact size.
    let _partly = FolderHandle::open(path).and_then(|folder| add(&folder, &mut sum));
    sum
}
