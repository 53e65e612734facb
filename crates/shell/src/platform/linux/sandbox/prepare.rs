//! Prepares the process of a command from its sandbox profile.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use envelope::{Failure, Fault};

use super::launcher::LAUNCH;
use super::launcher_spec::{LauncherRole, LauncherSpec, PrivateFolders};
use super::limits::ProcessLimiter;
use super::nested_entries::NestedEntries;
use super::placeholder::FolderPlaceholder;
use super::top_level::TopLevelEntries;
use super::{
    LaunchSpec, SandboxKind, SandboxProfile, bubblewrap, environment, limits, setup_hint, system_folders,
};
use crate::sandbox::CommandWorkdir;
use crate::sandbox::ScratchFolder;
use crate::sandbox::sandbox_unavailable;

/// A process that is ready to be started, and its resources.
#[derive(Debug)]
pub struct PreparedCommand {
    /// The caller sets the standard streams, and a process group if it wants one.
    pub command: Command,
    /// Must be kept until the process has ended.
    pub resources: SandboxResources,
}

/// Files, folders and control groups that were made for one command. Dropping it removes them.
#[derive(Debug, Default)]
pub struct SandboxResources {
    /// The nested protected entries before the command.
    nested: Option<NestedEntries>,
    _placeholders: Vec<FolderPlaceholder>,
    _scratch: Option<ScratchFolder>,
    holder: Option<ProcessLimiter>,
}

impl SandboxResources {
    /// Returns warnings for the user after the command has ended, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let nested = self.nested.iter().flat_map(NestedEntries::changes);
        self.holder.iter().filter_map(ProcessLimiter::warning).chain(nested).collect()
    }
}

/// Prepares a command in a sandbox. Does not start it.
///
/// Contract for the caller:
/// - Start the process from a thread that lives as long as the process: everything in the sandbox ends when that thread
///   ends. That is how a killed tollgate leaves no process running.
/// - The process may get a process group; the session is made here.
/// - `SIGTERM` to the process ends the command with everything it started, at once. `SIGKILL` does so for bubblewrap
///   only: elsewhere it kills the supervisor.
/// - The exit code is the command's own, or 128 plus the number of the signal that ended it, or 127 or 126 if its
///   program is missing or cannot be run, or 125 if the sandbox could not be built after all. A command can exit with
///   any of them as well; [`super::StartSignal`] tells the cases apart.
/// - Limits apply to the command. Its output must go through a pipe or a terminal: a file as standard output would be
///   subject to the size limit of files.
/// - Without bubblewrap a command can change existing entries of the vault, but create none at its top level.
pub fn prepare_command(
    kind: SandboxKind,
    profile: &SandboxProfile,
    launch: &LaunchSpec,
    launcher: &Path,
) -> Result<PreparedCommand, Fault> {
    launch.check(profile)?;
    if kind != SandboxKind::Unsandboxed
        && system_folders::FOLDERS.iter().any(|folder| Path::new(folder).starts_with(&profile.root))
    {
        let root = profile.root.display();
        return Err(Fault::new(
            Failure::SandboxViolation,
            format!("the vault {root} holds folders of the system, which no command may change"),
        )
        .hint("use a folder for notes as the vault"));
    }
    match kind {
        SandboxKind::Bubblewrap => prepare_bubblewrap(profile, launch, launcher),
        SandboxKind::Landlock => prepare_landlock(profile, launch, launcher),
        SandboxKind::Unsandboxed => prepare_unsandboxed(profile, launch, launcher),
    }
}

fn prepare_unsandboxed(
    profile: &SandboxProfile,
    launch: &LaunchSpec,
    launcher: &Path,
) -> Result<PreparedCommand, Fault> {
    let scratch = match &launch.workdir {
        CommandWorkdir::Vault(_) => None,
        CommandWorkdir::Private => Some(ScratchFolder::new().map_err(|error| no_private_folder(&error))?),
    };
    let holder = ProcessLimiter::new(&profile.limits);
    let own = scratch.as_ref().map(|scratch| scratch.path().to_owned());
    let spec = LauncherSpec {
        scratch: own.clone(),
        ..spec(SandboxKind::Unsandboxed, profile, launch, launcher, &holder)
    };
    let words = spec.words(LauncherRole::Supervise, &launch.argv)?;
    let command = launcher_process(&words, launch, own.as_deref().unwrap_or(Path::new("/")));
    let resources =
        SandboxResources { _scratch: scratch, holder: Some(holder), ..SandboxResources::default() };
    Ok(PreparedCommand { command, resources })
}

fn prepare_bubblewrap(
    profile: &SandboxProfile,
    launch: &LaunchSpec,
    launcher: &Path,
) -> Result<PreparedCommand, Fault> {
    let program = bubblewrap::program()
        .ok_or_else(|| sandbox_unavailable("bubblewrap is not installed", setup_hint::command()))?;
    let placeholders = hold_absent_names(profile)?;
    let top = TopLevelEntries::of(profile).map_err(|error| not_protectable(&profile.root, &error))?;
    refuse_unholdable(&top)?;
    let private = PrivateFolders { home: bubblewrap::HOME.into(), temporary: bubblewrap::TEMPORARY.into() };
    let holder = ProcessLimiter::new(&profile.limits);
    let spec = LauncherSpec {
        launcher: bubblewrap::LAUNCHER.into(),
        // It is outside of the PID namespace.
        parent: None,
        private: Some(private),
        // The cgroup tree is not visible inside, so the group is joined before.
        group: None,
        ..spec(SandboxKind::Bubblewrap, profile, launch, launcher, &holder)
    };
    let role = if spec.counts_processes { LauncherRole::Supervise } else { LauncherRole::Inner };
    let own = std::process::id().to_string();
    let group = holder.group().map(OsString::from).unwrap_or_default();
    let mut words: Vec<OsString> =
        vec![launcher.into(), LAUNCH.into(), LauncherRole::Tether.name().into(), own.into(), group];
    words.push(program.into());
    words.extend(bubblewrap::arguments(profile, &top, launch, launcher));
    words.push("--".into());
    words.extend(spec.words(role, &launch.argv)?);
    let resources = SandboxResources {
        nested: Some(top.nested),
        _placeholders: placeholders,
        _scratch: None,
        holder: Some(holder),
    };
    // Bubblewrap changes to the private folder itself: it does not exist outside.
    Ok(PreparedCommand { command: launcher_process(&words, launch, Path::new("/")), resources })
}

fn prepare_landlock(
    profile: &SandboxProfile,
    launch: &LaunchSpec,
    launcher: &Path,
) -> Result<PreparedCommand, Fault> {
    let top = TopLevelEntries::of(profile).map_err(|error| not_protectable(&profile.root, &error))?;
    refuse_unholdable(&top)?;
    let made = ScratchFolder::new().and_then(|scratch| {
        let private = PrivateFolders {
            home: create_folder(scratch.path(), "home")?,
            temporary: create_folder(scratch.path(), "tmp")?,
        };
        Ok((scratch, private))
    });
    let (scratch, private) = made.map_err(|error| no_private_folder(&error))?;
    let holder = ProcessLimiter::new(&profile.limits);
    let home = private.home.clone();
    let spec = LauncherSpec {
        private: Some(private),
        scratch: Some(scratch.path().to_owned()),
        ..spec(SandboxKind::Landlock, profile, launch, launcher, &holder)
    };
    let command = launcher_process(&spec.words(LauncherRole::Supervise, &launch.argv)?, launch, &home);
    let resources = SandboxResources {
        nested: Some(top.nested),
        _placeholders: Vec::new(),
        _scratch: Some(scratch),
        holder: Some(holder),
    };
    Ok(PreparedCommand { command, resources })
}

fn create_folder(parent: &Path, name: &str) -> io::Result<PathBuf> {
    let path = parent.join(name);
    fs::create_dir(&path).map(|()| path)
}

fn spec(
    kind: SandboxKind,
    profile: &SandboxProfile,
    launch: &LaunchSpec,
    launcher: &Path,
    holder: &ProcessLimiter,
) -> LauncherSpec {
    LauncherSpec {
        kind,
        profile: profile.clone(),
        launcher: launcher.to_owned(),
        parent: Some(std::process::id()),
        private: None,
        scratch: None,
        tty: launch.tty,
        start_notifier: launch.start_notifier,
        tasks: limits::task_limit(kind, &profile.limits),
        group: holder.group().map(Path::to_owned),
        counts_processes: holder.counts(),
    }
}

/// Creates placeholders for all protected names that are missing, as mount points.
fn hold_absent_names(profile: &SandboxProfile) -> Result<Vec<FolderPlaceholder>, Fault> {
    let mut held = Vec::new();
    for name in profile.protected.iter().chain(&profile.hidden) {
        let path = profile.root.join(name);
        held.extend(FolderPlaceholder::acquire(&path).map_err(|error| not_protectable(&path, &error))?);
    }
    Ok(held)
}

/// Fails if a protected name could be replaced by a command.
fn refuse_unholdable(top: &TopLevelEntries) -> Result<(), Fault> {
    let Some(path) = &top.unholdable else { return Ok(()) };
    let message = format!(
        "{} cannot be protected from commands: it is a link into the vault, or neither a file nor a folder",
        path.display()
    );
    Err(Fault::new(Failure::SandboxViolation, message)
        .hint("put the folder itself there, or let the link point out of the vault"))
}

fn not_protectable(path: &Path, error: &io::Error) -> Fault {
    Fault::new(
        Failure::ExecutionFailed,
        format!("{} cannot be protected from the command: {error}", path.display()),
    )
}

fn no_private_folder(error: &io::Error) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("no private folder can be made for the command: {error}"))
}

/// Returns a process with these arguments, in the command's folder, with the command's environment packed.
#[allow(clippy::disallowed_methods, reason = "the environment is built, and the sandbox ends the process")]
fn launcher_process(words: &[OsString], launch: &LaunchSpec, private: &Path) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().cloned().unwrap_or_default());
    let workdir = match &launch.workdir {
        CommandWorkdir::Vault(folder) => folder,
        CommandWorkdir::Private => private,
    };
    command.args(words).current_dir(workdir).env_clear().envs(environment::pack_environment(&launch.env));
    command
}
