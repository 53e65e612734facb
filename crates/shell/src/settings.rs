//! Settings of commands.

use std::path::PathBuf;

use envelope::Fault;
use serde::{Deserialize, Serialize};

use crate::sandbox::{AvailableSandboxes, ResourceLimits, SandboxKind};

const MEGABYTE: u64 = 1 << 20;

/// Whether a command may run without a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxRequirement {
    /// A command is refused if no sandbox can be built.
    Required,
    /// Commands run without a sandbox. Every record of a command says so.
    Off,
}

/// Access of commands. A setting that grants more than the default needs the approval of the user outside of the vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommandSettings {
    pub sandbox: SandboxRequirement,
    pub network: bool,
    /// Readable folders outside the vault.
    pub readable: Vec<PathBuf>,
    /// Names of variables that commands get.
    pub env: Vec<String>,
    pub path: String,
    pub memory_mb: u64,
    pub processes: u64,
    pub open_files: u64,
    /// Limit of the output of one command.
    pub output_mb: u64,
    /// Limit of a file that a command writes.
    pub file_mb: u64,
    /// Whether a command that only a rule allows can execute files of the vault besides the program that it names.
    pub execute_vault_files: bool,
}

impl Default for CommandSettings {
    fn default() -> CommandSettings {
        CommandSettings {
            sandbox: SandboxRequirement::Required,
            network: false,
            readable: Vec::new(),
            env: Vec::new(),
            path: "/usr/local/bin:/usr/bin:/bin".to_owned(),
            memory_mb: 4_096,
            processes: 512,
            open_files: 1_024,
            output_mb: 16_384,
            file_mb: 16_384,
            execute_vault_files: false,
        }
    }
}

impl CommandSettings {
    /// Describes each setting that grants more than the default.
    pub fn extra_permissions(&self) -> Vec<String> {
        let default = CommandSettings::default();
        let mut descriptions = Vec::new();
        if self.sandbox == SandboxRequirement::Off {
            descriptions.push("commands run without a sandbox".to_owned());
        }
        if self.network {
            descriptions.push("commands reach the network".to_owned());
        }
        if !self.readable.is_empty() {
            let folders: Vec<String> = self.readable.iter().map(|path| path.display().to_string()).collect();
            descriptions.push(format!("commands read {}, and reach the sockets in it", folders.join(", ")));
        }
        if !self.env.is_empty() {
            descriptions.push(format!("commands get the variables {}", self.env.join(", ")));
        }
        if self.path != default.path {
            descriptions.push(format!("commands find programs in {}", self.path));
        }
        if self.execute_vault_files {
            descriptions.push("commands that a rule allows execute any file of the vault".to_owned());
        }
        let limits = [
            ("memory_mb", self.memory_mb, default.memory_mb),
            ("processes", self.processes, default.processes),
            ("open_files", self.open_files, default.open_files),
            ("output_mb", self.output_mb, default.output_mb),
            ("file_mb", self.file_mb, default.file_mb),
        ];
        let raised = limits.into_iter().filter(|(_, set, default)| set > default);
        descriptions.extend(raised.map(|(name, set, _)| format!("commands may use more: {name} is {set}")));
        descriptions
    }

    /// Returns the sandbox of a command. Fails if one is required and cannot be built. The available sandboxes are only
    /// asked for if one is required.
    pub(crate) fn sandbox_kind(
        &self,
        sandboxes: impl FnOnce() -> AvailableSandboxes,
    ) -> Result<SandboxKind, Fault> {
        match self.sandbox {
            SandboxRequirement::Off => Ok(SandboxKind::Unsandboxed),
            SandboxRequirement::Required => sandboxes().require(),
        }
    }

    pub(crate) fn limits(&self) -> ResourceLimits {
        ResourceLimits {
            memory_bytes: self.memory_mb.saturating_mul(MEGABYTE),
            processes: self.processes,
            file_bytes: self.file_mb.saturating_mul(MEGABYTE),
            open_files: self.open_files,
        }
    }

    pub(crate) fn output_bytes(&self) -> u64 {
        self.output_mb.saturating_mul(MEGABYTE)
    }
}
