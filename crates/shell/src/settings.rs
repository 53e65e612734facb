//! What the owner of a vault lets commands do.

use std::path::PathBuf;

use envelope::Fault;
use serde::{Deserialize, Serialize};

use crate::sandbox::{Limits, Wall, Walls};

const MEGABYTE: u64 = 1 << 20;

/// Whether a command may run where no sandbox can be built around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demand {
    /// No sandbox, no command.
    Required,
    /// Commands run without one. Every record of a command says so.
    Off,
}

/// How far commands reach. What is set here that loosens the walls needs the word of a person outside the vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommandSettings {
    pub sandbox: Demand,
    pub network: bool,
    /// Folders outside the vault that may be read.
    pub readable: Vec<PathBuf>,
    /// Names of variables that are handed on to commands.
    pub env: Vec<String>,
    pub path: String,
    pub memory_mb: u64,
    pub processes: u64,
    pub open_files: u64,
    /// What one command may print.
    pub output_mb: u64,
    /// How large a file that a command writes may become.
    pub file_mb: u64,
    /// Whether a command that only a rule allows may execute files of the vault beyond the program that it names.
    pub execute_vault_files: bool,
}

impl Default for CommandSettings {
    fn default() -> CommandSettings {
        CommandSettings {
            sandbox: Demand::Required,
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
    /// Each setting that lets commands reach further than they would by themselves, in words.
    pub fn loosened(&self) -> Vec<String> {
        let usual = CommandSettings::default();
        let mut said = Vec::new();
        if self.sandbox == Demand::Off {
            said.push("commands run without a sandbox".to_owned());
        }
        if self.network {
            said.push("commands reach the network".to_owned());
        }
        if !self.readable.is_empty() {
            let folders: Vec<String> = self.readable.iter().map(|path| path.display().to_string()).collect();
            said.push(format!("commands read {}, and reach the sockets in it", folders.join(", ")));
        }
        if !self.env.is_empty() {
            said.push(format!("commands get the variables {}", self.env.join(", ")));
        }
        if self.path != usual.path {
            said.push(format!("commands find programs in {}", self.path));
        }
        if self.execute_vault_files {
            said.push("commands that a rule allows execute any file of the vault".to_owned());
        }
        let limits = [
            ("memory_mb", self.memory_mb, usual.memory_mb),
            ("processes", self.processes, usual.processes),
            ("open_files", self.open_files, usual.open_files),
            ("output_mb", self.output_mb, usual.output_mb),
            ("file_mb", self.file_mb, usual.file_mb),
        ];
        let raised = limits.into_iter().filter(|(_, set, usual)| set > usual);
        said.extend(raised.map(|(name, set, _)| format!("commands may use more: {name} is {set}")));
        said
    }

    /// The wall that a command gets, or why it gets none and does not run. The walls are asked for only if one is
    /// demanded.
    pub(crate) fn wall(&self, walls: impl FnOnce() -> Walls) -> Result<Wall, Fault> {
        match self.sandbox {
            Demand::Off => Ok(Wall::Open),
            Demand::Required => walls().demand(),
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
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
