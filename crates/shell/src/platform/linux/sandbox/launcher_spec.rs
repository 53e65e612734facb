//! The role of the launcher and its specification, as arguments.

use std::ffi::OsString;
use std::path::PathBuf;

use envelope::{Failure, Fault};
use serde::{Deserialize, Serialize};

use super::launcher::LAUNCH;
use super::{SandboxKind, SandboxProfile};

/// Roles of our own binary between the start of a process and the start of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LauncherRole {
    /// Supervises the command, ends with it, and kills its descendants.
    Supervise,
    /// The init process of a PID namespace, which ends with it.
    NamespaceInit,
    /// Applies the restrictions, then becomes the command.
    Inner,
    /// The command of a probe: tries what a sandbox has to refuse.
    ProbeCommand,
    /// Ties another program to the life of the process that asked for it.
    Tether,
}

impl LauncherRole {
    pub(super) const fn name(self) -> &'static str {
        match self {
            LauncherRole::Supervise => "supervise",
            LauncherRole::NamespaceInit => "first",
            LauncherRole::Inner => "inner",
            LauncherRole::ProbeCommand => "trial",
            LauncherRole::Tether => "tether",
        }
    }

    pub(super) fn parse(name: &str) -> Option<LauncherRole> {
        [
            LauncherRole::Supervise,
            LauncherRole::NamespaceInit,
            LauncherRole::Inner,
            LauncherRole::ProbeCommand,
            LauncherRole::Tether,
        ]
        .into_iter()
        .find(|role| role.name() == name)
    }
}

/// Specification of the launcher, besides the command and its environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LauncherSpec {
    pub(super) kind: SandboxKind,
    pub(super) profile: SandboxProfile,
    /// Path of the launcher inside of this sandbox.
    pub(super) launcher: PathBuf,
    /// The process that asked for the command, if the launcher can see it.
    pub(super) parent: Option<u32>,
    /// `HOME` and `TMPDIR` if they are private.
    pub(super) private: Option<PrivateFolders>,
    /// The folder on disk that holds them. The supervisor removes it, too, in case its creator is gone.
    pub(super) scratch: Option<PathBuf>,
    pub(super) tty: bool,
    /// Descriptor of the start notifier.
    pub(super) start_notifier: Option<i32>,
    /// Limit of processes and threads, as the kernel counts them.
    pub(super) tasks: u64,
    /// The control group that the supervisor joins before it starts the command.
    pub(super) group: Option<PathBuf>,
    /// Whether the supervisor has to count processes, because the kernel does not.
    pub(super) counts_processes: bool,
}

/// Folders that only this command uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PrivateFolders {
    pub(super) home: PathBuf,
    pub(super) temporary: PathBuf,
}

impl LauncherSpec {
    /// Returns the arguments that start the launcher: its path, role, specification, and the command.
    pub(super) fn words(&self, role: LauncherRole, argv: &[OsString]) -> Result<Vec<OsString>, Fault> {
        let spec = serde_json::to_string(self).map_err(|error| {
            Fault::new(
                Failure::InvalidArguments,
                format!("the sandbox of a command cannot be described: {error}"),
            )
            .hint("the vault and every readable folder need names that are valid UTF-8")
        })?;
        let mut words: Vec<OsString> =
            vec![self.launcher.clone().into(), LAUNCH.into(), role.name().into(), spec.into(), "--".into()];
        words.extend(argv.iter().cloned());
        Ok(words)
    }

    /// Parses the specification and the command from the arguments after the role.
    pub(super) fn parse(
        mut words: impl Iterator<Item = OsString>,
    ) -> Result<(LauncherSpec, Vec<OsString>), String> {
        let spec =
            words.next().and_then(|spec| spec.into_string().ok()).ok_or("the specification is missing")?;
        let spec = serde_json::from_str(&spec).map_err(|error| error.to_string())?;
        if words.next().is_none_or(|word| word != "--") {
            return Err("`--` is missing".to_owned());
        }
        Ok((spec, words.collect()))
    }
}
