//! How far a command may reach, and what is started inside that reach.

use std::ffi::OsString;
use std::path::PathBuf;

use envelope::{Failure, Fault};
use serde::{Deserialize, Serialize};

use super::exec_policy::ExecPolicy;
use super::workdir::outside;

/// What one command may touch. The policy decides it; no part of it comes from the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// The vault: canonical, the only folder of the person's that a command can change.
    pub root: PathBuf,
    /// Names at the top of the root that stay as they are, and stay absent when they are absent.
    pub protected: Vec<String>,
    /// Names at the top of the root that are protected, and whose contents a command cannot read either.
    pub hidden: Vec<String>,
    /// Folders outside the root that may be read.
    pub readable: Vec<PathBuf>,
    pub network: bool,
    pub exec: ExecPolicy,
    pub limits: Limits,
}

/// How much a command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Data of one process; shared mappings are not counted.
    pub memory_bytes: u64,
    /// Processes and threads of the command, all in all.
    pub processes: u64,
    /// Size of one file that the command writes.
    pub file_bytes: u64,
    /// Files that one process holds open.
    pub open_files: u64,
}

/// Where a program starts. Many load code from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workdir {
    /// Absolute and inside the root, as [`super::resolve_workdir`] gives it.
    Vault(PathBuf),
    /// A folder of its own, empty when it starts and gone when it ends.
    Private,
}

/// What is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub argv: Vec<OsString>,
    pub workdir: Workdir,
    /// The complete environment: nothing else is inherited. Behind a wall `HOME` and `TMPDIR` are private
    /// folders, whatever stands here.
    pub env: Vec<(OsString, OsString)>,
    /// Whether standard input is a terminal that becomes the command's own.
    pub tty: bool,
    /// The number of a [`super::Doorbell`] that the process inherits, where somebody wants to know whether the
    /// command was reached.
    pub bell: Option<i32>,
}

impl Launch {
    /// The program and its arguments, if there are any and the folder is one of the vault's.
    pub(super) fn checked(&self, reach: &Reach) -> Result<(&OsString, &[OsString]), Fault> {
        let Some(words) = self.argv.split_first() else {
            return Err(Fault::new(Failure::InvalidArguments, "the command is empty"));
        };
        match &self.workdir {
            Workdir::Vault(folder) if !folder.starts_with(&reach.root) || !folder.is_dir() => {
                Err(outside(&folder.to_string_lossy()))
            }
            Workdir::Vault(_) | Workdir::Private => Ok(words),
        }
    }
}
