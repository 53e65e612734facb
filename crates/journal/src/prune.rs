//! Removes old runs, and the stored objects that no remaining run names.
//!
//! A run can be removed if it has finished, no process has it open, and it is old enough. Runs that are linked by
//! undos and redos are kept or removed together, and the newest run is always kept. An object is kept as long as
//! its hash occurs anywhere in the files of a remaining run, of any vault: a text that merely looks like a
//! reference keeps an object, but no form of reference can be overlooked, not even in a damaged record.

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
use crate::run_list::{RunState, RunSummary, list_runs, run_summary};
use crate::run_log::{io_error, lock};
use crate::runs_folder::RunsFolder;
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

/// What a prune would remove.
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
}

/// What a prune has removed.
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
    WriteList,
    RemoveFile,
    RemoveFolder,
    RemoveList,
    RemoveObject,
}

/// Called before each step; an error ends the prune there.
type BeforeStep<'a> = &'a mut dyn FnMut(PruneStep) -> io::Result<()>;

impl RunsFolder {
    /// Returns what a prune would remove. Changes nothing.
    pub fn plan_prune(&self, limits: &PruneLimits) -> Result<PrunePlan, JournalError> {
        let runs = self.list()?;
        let chosen = removable_runs(&runs, limits);
        let removed: HashSet<&RunId> = chosen.iter().map(|run| &run.run_id).collect();
        let failed = |source| io_error("read", self.path(), source);
        let mut unnamed = StoredObjects::list(&self.state()).map_err(failed)?;
        let all = list_runs(self.path())?;
        for run in all.iter().filter(|run| !removed.contains(&run.run_id)) {
            unnamed.keep_named(&run.dir).map_err(failed)?;
        }
        let in_use = writer_of_earlier_build(&all);
        if in_use.is_some() {
            unnamed.objects.clear();
        }
        let (objects, object_bytes) = unnamed.totals();
        Ok(PrunePlan {
            kept: runs.len() - chosen.len(),
            begun: self.begun_removals()?,
            objects,
            object_bytes,
            objects_in_use_by: in_use,
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
        if !runs_dir.lock().map_err(failed)? {
            return Err(JournalError::PruneRunning { path: self.path().to_owned() });
        }
        let mut removal = Removal { state: self.state(), report: PruneReport::default(), before };
        removal.complete_begun(&runs_dir).map_err(failed)?;
        let shown: HashSet<&RunId> = plan.runs.iter().map(|pruned| &pruned.run.run_id).collect();
        // The runs are listed again: an undo may have linked two of them since.
        for batch in batches(&self.list()?, limits, &shown) {
            self.remove_batch(&mut removal, &runs_dir, &batch)?;
        }
        self.remove_objects(&mut removal)?;
        runs_dir.unlock().map_err(failed)?;
        Ok(removal.report)
    }

    /// Removes groups of linked runs, each as a whole or not at all.
    fn remove_batch(
        &self,
        removal: &mut Removal<'_>,
        runs_dir: &FolderHandle,
        groups: &[Vec<RunId>],
    ) -> Result<(), JournalError> {
        let failed = |source| io_error("prune", self.path(), source);
        let mut locks = Vec::new();
        let mut removed = BTreeSet::new();
        for group in groups {
            if let Some(locked) = lock_all(runs_dir, group) {
                locks.extend(locked);
                removed.extend(group.iter().cloned());
            }
        }
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
                seen.insert(run.run_id, size);
            }
        }
        let Some(_alone) = StoreLock::exclude_writers(&state).map_err(failed)? else { return Ok(()) };
        let all = list_runs(self.path())?;
        if writer_of_earlier_build(&all).is_some() {
            return Ok(());
        }
        for run in &all {
            // A run may have been opened and closed again meanwhile; files of a run only grow.
            let is_locked = FolderHandle::open(&run.dir).and_then(|dir| dir.is_locked()).unwrap_or(true);
            if is_locked || seen.get(&run.run_id) != Some(&size_of_folder(&run.dir)) {
                unnamed.keep_named(&run.dir).map_err(failed)?;
            }
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
}

/// Returns the runs that fit the limits, newest first. `runs` is sorted so too.
fn removable_runs<'a>(runs: &'a [RunSummary], limits: &PruneLimits) -> Vec<&'a RunSummary> {
    let is_old = |run: &RunSummary| limits.created_before.is_none_or(|before| run.created_at < before);
    let mut removable: HashMap<&RunId, bool> = HashMap::new();
    for (position, run) in runs.iter().enumerate() {
        let ended = match run.state {
            RunState::Finished(_) => true,
            // The record of a damaged run is evidence, and nobody knows what it needs.
            RunState::Running | RunState::Interrupted | RunState::Damaged(_) => false,
        };
        removable.insert(&run.run_id, ended && position >= limits.keep.max(1) && is_old(run));
    }
    let groups = linked_groups(runs);
    let mut kept: HashSet<usize> = HashSet::new();
    for run in runs {
        if removable.get(&run.run_id) == Some(&false) {
            kept.extend(groups.get(&run.run_id));
        }
    }
    let stays = |run: &RunSummary| groups.get(&run.run_id).is_none_or(|group| kept.contains(group));
    runs.iter().filter(|run| !stays(run)).collect()
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

/// Returns the groups that can still be removed and were shown as a whole, in batches.
fn batches(runs: &[RunSummary], limits: &PruneLimits, shown: &HashSet<&RunId>) -> Vec<Vec<Vec<RunId>>> {
    let groups = linked_groups(runs);
    let mut members: HashMap<usize, Vec<RunId>> = HashMap::new();
    for run in removable_runs(runs, limits) {
        if let Some(group) = groups.get(&run.run_id) {
            members.entry(*group).or_default().push(run.run_id.clone());
        }
    }
    let mut approved: Vec<Vec<RunId>> =
        members.into_values().filter(|group| group.iter().all(|run| shown.contains(run))).collect();
    approved.sort();
    let mut batches: Vec<Vec<Vec<RunId>>> = Vec::new();
    let mut free = 0;
    for group in approved {
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
        // The list goes last: until then these runs are gone for every reader.
        runs_dir.duplicate()?.sync_names()?;
        (self.before)(PruneStep::RemoveList)?;
        PruningRuns::remove(&mut FolderHandle::open(&self.state)?)
    }

    /// Removes a folder with its content. Returns false if there is none.
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
