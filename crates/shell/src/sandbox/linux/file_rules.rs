//! Rules for files: the second wall behind bubblewrap, and the first where bubblewrap cannot be had.
//!
//! A rule covers a whole subtree and cannot be taken back further down. That is why, without bubblewrap,
//! nothing new can be made at the top of the vault: whoever may make an entry there may make `.git`.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

use super::spec::Spec;
use super::top::Top;
use super::{Wall, bubblewrap, system};
use crate::sandbox::VaultFiles;

/// The oldest interface that keeps a command from sending signals to processes it did not start.
const NEEDED: ABI = ABI::V6;

/// Devices that hold nothing and are everywhere.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// What the kernel says about itself. What it says about processes is left out, except about the first one of
/// the command: the arguments of other people's programs may hold secrets.
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

/// Holds this process, and whatever it becomes or starts, to the rules.
pub(super) fn apply(spec: &Spec) -> Result<(), String> {
    let enforced = match spec.wall {
        Wall::Bubblewrap => behind_bubblewrap(spec),
        Wall::Landlock => alone(spec),
        Wall::Open => return Ok(()),
    };
    enforced
        .map(|_| ())
        .map_err(|error| format!("the kernel needs Landlock with interface {NEEDED} (Linux 6.12): {error}"))
}

fn named(status: LandlockStatus) -> String {
    match status {
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            format!("ABI {}", kernel_abi.unwrap_or(effective_abi as i32))
        }
        LandlockStatus::NotEnabled => "not enabled".to_owned(),
        LandlockStatus::NotImplemented => "not implemented".to_owned(),
    }
}

/// The mounts decide already; these rules hold if one of them does not, as far as the kernel knows them.
fn behind_bubblewrap(spec: &Spec) -> Result<RestrictionStatus, RulesetError> {
    let writable = [spec.reach.root.as_path(), Path::new(bubblewrap::TEMPORARY), Path::new("/dev")];
    let unless_restricted = without_execute(spec);
    rules(spec, CompatLevel::BestEffort)?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(NEEDED) & unless_restricted))?
        .add_rules(path_beneath_rules(writable, AccessFs::from_all(NEEDED) & unless_restricted))?
        .add_rules(path_beneath_rules(executable(spec, &[]), BitFlags::from(AccessFs::Execute)))?
        .restrict_self()
}

/// Every right, or every one but that to execute where only some files may be executed. A right to a folder holds
/// for all that is below it and cannot be taken back there, so it is given where files may be executed, and only there.
fn without_execute(spec: &Spec) -> BitFlags<AccessFs> {
    match spec.reach.exec.vault_files {
        VaultFiles::All => BitFlags::all(),
        VaultFiles::Only(_) => !BitFlags::from(AccessFs::Execute),
    }
}

/// What may be executed where not everything may: the programs of the system, those in readable folders, and the
/// files of the vault that the call may execute. Neither the vault nor the private folders of the command.
fn executable(spec: &Spec, except: &[PathBuf]) -> Vec<PathBuf> {
    let files = match &spec.reach.exec.vault_files {
        VaultFiles::All => return Vec::new(),
        VaultFiles::Only(files) => files,
    };
    let mut closed = except.to_vec();
    closed.push(spec.reach.root.clone());
    closed.extend(spec.private.iter().flat_map(|private| [private.home.clone(), private.temporary.clone()]));
    let real = |folder: &PathBuf| fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
    let folders = system::real_folders().into_iter().chain(spec.reach.readable.iter().map(real));
    let mut found: Vec<PathBuf> = folders
        .filter(|folder| !folder.starts_with(&spec.reach.root))
        .flat_map(|folder| system::parts_without(&folder, &closed))
        .collect();
    found.push(spec.launcher.clone());
    found.extend(files.iter().cloned());
    found
}

fn alone(spec: &Spec) -> Result<RestrictionStatus, RulesetError> {
    // Without a list of the top there is nothing to grant.
    let top = Top::of(&spec.reach).unwrap_or_default();
    let read = AccessFs::from_read(NEEDED) & without_execute(spec);
    let change = AccessFs::from_all(NEEDED) & without_execute(spec);
    let closed = closed_of_the_system(spec);
    let use_device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let private = spec.private.iter().flat_map(|private| [&private.home, &private.temporary]);
    // The names in folders of which a part is closed can be seen all the same.
    let mut listed: Vec<&Path> = vec![Path::new(system::SETTINGS)];
    let folders = system::real_folders();
    let has_denied = |folder: &&PathBuf| spec.reach.exec.denied.iter().any(|file| file.starts_with(folder));
    listed.extend(folders.iter().filter(has_denied).map(PathBuf::as_path));
    let mut readable: Vec<PathBuf> = of_the_system(spec, &closed);
    if top.hidden.is_empty() {
        readable.push(spec.reach.root.clone());
    } else {
        // The names of what is hidden can be seen, its contents cannot be read.
        listed.push(&spec.reach.root);
        readable.extend(top.wholly_readable().map(Path::to_owned));
    }
    rules(spec, CompatLevel::HardRequirement)?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(listed, BitFlags::from(AccessFs::ReadDir)))?
        .add_rules(path_beneath_rules(top.wholly_open(), change))?
        .add_rules(path_beneath_rules(private, change))?
        .add_rules(path_beneath_rules(executable(spec, &closed), BitFlags::from(AccessFs::Execute)))?
        .add_rules(path_beneath_rules(DEVICES, use_device))?
        .add_rules(path_beneath_rules(own_terminal(spec), use_device))?
        .restrict_self()
}

fn rules(spec: &Spec, level: CompatLevel) -> Result<RulesetCreated, RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(NEEDED))?
        .scope(Scope::from_all(NEEDED))?;
    let rules = if spec.reach.network { rules } else { rules.handle_access(AccessNet::from_all(NEEDED))? };
    rules.create()
}

/// Files and folders of the system that this command may neither read nor execute.
fn closed_of_the_system(spec: &Spec) -> Vec<PathBuf> {
    let mut closed = system::secrets();
    closed.extend(spec.reach.exec.denied.iter().cloned());
    closed
}

fn of_the_system(spec: &Spec, closed: &[PathBuf]) -> Vec<PathBuf> {
    let mut readable: Vec<PathBuf> = KERNEL.iter().map(PathBuf::from).collect();
    for folder in system::real_folders() {
        readable.extend(system::parts_without(&folder, closed));
    }
    readable.extend(system::resolver().filter(|_| spec.reach.network));
    readable.extend(spec.reach.readable.iter().flat_map(|folder| system::parts_without(folder, closed)));
    readable.push(spec.launcher.clone());
    readable
}

/// Programs open their terminal again by its name.
fn own_terminal(spec: &Spec) -> Option<PathBuf> {
    let terminal = fs::read_link("/proc/self/fd/0").ok()?;
    (spec.tty && terminal.starts_with("/dev/pts")).then_some(terminal)
}

/// Which interface the kernel has. It can only be learnt by taking on a rule, here one that changes little.
pub(super) fn version() -> String {
    let rules = Ruleset::default().handle_access(AccessFs::MakeBlock).and_then(Ruleset::create);
    match rules.and_then(RulesetCreated::restrict_self) {
        Ok(status) => named(status.landlock),
        Err(error) => error.to_string(),
    }
}
