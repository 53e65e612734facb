//! One `[[hooks]]` entry as it is parsed: a program that checks calls.
//!
//! A declaration runs nothing. Only [`crate::trust`] turns it into a hook, because the settings can have come with the
//! vault from someone else.

use std::num::NonZeroU64;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::{CommandHook, HookWhen, PinnedFile};
use envelope::canonical_bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::hook_files::{HookFile, hook_files};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredHook {
    pub name: String,
    pub command: Vec<String>,
    #[serde(default = "before")]
    pub when: HookWhen,
    #[serde(default = "five_seconds")]
    pub timeout_ms: NonZeroU64,
    #[serde(default)]
    pub tools: Vec<String>,
    /// Files that the command names, as they were when the settings were read.
    #[serde(skip)]
    pub files: Vec<HookFile>,
}

fn before() -> HookWhen {
    HookWhen::Before
}

fn five_seconds() -> NonZeroU64 {
    NonZeroU64::MIN.saturating_add(5000 - 1)
}

impl DeclaredHook {
    /// Hashes the files that the command names.
    pub(super) fn bind_files(&mut self, vault: &Path) -> Result<(), String> {
        self.files = hook_files(&self.name, &self.command, vault)?;
        Ok(())
    }

    /// Returns the entry with the hashes of its files as canonical JSON. Part of the policy, so that trust, approvals and
    /// runs are bound to it.
    pub(super) fn declaration(&self, vault: &Path) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        let known = self.files.iter().filter_map(|file| Some((file.shown(vault), json!(file.hash?))));
        value["files"] = Value::Object(known.collect());
        String::from_utf8_lossy(&canonical_bytes(&value)).into_owned()
    }

    /// Returns the program that would run: a path relative to the vault, or a name found in `PATH`.
    pub fn program(&self, vault: &Path) -> Option<PathBuf> {
        find_program(self.command.first()?, vault)
    }

    /// Builds the hook, which runs in the vault. `command` has the copies that are run in place of the named files, and
    /// `pinned` is checked before each start.
    pub fn build(
        &self,
        command: Vec<String>,
        pinned: Vec<PinnedFile>,
        vault: &Path,
    ) -> Result<CommandHook, String> {
        let limit = Duration::from_millis(self.timeout_ms.get());
        CommandHook::new(&*self.name, command, self.when, limit, &self.tools, vault.to_owned())
            .map(|hook| hook.pinned(pinned))
            .map_err(|error| error.to_string())
    }
}

/// Finds the program that a word names: a path relative to the vault, or a name in `PATH`.
pub(super) fn find_program(name: &str, vault: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(vault.join(name)).filter(|path| is_program(path));
    }
    let path = std::env::var_os("PATH")?;
    // A relative entry would lead into the vault, whose author would then choose the program.
    let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| is_program(path)))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
