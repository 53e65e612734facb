//! What the launcher is told: which part it plays, and around what.

use std::ffi::OsString;
use std::path::PathBuf;

use envelope::{Failure, Fault};
use serde::{Deserialize, Serialize};

use super::launcher::LAUNCH;
use super::{Reach, Wall};

/// The parts that our own binary plays between the start of a process and the start of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Stays with the command, ends with it, and leaves nothing of it running.
    Supervise,
    /// Is the first process of a process table, which ends with it.
    First,
    /// Takes away what the command must not have, then becomes the command.
    Inner,
    /// Is the command: tries what a wall has to refuse.
    Trial,
    /// Ties what it becomes to the life of the process that asked for it.
    Tether,
}

impl Role {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Role::Supervise => "supervise",
            Role::First => "first",
            Role::Inner => "inner",
            Role::Trial => "trial",
            Role::Tether => "tether",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Role> {
        [Role::Supervise, Role::First, Role::Inner, Role::Trial, Role::Tether]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

/// Everything the launcher has to know besides the command and its environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) wall: Wall,
    pub(super) reach: Reach,
    /// Where the launcher itself is found by a command behind this wall.
    pub(super) launcher: PathBuf,
    /// The process that asked for the command, where the launcher can see it.
    pub(super) parent: Option<u32>,
    /// `HOME` and `TMPDIR`, where they are private.
    pub(super) private: Option<Private>,
    /// The folder on disk that they lie in. It goes with the command, also when nobody is left who made it.
    pub(super) scratch: Option<PathBuf>,
    pub(super) tty: bool,
    /// What is rung when the command is reached.
    pub(super) bell: Option<i32>,
    /// Processes and threads that may exist where the kernel counts them.
    pub(super) tasks: u64,
    /// The control group that the supervisor joins before it starts the command.
    pub(super) group: Option<PathBuf>,
    /// Whether the supervisor has to count processes, since the kernel does not.
    pub(super) counts_processes: bool,
}

/// The folders that a command may fill and that nobody else looks into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Private {
    pub(super) home: PathBuf,
    pub(super) temporary: PathBuf,
}

impl Spec {
    /// The words that start the launcher: itself, its part, what it is told, and the command.
    pub(super) fn words(&self, role: Role, argv: &[OsString]) -> Result<Vec<OsString>, Fault> {
        let told = serde_json::to_string(self).map_err(|error| {
            Fault::new(
                Failure::InvalidArguments,
                format!("the sandbox of a command cannot be described: {error}"),
            )
            .hint("the vault and every readable folder need names that are valid UTF-8")
        })?;
        let mut words: Vec<OsString> =
            vec![self.launcher.clone().into(), LAUNCH.into(), role.name().into(), told.into(), "--".into()];
        words.extend(argv.iter().cloned());
        Ok(words)
    }

    /// What the launcher was told, and the command, from the words after the role.
    pub(super) fn parse(mut words: impl Iterator<Item = OsString>) -> Result<(Spec, Vec<OsString>), String> {
        let told = words.next().and_then(|told| told.into_string().ok()).ok_or("it is told nothing")?;
        let spec = serde_json::from_str(&told).map_err(|error| error.to_string())?;
        if words.next().is_none_or(|word| word != "--") {
            return Err("`--` is missing".to_owned());
        }
        Ok((spec, words.collect()))
    }
}
