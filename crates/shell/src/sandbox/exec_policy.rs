//! Which programs a command can execute.
//!
//! Rules about commands see the words of a call. This policy also covers the programs that those start: a rule that
//! allows `make` does not let it execute a file in the vault, and a rule that denies `rm` holds for scripts too. It is
//! a guard rail, not a barrier: an interpreter, such as the dynamic linker, reads the file that it runs and executes
//! nothing.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Folders for programs besides those of the settings.
const PROGRAM_FOLDERS: [&str; 7] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/games"];

/// The system's links to the chosen one of several programs.
const ALTERNATIVES: &str = "/etc/alternatives";

/// Which programs a command can execute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecPolicy {
    pub vault_files: VaultFiles,
    /// Files of the system that cannot be executed, as real paths.
    pub denied: Vec<PathBuf>,
}

/// Which files of the vault, and of the private folders of a command, can be executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VaultFiles {
    All,
    /// Only these, as real paths.
    Only(Vec<PathBuf>),
}

impl ExecPolicy {
    /// Everything that can be read can be executed.
    pub fn unrestricted() -> ExecPolicy {
        ExecPolicy { vault_files: VaultFiles::All, denied: Vec::new() }
    }
}

/// Returns the files of a program, by its name or its absolute path: one for each folder in which it is found.
///
/// A link to a program of another name is left out, unless the system's alternatives lead there: if `rm` is a link to
/// `busybox`, every other program would be denied too.
pub fn program_files(program: &str, search_path: &str) -> Vec<PathBuf> {
    let candidates: Vec<PathBuf> = if program.contains('/') {
        vec![PathBuf::from(program)].into_iter().filter(|path| path.is_absolute()).collect()
    } else {
        let folders = PROGRAM_FOLDERS.into_iter().chain(search_path.split(':'));
        folders
            .filter(|folder| folder.starts_with('/'))
            .map(|folder| Path::new(folder).join(program))
            .collect()
    };
    let mut found: Vec<PathBuf> = candidates.iter().filter_map(|path| real_program(path)).collect();
    found.sort();
    found.dedup();
    found
}

fn real_program(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let real = fs::canonicalize(path).ok().filter(|real| real.is_file())?;
    let same_name = real.file_name()?.to_str()?.starts_with(name);
    (same_name || is_alternative(path)).then_some(real)
}

fn is_alternative(path: &Path) -> bool {
    fs::read_link(path).is_ok_and(|target| target.starts_with(ALTERNATIVES))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::program_files;

    #[test]
    fn a_program_is_found_in_every_folder_and_one_of_many_names_is_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for folder in ["one", "two"] {
            fs::create_dir(base.join(folder)).unwrap();
        }
        for file in ["one/toolx", "two/toolx-12", "two/busybox", "one/other"] {
            File::create(base.join(file)).unwrap();
        }
        symlink("toolx-12", base.join("two/toolx")).unwrap();
        symlink("busybox", base.join("two/other")).unwrap();
        let search = format!("{}:relative::{}", base.join("one").display(), base.join("two").display());
        let found = |name: &str| {
            let files = program_files(name, &search).into_iter();
            files.map(|path| path.strip_prefix(&base).unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("toolx"), [std::path::Path::new("one/toolx"), std::path::Path::new("two/toolx-12")]);
        assert_eq!(found("other"), [std::path::Path::new("one/other")]);
        assert_eq!(found("absent"), [] as [&std::path::Path; 0]);
        let whole = base.join("one/toolx");
        assert_eq!(program_files(whole.to_str().unwrap(), ""), [whole]);
        assert_eq!(program_files("./toolx", &search), [] as [&std::path::Path; 0]);
    }
}
