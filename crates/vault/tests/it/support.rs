//! Fixture for tests of the file layer: a vault beside a secret that nothing may read or change.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use envelope::{CallId, Fault, VaultChange, VaultPath};
use vault::{ChangeStep, FileContent, IoContext, PreparedSteps, Vault, WrittenFile};

/// Content of every file outside the vault; must never be returned.
pub(crate) const CANARY: &str = "canary: nothing inside the vault may show this";

/// Records changes and cancels nothing.
#[derive(Default)]
pub(crate) struct ChangeRecorder(pub(crate) RefCell<Vec<VaultChange>>);

impl IoContext for ChangeRecorder {
    fn record_change(&self, change: VaultChange) {
        self.0.borrow_mut().push(change);
    }

    fn check_cancelled(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// `vault/` and, beside it, `outside/` and the sibling with the same prefix `vault-evil/`.
pub(crate) struct HostileVault {
    pub(crate) temp: tempfile::TempDir,
    pub(crate) vault: Vault,
    outside: Vec<(PathBuf, Vec<u8>)>,
}

impl HostileVault {
    pub(crate) fn new() -> HostileVault {
        // In memory if possible: these tests are not about the disk, and many of them wait for it.
        let temp = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        for folder in ["vault/.obsidian/plugins", "vault/.git", "vault/Notes", "outside/deep", "vault-evil"] {
            std::fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        for secret in ["outside/secret.md", "outside/deep/secret.md", "vault-evil/secret.md"] {
            put(&temp.path().join(secret), CANARY);
        }
        put(&temp.path().join("vault/.obsidian/app.json"), CANARY);
        put(&temp.path().join("vault/Notes/real.md"), "real");
        let vault = Vault::open(&temp.path().join("vault")).unwrap();
        let outside = snapshot(temp.path());
        HostileVault { temp, vault, outside }
    }

    pub(crate) fn inside(&self, path: &str) -> PathBuf {
        self.temp.path().join("vault").join(path)
    }

    pub(crate) fn link(&self, target: &str, at: &str) {
        std::os::unix::fs::symlink(target, self.inside(at)).unwrap();
    }

    /// Checks that everything outside the vault, and its protected folders, are byte for byte unchanged.
    #[track_caller]
    pub(crate) fn assert_outside_untouched(&self) {
        assert_eq!(snapshot(self.temp.path()), self.outside);
    }
}

pub(crate) fn put(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

pub(crate) fn at(path: &str) -> VaultPath {
    VaultPath::parse(path).unwrap()
}

/// Creates a file under the next free name, as a call does.
pub(crate) fn create_unique(
    vault: &Vault,
    path: &VaultPath,
    bytes: &[u8],
    recorder: &ChangeRecorder,
) -> Result<WrittenFile, Fault> {
    let name = vault.reserve_name(path, &CallId::parse("call").unwrap())?;
    let step =
        ChangeStep::CreateFile { path: name.path().clone(), content: FileContent::of(bytes), mode: None };
    vault.apply(&PreparedSteps { steps: vec![step] }, recorder).map(Option::unwrap)
}

/// Returns every file and folder outside the vault or in a protected folder, with its content.
fn snapshot(base: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut seen = Vec::new();
    for root in ["outside", "vault-evil", "vault/.obsidian", "vault/.git"] {
        let mut todo = vec![base.join(root)];
        while let Some(folder) = todo.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    seen.push((entry.path(), Vec::new()));
                    todo.push(entry.path());
                } else {
                    seen.push((entry.path(), std::fs::read(entry.path()).unwrap()));
                }
            }
        }
    }
    seen.sort();
    seen
}
