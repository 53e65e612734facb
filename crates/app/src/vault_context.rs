//! The vault, its settings, and the folder of its runs.

use std::path::{Path, PathBuf};

use journal::{JournalError, RunState, RunsFolder, UnnamedRuns};

use crate::display_text::display_path;
use crate::error::AppError;
use crate::error::ErrorKind;
use crate::settings::Settings;
use crate::shell_quoting::quote_for_shell;
use crate::state_gitignore;
use crate::trust;
use crate::vault_id;

/// A folder with one of these is a vault.
const VAULT_MARKERS: [&str; 2] = [".tollgate", ".obsidian"];

/// A vault with its settings.
#[derive(Clone)]
pub struct VaultContext {
    pub vault: PathBuf,
    pub settings: Settings,
}

impl VaultContext {
    /// Finds the given vault, or the nearest one around the current folder, and reads its settings.
    pub fn find(given: Option<&Path>) -> Result<VaultContext, AppError> {
        let vault = find_vault(given)?;
        let settings = Settings::load(&vault)?;
        Ok(VaultContext { vault, settings })
    }

    /// The same with the folder of runs that the user named for one command. Everything else of the settings stays in
    /// force, and needs the same trust.
    pub fn find_with_state(given: Option<&Path>, state: Option<&Path>) -> Result<VaultContext, AppError> {
        let mut context = VaultContext::find(given)?;
        let resolved = state.map(|state| Settings::resolve_given_state(state, &context.vault));
        context.settings.given_state = resolved.transpose()?;
        Ok(context)
    }

    /// Returns the state folder of this vault.
    pub fn state(&self) -> PathBuf {
        let chosen = self.settings.given_state.as_ref().or(self.settings.state.as_ref());
        chosen.cloned().unwrap_or_else(|| self.vault.join(".tollgate"))
    }

    /// Returns the state folder if it is outside of the vault. Needs trust.
    pub fn state_outside(&self) -> Option<PathBuf> {
        self.settings.state.clone().filter(|state| !state.starts_with(&self.vault))
    }

    /// Returns the runs of this vault, for its owner at the command line.
    pub fn runs(&self) -> Result<RunsFolder, AppError> {
        self.runs_of_vault(UnnamedRuns::Accept)?.folder()
    }

    /// Returns the runs of this vault, for clients and models. A run of an earlier build names no vault; they can read it
    /// only if the folder itself belongs to this vault.
    pub fn runs_for_clients(&self) -> Result<RunsOfVault, AppError> {
        let is_own = self.state().starts_with(&self.vault);
        self.runs_of_vault(if is_own { UnnamedRuns::Accept } else { UnnamedRuns::Refuse })
    }

    /// Fails if the runs are kept outside of the vault and that is not trusted.
    fn runs_of_vault(&self, unnamed: UnnamedRuns) -> Result<RunsOfVault, AppError> {
        if self.settings.given_state.is_none() {
            trust::require_state(self)?;
        }
        Ok(RunsOfVault { vault: self.vault.clone(), runs: self.state().join("runs"), unnamed })
    }

    /// Creates the folder of runs if it is missing, for the owner only: runs contain text of notes.
    pub fn prepare_runs(&self) -> Result<RunsFolder, AppError> {
        let runs = self.runs_for_clients()?;
        runs.folder()?.prepare().map_err(|error| {
            if matches!(error, JournalError::Link { .. }) {
                return AppError::from(error);
            }
            AppError::new(ErrorKind::Failed, "io", error.to_string())
                .hint("make it writable, name another folder with --state DIR, or set `state` in .tollgate/config.toml")
        })?;
        // With a folder that the user named, nothing is created in the vault.
        if self.settings.given_state.is_none() || self.vault.join(".tollgate").is_dir() {
            vault_id::ensure(&self.vault)?;
            state_gitignore::ensure(&self.vault);
        }
        runs.folder()
    }

    /// Returns the folder of a run by its id, a unique prefix of it, or `last`.
    pub fn run_dir(&self, run: &str) -> Result<PathBuf, AppError> {
        Ok(self.runs()?.find(run)?)
    }

    /// Returns true if a process is writing to this run.
    pub fn is_running(&self, run_dir: &Path) -> Result<bool, AppError> {
        let name = run_dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let run = self.runs()?.summary(name);
        Ok(run.is_some_and(|run| run.dir == run_dir && run.state == RunState::Running))
    }

    /// Returns the command `tollgate WORDS` for this vault, as it is proposed to the user: as short as possible from the
    /// current folder.
    pub fn command(&self, words: &str) -> String {
        let vault = match find_vault(None) {
            Ok(found) if found == self.vault => String::new(),
            Ok(_) | Err(_) => format!(" {}", self.vault_arguments()),
        };
        let state = self.settings.given_state.as_deref();
        let state = state.map(|state| format!(" --state {}", quote_for_shell(state))).unwrap_or_default();
        format!("tollgate {words}{vault}{state}")
    }

    /// Returns the arguments that select this vault, for a command that is proposed to the user.
    pub fn vault_arguments(&self) -> String {
        format!("--vault {}", quote_for_shell(&self.vault))
    }
}

/// The folder of a vault's runs, and which runs in it belong to the vault.
pub struct RunsOfVault {
    vault: PathBuf,
    runs: PathBuf,
    unnamed: UnnamedRuns,
}

impl RunsOfVault {
    /// Returns the folder, limited to runs with the current names of this vault.
    pub fn folder(&self) -> Result<RunsFolder, AppError> {
        let names = vault_id::names(&self.vault)?;
        Ok(RunsFolder::of_vault(self.runs.clone(), names, self.unnamed))
    }
}

/// Returns the nearest vault that contains the folder; the folder itself may be it.
pub fn enclosing_vault(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|dir| VAULT_MARKERS.iter().any(|mark| dir.join(mark).is_dir()))
}

/// Returns the given vault, or the nearest parent folder that is one.
pub fn find_vault(given: Option<&Path>) -> Result<PathBuf, AppError> {
    match given {
        Some(dir) => dir.canonicalize().ok().filter(|dir| dir.is_dir()).ok_or_else(|| {
            AppError::bad_input("no_vault", format!("`{}` is not a folder", display_path(dir)))
                .hint("give the folder that holds your notes: --vault DIR")
        }),
        None => {
            let here =
                std::env::current_dir().map_err(|error| AppError::io("find the current folder", error))?;
            enclosing_vault(&here).and_then(|dir| dir.canonicalize().ok()).ok_or_else(|| {
                AppError::bad_input(
                    "no_vault",
                    format!(
                        "no vault here: neither `{}` nor a folder above it has .tollgate or .obsidian",
                        display_path(&here)
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
        let error = find_vault(Some(Path::new("/nowhere/at/all"))).unwrap_err();
        assert_eq!(error.message, "`/nowhere/at/all` is not a folder");
    }
}
