//! Where things are: the vault, its settings, and the folder that keeps its runs.

use std::path::{Path, PathBuf};

use journal::{JournalError, RunState, RunsFolder, UnnamedRuns};

use crate::exit::Exit;
use crate::quoting::quoted;
use crate::settings::Settings;
use crate::stop::Stop;
use crate::trust;
use crate::vault_id;
use crate::visible::path_words;

/// A folder that has one of these is a vault.
const MARKS: [&str; 2] = [".tollgate", ".obsidian"];

/// A vault with its settings.
pub(crate) struct Place {
    pub(crate) vault: PathBuf,
    pub(crate) settings: Settings,
}

impl Place {
    /// The vault that was named, or the nearest one around the current folder.
    pub(crate) fn find(given: Option<&Path>) -> Result<Place, Stop> {
        let vault = find_vault(given)?;
        let settings = Settings::load(&vault)?;
        Ok(Place { vault, settings })
    }

    /// The folder for everything we keep about this vault.
    pub(crate) fn state(&self) -> PathBuf {
        self.settings.state.clone().unwrap_or_else(|| self.vault.join(".tollgate"))
    }

    /// The folder for everything we keep about this vault, if it lies outside of the vault. Needs trust.
    pub(crate) fn state_outside(&self) -> Option<PathBuf> {
        self.settings.state.clone().filter(|state| !state.starts_with(&self.vault))
    }

    /// The runs of this vault, for its owner at the command line.
    pub(crate) fn runs(&self) -> Result<RunsFolder, Stop> {
        self.runs_of_vault(UnnamedRuns::Accept)?.folder()
    }

    /// The runs of this vault, for clients and models. A run of an earlier build names no vault; it is theirs to read
    /// only where the folder itself belongs to this vault.
    pub(crate) fn runs_for_clients(&self) -> Result<RunsOfVault, Stop> {
        let is_own = self.state_outside().is_none();
        self.runs_of_vault(if is_own { UnnamedRuns::Accept } else { UnnamedRuns::Refuse })
    }

    /// Fails if the runs are kept outside of the vault and nobody has trusted that.
    fn runs_of_vault(&self, unnamed: UnnamedRuns) -> Result<RunsOfVault, Stop> {
        trust::require_state(self)?;
        Ok(RunsOfVault { vault: self.vault.clone(), runs: self.state().join("runs"), unnamed })
    }

    /// Makes the runs folder if it is not there. Runs hold what notes hold: for the owner only.
    pub(crate) fn prepare_runs(&self) -> Result<RunsFolder, Stop> {
        let runs = self.runs_for_clients()?;
        runs.folder()?.prepare().map_err(|error| {
            if matches!(error, JournalError::Link { .. }) {
                return Stop::from(error);
            }
            Stop::new(Exit::Failures, "io", error.to_string())
                .hint("make it writable, or set `state` in .tollgate/config.toml to another folder")
        })?;
        vault_id::ensure(&self.vault)?;
        runs.folder()
    }

    /// The folder of a run by its id, a unique prefix of it, or `last`.
    pub(crate) fn run_dir(&self, run: &str) -> Result<PathBuf, Stop> {
        Ok(self.runs()?.find(run)?)
    }

    /// Whether a process is writing to this run at this moment.
    pub(crate) fn is_running(&self, run_dir: &Path) -> Result<bool, Stop> {
        let runs = self.runs()?.list()?;
        Ok(runs.iter().any(|run| run.dir == run_dir && run.state == RunState::Running))
    }

    /// The words to put behind a command we propose, so that it can be pasted as it is.
    pub(crate) fn vault_words(&self) -> String {
        format!("--vault {}", quoted(&self.vault))
    }
}

/// Where the runs of a vault are, and which of those in the folder are its own.
pub(crate) struct RunsOfVault {
    vault: PathBuf,
    runs: PathBuf,
    unnamed: UnnamedRuns,
}

impl RunsOfVault {
    /// The folder, for the runs that name this vault as it is named now.
    pub(crate) fn folder(&self) -> Result<RunsFolder, Stop> {
        let names = vault_id::names(&self.vault)?;
        Ok(RunsFolder::of_vault(self.runs.clone(), names, self.unnamed))
    }
}

/// The vault that was named, or the nearest folder upwards that looks like one.
pub(crate) fn find_vault(given: Option<&Path>) -> Result<PathBuf, Stop> {
    match given {
        Some(dir) => dir.canonicalize().ok().filter(|dir| dir.is_dir()).ok_or_else(|| {
            Stop::bad_input("no_vault", format!("`{}` is not a folder", path_words(dir)))
                .hint("give the folder that holds your notes: --vault DIR")
        }),
        None => {
            let here = std::env::current_dir().map_err(|error| Stop::io("find the current folder", error))?;
            let is_vault = |dir: &&Path| MARKS.iter().any(|mark| dir.join(mark).is_dir());
            here.ancestors().find(is_vault).and_then(|dir| dir.canonicalize().ok()).ok_or_else(|| {
                Stop::bad_input(
                    "no_vault",
                    format!(
                        "no vault here: neither `{}` nor a folder above it has .tollgate or .obsidian",
                        path_words(&here)
                    ),
                )
                .hint("name one with --vault DIR, or make this folder one with `tollgate init`")
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::find_vault;

    #[test]
    fn a_folder_that_is_not_there_is_no_vault() {
        let stop = find_vault(Some(Path::new("/nowhere/at/all"))).unwrap_err();
        assert_eq!(stop.message, "`/nowhere/at/all` is not a folder");
    }
}
