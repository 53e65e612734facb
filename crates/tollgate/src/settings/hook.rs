//! One `[[hooks]]` entry as it is written: a program that wants to see calls.
//!
//! A declaration runs nothing. Only [`crate::trust`] turns it into a hook, since the settings may have come
//! with the vault from somebody else.

use std::num::NonZeroU64;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::{CommandHook, Hook, HookWhen};
use envelope::canonical_bytes;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeclaredHook {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
    #[serde(default = "before")]
    pub(crate) when: HookWhen,
    #[serde(default = "five_seconds")]
    pub(crate) timeout_ms: NonZeroU64,
    #[serde(default)]
    pub(crate) tools: Vec<String>,
}

fn before() -> HookWhen {
    HookWhen::Before
}

fn five_seconds() -> NonZeroU64 {
    NonZeroU64::MIN.saturating_add(5000 - 1)
}

impl DeclaredHook {
    /// The whole entry as canonical JSON: part of the policy, so that a yes and a run are bound to it.
    pub(super) fn declaration(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        String::from_utf8_lossy(&canonical_bytes(&value)).into_owned()
    }

    /// The program that would run: a path is seen from the vault, a bare name is looked up in `PATH`.
    pub(crate) fn program(&self, vault: &Path) -> Option<PathBuf> {
        let name = self.command.first()?;
        if name.contains('/') {
            return Some(vault.join(name)).filter(|path| is_program(path));
        }
        let path = std::env::var_os("PATH")?;
        // A relative entry would be seen from the vault, and whoever fills the vault would choose the program.
        let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
        folders.find_map(|folder| Some(folder.join(name)).filter(|path| is_program(path)))
    }

    /// The hook itself, run in the vault wherever we were started from.
    pub(crate) fn build(&self, vault: &Path) -> Result<Arc<dyn Hook>, String> {
        let mut command = self.command.clone();
        if let Some(name) = command.first_mut() {
            let named = if name.contains('/') { Some(vault.join(&*name)) } else { self.program(vault) };
            if let Some(program) = named {
                *name = program.to_string_lossy().into_owned();
            }
        }
        let limit = Duration::from_millis(self.timeout_ms.get());
        CommandHook::new(&*self.name, command, self.when, limit, &self.tools, vault.to_owned())
            .map(|hook| Arc::new(hook) as Arc<dyn Hook>)
            .map_err(|error| error.to_string())
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
