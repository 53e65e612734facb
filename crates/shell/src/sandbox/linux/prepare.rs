//! From a reach and a command to a process that can be started.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;

use envelope::{Failure, Fault};

use super::launcher::LAUNCH;
use super::limits::Holder;
use super::nested::Nested;
use super::placeholder::Placeholder;
use super::spec::{Private, Role, Spec};
use super::top::Top;
use super::{Launch, Reach, Wall, bubblewrap, environment, limits, mending, system};
use crate::sandbox::Workdir;
use crate::sandbox::scratch::Scratch;
use crate::sandbox::wall::no_wall;

/// A process that is ready to be started, and what was made for it.
#[derive(Debug)]
pub struct Prepared {
    /// Standard input, output and error are the caller's to set, and a process group if it wants one.
    pub command: Command,
    /// Has to be kept until the process has ended.
    pub leftovers: Leftovers,
}

/// What was made on disk for one command. Dropping it takes that away again.
#[derive(Debug, Default)]
pub struct Leftovers {
    /// The protected entries further down in the vault as they were before the command.
    nested: Option<Nested>,
    _placeholders: Vec<Placeholder>,
    _scratch: Option<Scratch>,
    holder: Option<Holder>,
}

impl Leftovers {
    /// What the user has to know about the vault now that the command has ended, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let nested = self.nested.iter().flat_map(Nested::changes);
        self.holder.iter().filter_map(Holder::warning).chain(nested).collect()
    }
}

/// Prepares a command behind a wall. Nothing is started yet.
///
/// What the caller has to know:
/// - Start the process from a thread that lives as long as the process: everything behind the wall ends
///   when that thread ends, which is how a killed tollgate leaves nothing running.
/// - The process may be given a group of its own; the session is made here.
/// - `SIGTERM` to the process ends the command with everything it started, at once. `SIGKILL` does so for
///   bubblewrap only: elsewhere it ends the one that would do the rest.
/// - The exit code is the command's own, 128 and the number of the signal that ended it, 127 or 126 when its
///   program is missing or cannot be run, 125 when the wall could not be built after all. A command can end with
///   any of them as well; [`super::Threshold`] tells whether there was a command.
/// - Limits hold for the command. Its output must go through a pipe or a terminal: a file as standard output
///   would be held to the size limit of files.
/// - Without bubblewrap a command can change what is in the vault, but make nothing new at its top.
pub fn command(wall: Wall, reach: &Reach, launch: &Launch, launcher: &Path) -> Result<Prepared, Fault> {
    launch.checked(reach)?;
    if wall != Wall::Open && system::FOLDERS.iter().any(|folder| Path::new(folder).starts_with(&reach.root)) {
        let root = reach.root.display();
        return Err(Fault::new(
            Failure::SandboxViolation,
            format!("the vault {root} holds folders of the system, which no command may change"),
        )
        .hint("use a folder for notes as the vault"));
    }
    match wall {
        Wall::Bubblewrap => in_bubblewrap(reach, launch, launcher),
        Wall::Landlock => with_file_rules(reach, launch, launcher),
        Wall::Open => without_wall(reach, launch, launcher),
    }
}

fn without_wall(reach: &Reach, launch: &Launch, launcher: &Path) -> Result<Prepared, Fault> {
    let scratch = match &launch.workdir {
        Workdir::Vault(_) => None,
        Workdir::Private => Some(Scratch::new().map_err(|error| no_private_folder(&error))?),
    };
    let holder = Holder::new(&reach.limits);
    let own = scratch.as_ref().map(|scratch| scratch.path().to_owned());
    let spec = Spec { scratch: own.clone(), ..spec(Wall::Open, reach, launch, launcher, &holder) };
    let words = spec.words(Role::Supervise, &launch.argv)?;
    let command = starting(&words, launch, own.as_deref().unwrap_or(Path::new("/")));
    let leftovers = Leftovers { _scratch: scratch, holder: Some(holder), ..Leftovers::default() };
    Ok(Prepared { command, leftovers })
}

fn in_bubblewrap(reach: &Reach, launch: &Launch, launcher: &Path) -> Result<Prepared, Fault> {
    let program =
        bubblewrap::program().ok_or_else(|| no_wall("bubblewrap is not installed", mending::command()))?;
    let placeholders = hold_absent(reach)?;
    let top = Top::of(reach).map_err(|error| unusable(&reach.root, &error))?;
    refuse_unholdable(&top)?;
    let private = Private { home: bubblewrap::HOME.into(), temporary: bubblewrap::TEMPORARY.into() };
    let holder = Holder::new(&reach.limits);
    let spec = Spec {
        launcher: bubblewrap::LAUNCHER.into(),
        // It is in another process table.
        parent: None,
        private: Some(private),
        // Inside there is no way to it, so it is joined before.
        group: None,
        ..spec(Wall::Bubblewrap, reach, launch, launcher, &holder)
    };
    let role = if spec.counts_processes { Role::Supervise } else { Role::Inner };
    let own = std::process::id().to_string();
    let group = holder.group().map(OsString::from).unwrap_or_default();
    let mut words: Vec<OsString> =
        vec![launcher.into(), LAUNCH.into(), Role::Tether.name().into(), own.into(), group];
    words.push(program.into());
    words.extend(bubblewrap::arguments(reach, &top, launch, launcher));
    words.push("--".into());
    words.extend(spec.words(role, &launch.argv)?);
    let leftovers = Leftovers {
        nested: Some(top.nested),
        _placeholders: placeholders,
        _scratch: None,
        holder: Some(holder),
    };
    // Bubblewrap goes to the private folder itself: outside there is none.
    Ok(Prepared { command: starting(&words, launch, Path::new("/")), leftovers })
}

fn with_file_rules(reach: &Reach, launch: &Launch, launcher: &Path) -> Result<Prepared, Fault> {
    let top = Top::of(reach).map_err(|error| unusable(&reach.root, &error))?;
    refuse_unholdable(&top)?;
    let made = Scratch::new().and_then(|scratch| {
        let private = Private { home: scratch.folder("home")?, temporary: scratch.folder("tmp")? };
        Ok((scratch, private))
    });
    let (scratch, private) = made.map_err(|error| no_private_folder(&error))?;
    let holder = Holder::new(&reach.limits);
    let home = private.home.clone();
    let spec = Spec {
        private: Some(private),
        scratch: Some(scratch.path().to_owned()),
        ..spec(Wall::Landlock, reach, launch, launcher, &holder)
    };
    let command = starting(&spec.words(Role::Supervise, &launch.argv)?, launch, &home);
    let leftovers = Leftovers {
        nested: Some(top.nested),
        _placeholders: Vec::new(),
        _scratch: Some(scratch),
        holder: Some(holder),
    };
    Ok(Prepared { command, leftovers })
}

fn spec(wall: Wall, reach: &Reach, launch: &Launch, launcher: &Path, holder: &Holder) -> Spec {
    Spec {
        wall,
        reach: reach.clone(),
        launcher: launcher.to_owned(),
        parent: Some(std::process::id()),
        private: None,
        scratch: None,
        tty: launch.tty,
        bell: launch.bell,
        tasks: limits::tasks(wall, &reach.limits),
        group: holder.group().map(Path::to_owned),
        counts_processes: holder.counts(),
    }
}

/// Stands something on every protected name, so that a mount can be put on it.
fn hold_absent(reach: &Reach) -> Result<Vec<Placeholder>, Fault> {
    let mut held = Vec::new();
    for name in reach.protected.iter().chain(&reach.hidden) {
        let path = reach.root.join(name);
        held.extend(Placeholder::hold(&path).map_err(|error| unusable(&path, &error))?);
    }
    Ok(held)
}

/// A protected name that a command could turn into something else.
fn refuse_unholdable(top: &Top) -> Result<(), Fault> {
    let Some(path) = &top.unholdable else { return Ok(()) };
    let message = format!(
        "{} cannot be protected from commands: it is a link into the vault, or no file",
        path.display()
    );
    Err(Fault::new(Failure::SandboxViolation, message)
        .hint("put the folder itself there, or let the link lead out of the vault"))
}

fn unusable(path: &Path, error: &io::Error) -> Fault {
    Fault::new(
        Failure::ExecutionFailed,
        format!("{} cannot be protected from the command: {error}", path.display()),
    )
}

fn no_private_folder(error: &io::Error) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("no private folder can be made for the command: {error}"))
}

/// A process with these words, in the command's folder, with the command's environment packed.
#[allow(clippy::disallowed_methods, reason = "the environment is built, and the wall sees to the end")]
fn starting(words: &[OsString], launch: &Launch, private: &Path) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().cloned().unwrap_or_default());
    let workdir = match &launch.workdir {
        Workdir::Vault(folder) => folder,
        Workdir::Private => private,
    };
    command.args(words).current_dir(workdir).env_clear().envs(environment::packed(&launch.env));
    command
}
