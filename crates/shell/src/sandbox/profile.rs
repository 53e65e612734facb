//! The sandbox profile of a command, and the command to start in it.

use std::ffi::OsString;
use std::path::PathBuf;

use envelope::{Failure, Fault};
use serde::{Deserialize, Serialize};

use super::exec_policy::ExecPolicy;
use super::workdir::outside_root;

/// What one command can access. It comes from the settings; no part of it comes from the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxProfile {
    /// The vault, as a real path: the only folder of the user that a command can change; a server may have others.
    pub root: PathBuf,
    /// Names at the top of the root that are read-only, and that cannot be created if they do not exist.
    pub protected: Vec<String>,
    /// Names at the top of the root that are protected, and whose contents are not readable either.
    pub hidden: Vec<String>,
    /// Readable folders outside the root.
    pub readable: Vec<PathBuf>,
    /// Folders outside of the root that can be changed.
    pub writable: Vec<PathBuf>,
    pub network: bool,
    pub exec: ExecPolicy,
    pub limits: ResourceLimits,
}

/// Resource limits of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Data of one process. Shared mappings are not counted.
    pub memory_bytes: u64,
    /// Processes and threads of the whole command.
    pub processes: u64,
    /// Size of one file that the command writes.
    pub file_bytes: u64,
    /// Open files of one process.
    pub open_files: u64,
}

/// Working directory of a program. Many programs load code from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandWorkdir {
    /// Absolute and inside the root, as [`super::resolve_workdir`] returns it.
    Vault(PathBuf),
    /// A private folder, empty at the start and removed at the end.
    Private,
}

/// A command to start in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchSpec {
    pub argv: Vec<OsString>,
    pub workdir: CommandWorkdir,
    /// The complete environment: nothing is inherited. In a sandbox `HOME` and `TMPDIR` are replaced by private
    /// folders.
    pub env: Vec<(OsString, OsString)>,
    /// Whether standard input is a terminal that becomes the controlling terminal of the command.
    pub tty: bool,
    /// Descriptor of a [`super::StartNotifier`] that the process inherits, if the start of the command is to be
    /// reported.
    pub start_notifier: Option<i32>,
}

impl LaunchSpec {
    /// Returns the program and its arguments. Fails without a program, or if the folder is outside of the vault.
    pub(crate) fn check(&self, profile: &SandboxProfile) -> Result<(&OsString, &[OsString]), Fault> {
        let Some(words) = self.argv.split_first() else {
            return Err(Fault::new(Failure::InvalidArguments, "the command is empty"));
        };
        match &self.workdir {
            CommandWorkdir::Vault(folder) if !folder.starts_with(&profile.root) || !folder.is_dir() => {
                Err(outside_root(&folder.to_string_lossy()))
            }
            CommandWorkdir::Vault(_) | CommandWorkdir::Private => Ok(words),
        }
    }
}
