//! The folder that keeps the runs of one vault.

use std::path::{Path, PathBuf};

use envelope::RunId;
use rustix::fs::FlockOperation;

use crate::disk::{FolderHandle, ensure_folder};
use crate::error::JournalError;
use crate::run_folder::RunFolder;
use crate::run_header::RunHeader;
use crate::run_list::{
    FindError, RunSummary, find_run, list_runs, newest_first, run_ids, run_summary, runs_with_prefix,
};
use crate::run_log::{Journal, io_error};

/// A folder of runs, and the vault whose runs may be read in it.
///
/// Several vaults can keep their runs in one folder, and the settings of a hostile vault can name the folder
/// of another one. A run names its vault in `run.json`; the runs of other vaults are neither listed nor
/// opened.
#[derive(Debug, Clone)]
pub struct RunsFolder {
    path: PathBuf,
    owner: Option<VaultOwner>,
}

#[derive(Debug, Clone)]
struct VaultOwner {
    names: Vec<String>,
    unnamed: UnnamedRuns,
}

/// The treatment of runs that name no vault. Earlier versions wrote such runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnnamedRuns {
    Accept,
    Refuse,
}

impl RunsFolder {
    /// Returns the runs of one vault in a folder. New runs get the first of its names; runs with any of its
    /// names belong to it.
    pub fn of_vault(path: PathBuf, names: Vec<String>, unnamed: UnnamedRuns) -> RunsFolder {
        RunsFolder { path, owner: Some(VaultOwner { names, unnamed }) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the vault name for new runs.
    pub fn vault(&self) -> Option<&str> {
        self.owner.as_ref().and_then(|owner| owner.names.first()).map(String::as_str)
    }

    /// Creates the folder, for its owner only, unless it exists. Fails if a part of its path is a link.
    pub fn prepare(&self) -> Result<(), JournalError> {
        ensure_folder(&self.path).map_err(|source| io_error("make the folder", &self.path, source))
    }

    /// Starts the record of a run of this vault.
    ///
    /// Fails with [`JournalError::LinkedRunGone`] if a run that it undoes or continues was removed.
    pub fn create(&self, header: &RunHeader) -> Result<Journal, JournalError> {
        self.create_unless(header, &|_runs| None)
    }

    /// Like [`RunsFolder::create`], for a run that continues another one. Two processes may have checked at the same
    /// moment whether that is allowed, so it is checked again here, where one of them waits for the other.
    ///
    /// `linked` gets all runs, newest first, and returns a run that forbids it. The error is then
    /// [`JournalError::LinkedMeanwhile`].
    pub fn create_unless(
        &self,
        header: &RunHeader,
        linked: &dyn Fn(&[RunSummary]) -> Option<RunId>,
    ) -> Result<Journal, JournalError> {
        let header = RunHeader { vault: self.vault().map(str::to_owned), ..header.clone() };
        let _locks = self.lock_linked(&header)?;
        if let Some(continues) = &header.continues
            && let Some(by) = linked(&self.list()?)
        {
            return Err(JournalError::LinkedMeanwhile { run: continues.run_id.clone(), by });
        }
        Journal::create(&self.path.join(header.run_id.as_str()), &header)
    }

    /// Keeps a prune from removing runs, and others from continuing the same run, until the new run is there. A prune
    /// that began before is waited for.
    fn lock_linked(&self, header: &RunHeader) -> Result<Vec<FolderHandle>, JournalError> {
        let continued = header.continues.as_ref().map(|run| &run.run_id);
        let linked: Vec<&RunId> = header.undoes.iter().chain(continued).collect();
        if linked.is_empty() {
            return Ok(Vec::new());
        }
        let failed = |source| io_error("lock", &self.path, source);
        let runs = FolderHandle::open(&self.path).map_err(failed)?;
        runs.wait_for_lock(FlockOperation::LockShared).map_err(failed)?;
        for run in linked {
            if run_summary(&self.path.join(run.as_str())).is_none() {
                return Err(JournalError::LinkedRunGone { run: run.clone() });
            }
        }
        let mut locks = vec![runs];
        if let Some(run) = continued {
            // It has ended, so nobody else keeps this lock for long.
            let folder = FolderHandle::open(&self.path.join(run.as_str())).map_err(failed)?;
            folder.wait_for_lock(FlockOperation::LockExclusive).map_err(failed)?;
            locks.push(folder);
        }
        Ok(locks)
    }

    /// Returns [`list_runs`] of this vault.
    pub fn list(&self) -> Result<Vec<RunSummary>, JournalError> {
        let mut runs = list_runs(&self.path)?;
        runs.retain(|run| self.owns(run));
        Ok(runs)
    }

    /// Returns the runs of this vault one at a time, newest first. Reads a run when it is asked for, unless an id tells no
    /// time, so that the newest of many runs are found quickly.
    pub fn newest_first(&self) -> Result<impl Iterator<Item = RunSummary> + '_, JournalError> {
        Ok(newest_first(&self.path)?.filter(|run| self.owns(run)))
    }

    /// Returns the ids of all runs in the folder, including those of other vaults. Does not read any record.
    /// [`RunsFolder::open`] and [`RunsFolder::summary`] refuse those.
    pub fn ids(&self) -> Result<Vec<RunId>, JournalError> {
        run_ids(&self.path)
    }

    /// Returns the largest time in the ids of the runs in the folder, of any vault; `None` without such an id.
    pub fn newest_millis(&self) -> Option<u64> {
        self.ids().ok()?.iter().filter_map(RunId::millis).max()
    }

    /// Returns the summary of one run; `None` if this vault has no such run.
    pub fn summary(&self, run: &str) -> Option<RunSummary> {
        run_summary(&self.path.join(run)).filter(|run| self.owns(run))
    }

    /// Finds a run of this vault by its id, by a unique prefix of its id, or as `last`.
    pub fn find(&self, wanted: &str) -> Result<PathBuf, FindError> {
        if wanted == "last"
            && let Some(newest) = self.newest_first()?.next()
        {
            return Ok(newest.dir);
        }
        let fitting = runs_with_prefix(&self.path, wanted)?;
        let (own, others): (Vec<RunSummary>, Vec<RunSummary>) =
            fitting.into_iter().partition(|run| self.owns(run));
        let found = find_run(&own, wanted);
        if matches!(found, Err(FindError::None { .. })) && find_run(&others, wanted).is_ok() {
            return Err(FindError::Foreign { wanted: wanted.to_owned() });
        }
        found
    }

    /// Opens a run of this vault for reading.
    pub fn open(&self, run: &str) -> Result<RunFolder, JournalError> {
        let path = self.path.join(run);
        let folder = RunFolder::open(&path)?;
        match self.accepts_vault(folder.header().vault.as_deref()) {
            true => Ok(folder),
            false => Err(JournalError::OtherVault { path }),
        }
    }

    pub(crate) fn owns(&self, run: &RunSummary) -> bool {
        // A damaged run names no vault. It is treated like a run without a vault name.
        self.accepts_vault(run.vault.as_deref())
    }

    fn accepts_vault(&self, named: Option<&str>) -> bool {
        match (&self.owner, named) {
            (None, _) => true,
            (Some(owner), Some(named)) => owner.names.iter().any(|name| name == named),
            (Some(owner), None) => owner.unnamed == UnnamedRuns::Accept,
        }
    }
}

/// Every run in a folder, of any vault: for embedding and tests.
impl From<PathBuf> for RunsFolder {
    fn from(path: PathBuf) -> RunsFolder {
        RunsFolder { path, owner: None }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{RunsFolder, UnnamedRuns};
    use crate::samples::header;

    #[test]
    fn a_run_of_another_vault_is_neither_listed_nor_found_nor_opened() {
        let temp = tempfile::tempdir().unwrap();
        let runs = temp.path().canonicalize().unwrap().join("runs");
        for (run, vault) in [("run-1", Some("v1")), ("run-2", Some("v2")), ("run-3", None)] {
            let folder = match vault {
                Some(vault) => {
                    RunsFolder::of_vault(runs.clone(), vec![vault.to_owned()], UnnamedRuns::Accept)
                }
                None => RunsFolder::from(runs.clone()),
            };
            folder.create(&header(run)).unwrap().close().unwrap();
        }
        let seen = |folder: &RunsFolder| {
            let listed = folder.list().unwrap().into_iter().map(|run| run.run_id.to_string());
            let listed = {
                let mut all: Vec<String> = listed.collect();
                all.sort();
                all.join(" ")
            };
            let mut shown = format!("lists {listed}\n");
            for run in ["run-1", "run-2", "run-3", "run-4", "last"] {
                let found =
                    folder.find(run).map(|dir| dir.file_name().unwrap().to_string_lossy().into_owned());
                let found = found.unwrap_or_else(|error| error.to_string());
                let opened = folder.open(run).map_or("refused", |_folder| "opened");
                let summary = folder.summary(run).map_or("none", |_summary| "summary");
                shown += &format!("{run}: {found}; {opened}; {summary}\n");
            }
            shown
        };
        let of = |vault: &str, unnamed| {
            RunsFolder::of_vault(runs.clone(), vec!["new".to_owned(), vault.to_owned()], unnamed)
        };
        expect![[r#"
            lists run-1 run-3
            run-1: run-1; opened; summary
            run-2: run `run-2` belongs to another vault and is not shown here; refused; none
            run-3: run-3; opened; summary
            run-4: no run is named `run-4`; `tollgate runs` lists them; refused; none
            last: run-1; refused; none
        "#]]
        .assert_eq(&seen(&of("v1", UnnamedRuns::Accept)));
        expect![[r#"
            lists run-2
            run-1: run `run-1` belongs to another vault and is not shown here; refused; none
            run-2: run-2; opened; summary
            run-3: run `run-3` belongs to another vault and is not shown here; refused; none
            run-4: no run is named `run-4`; `tollgate runs` lists them; refused; none
            last: run-2; refused; none
        "#]]
        .assert_eq(&seen(&of("v2", UnnamedRuns::Refuse)));
        assert_eq!(RunsFolder::from(runs).list().unwrap().len(), 3);
    }
}
