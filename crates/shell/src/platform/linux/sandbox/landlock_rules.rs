//! Landlock rules for files: the second layer inside of bubblewrap, and the first without it.
//!
//! A rule covers a whole subtree and has no exceptions below. That is why, without bubblewrap, no new entry can be made
//! at the top of the vault: the right to make an entry there includes `.git`.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

use super::launcher_spec::LauncherSpec;
use super::top_level::TopLevelEntries;
use super::{SandboxKind, bubblewrap, system_folders};
use crate::sandbox::VaultFiles;

/// The oldest ABI that keeps a command from signalling processes it did not start.
const NEEDED: ABI = ABI::V6;

/// Devices without contents that exist on every system.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Information about the kernel. Of processes, only the first one of the command is readable: the arguments of other
/// programs may hold secrets.
const KERNEL: [&str; 11] = [
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/version",
    "/proc/filesystems",
    "/proc/cgroups",
    "/proc/sys",
    "/sys/devices/system/cpu",
];

/// Applies the rules to this process and everything that it becomes or starts.
pub(super) fn apply(spec: &LauncherSpec) -> Result<(), String> {
    let enforced = match spec.kind {
        SandboxKind::Bubblewrap => restrict_in_bubblewrap(spec),
        SandboxKind::Landlock => restrict_alone(spec),
        SandboxKind::Unsandboxed => return Ok(()),
    };
    enforced
        .map(|_| ())
        .map_err(|error| format!("the kernel needs Landlock with interface {NEEDED} (Linux 6.12): {error}"))
}

fn describe_status(status: LandlockStatus) -> String {
    match status {
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            format!("ABI {}", kernel_abi.unwrap_or(effective_abi as i32))
        }
        LandlockStatus::NotEnabled => "not enabled".to_owned(),
        LandlockStatus::NotImplemented => "not implemented".to_owned(),
    }
}

/// The mounts decide already. These rules are a second layer in case a mount does not hold, as far as the kernel
/// supports them.
fn restrict_in_bubblewrap(spec: &LauncherSpec) -> Result<RestrictionStatus, RulesetError> {
    let writable = [spec.profile.root.as_path(), Path::new(bubblewrap::TEMPORARY), Path::new("/dev")];
    let writable = writable.into_iter().chain(spec.profile.writable.iter().map(PathBuf::as_path));
    let unless_restricted = without_execute(spec);
    ruleset(spec, CompatLevel::BestEffort)?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(NEEDED) & unless_restricted))?
        .add_rules(path_beneath_rules(writable, AccessFs::from_all(NEEDED) & unless_restricted))?
        .add_rules(path_beneath_rules(executable(spec, &[]), BitFlags::from(AccessFs::Execute)))?
        .restrict_self()
}

/// Returns all rights, or all but the right to execute if only some files are executable. A right to a folder covers
/// its whole subtree and has no exceptions, so the right to execute is granted separately.
fn without_execute(spec: &LauncherSpec) -> BitFlags<AccessFs> {
    match spec.profile.exec.vault_files {
        VaultFiles::All => BitFlags::all(),
        VaultFiles::Only(_) => !BitFlags::from(AccessFs::Execute),
    }
}

/// Returns the executable paths if not everything is executable: programs of the system, programs in readable folders,
/// and the files of the vault that the call may execute. The rest of the vault and the private folders are left out.
fn executable(spec: &LauncherSpec, except: &[PathBuf]) -> Vec<PathBuf> {
    let files = match &spec.profile.exec.vault_files {
        VaultFiles::All => return Vec::new(),
        VaultFiles::Only(files) => files,
    };
    let mut closed = except.to_vec();
    closed.push(spec.profile.root.clone());
    closed.extend(spec.private.iter().flat_map(|private| [private.home.clone(), private.temporary.clone()]));
    let real = |folder: &PathBuf| fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
    let folders = system_folders::real_folders().into_iter().chain(spec.profile.readable.iter().map(real));
    let mut found: Vec<PathBuf> = folders
        .filter(|folder| !folder.starts_with(&spec.profile.root))
        .flat_map(|folder| system_folders::subtrees_without(&folder, &closed))
        .collect();
    found.push(spec.launcher.clone());
    found.extend(files.iter().cloned());
    found
}

fn restrict_alone(spec: &LauncherSpec) -> Result<RestrictionStatus, RulesetError> {
    // Without a list of the top level there is nothing to grant.
    let top = TopLevelEntries::of(&spec.profile).unwrap_or_default();
    let read = AccessFs::from_read(NEEDED) & without_execute(spec);
    let change = AccessFs::from_all(NEEDED) & without_execute(spec);
    let closed = closed_system_paths(spec);
    let use_device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let private = spec.private.iter().flat_map(|private| [&private.home, &private.temporary]);
    // In a folder with a closed part, all names are still visible.
    let mut listed: Vec<&Path> = vec![Path::new(system_folders::SETTINGS)];
    let folders = system_folders::real_folders();
    let has_denied = |folder: &&PathBuf| spec.profile.exec.denied.iter().any(|file| file.starts_with(folder));
    listed.extend(folders.iter().filter(has_denied).map(PathBuf::as_path));
    let mut readable: Vec<PathBuf> = readable_system_paths(spec, &closed);
    if top.hidden.is_empty() {
        readable.push(spec.profile.root.clone());
    } else {
        // The names of hidden entries are visible; their contents are not readable.
        listed.push(&spec.profile.root);
        readable.extend(top.readable_entries().map(Path::to_owned));
    }
    ruleset(spec, CompatLevel::HardRequirement)?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(listed, BitFlags::from(AccessFs::ReadDir)))?
        .add_rules(path_beneath_rules(top.writable(), change))?
        .add_rules(path_beneath_rules(&spec.profile.writable, change))?
        .add_rules(path_beneath_rules(private, change))?
        .add_rules(path_beneath_rules(executable(spec, &closed), BitFlags::from(AccessFs::Execute)))?
        .add_rules(path_beneath_rules(DEVICES, use_device))?
        .add_rules(path_beneath_rules(own_terminal(spec), use_device))?
        .restrict_self()
}

fn ruleset(spec: &LauncherSpec, level: CompatLevel) -> Result<RulesetCreated, RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(NEEDED))?
        .scope(Scope::from_all(NEEDED))?;
    let rules =
        if spec.profile.network { rules } else { rules.handle_access(AccessNet::from_all(NEEDED))? };
    rules.create()
}

/// Returns files and folders of the system that this command can neither read nor execute.
fn closed_system_paths(spec: &LauncherSpec) -> Vec<PathBuf> {
    let mut closed = system_folders::secret_paths();
    closed.extend(spec.profile.exec.denied.iter().cloned());
    closed
}

fn readable_system_paths(spec: &LauncherSpec, closed: &[PathBuf]) -> Vec<PathBuf> {
    let mut readable: Vec<PathBuf> = KERNEL.iter().map(PathBuf::from).collect();
    for folder in system_folders::real_folders() {
        readable.extend(system_folders::subtrees_without(&folder, closed));
    }
    readable.extend(system_folders::resolver().filter(|_| spec.profile.network));
    readable.extend(
        spec.profile.readable.iter().flat_map(|folder| system_folders::subtrees_without(folder, closed)),
    );
    readable.push(spec.launcher.clone());
    readable
}

/// Programs reopen their terminal by its name.
fn own_terminal(spec: &LauncherSpec) -> Option<PathBuf> {
    let terminal = fs::read_link("/proc/self/fd/0").ok()?;
    (spec.tty && terminal.starts_with("/dev/pts")).then_some(terminal)
}

/// Returns the Landlock ABI of the kernel. It is only known after a rule was applied, here one that changes little.
pub(super) fn version() -> String {
    let rules = Ruleset::default().handle_access(AccessFs::MakeBlock).and_then(Ruleset::create);
    match rules.and_then(RulesetCreated::restrict_self) {
        Ok(status) => describe_status(status.landlock),
        Err(error) => error.to_string(),
    }
}
