//! From a reach and a command to a process that can be started.

use std::path::Path;
use std::process::Command;

use envelope::{Failure, Fault};

use super::spec::{Role, Spec};
use super::{Launch, Reach, Wall, environment};

/// A process that is ready to be started, and what was made for it.
#[derive(Debug)]
pub struct Prepared {
    /// Standard input, output and error are the caller's to set; nothing else is.
    pub command: Command,
    /// Has to be kept until the process has ended.
    pub leftovers: Leftovers,
}

/// What was made on disk for one command. Dropping it takes that away again.
#[derive(Debug, Default)]
pub struct Leftovers {}

/// Prepares a command behind a wall. Nothing is started yet.
///
/// What the caller has to know:
/// - Start the process from a thread that lives as long as the process: everything behind the wall ends
///   when that thread ends, which is how a killed tollgate leaves nothing running.
/// - The process may be given a group of its own; the session is made here.
/// - `SIGTERM` to the process ends the command with everything it started, at once. `SIGKILL` does so for
///   bubblewrap only: elsewhere it ends the one that would do the rest.
/// - The exit code is the command's own, 128 and the number of the signal that ended it, 127 or 126 when its
///   program is missing or cannot be run, 125 when the wall could not be built after all.
/// - Limits hold for the command. Its output must go through a pipe or a terminal: a file as standard output
///   would be held to the size limit of files.
pub fn command(wall: Wall, reach: &Reach, launch: &Launch, launcher: &Path) -> Result<Prepared, Fault> {
    if launch.argv.is_empty() {
        return Err(Fault::new(Failure::InvalidArguments, "the command is empty"));
    }
    match wall {
        Wall::Bubblewrap | Wall::Landlock => Err(super::wall::no_wall(wall.name())),
        Wall::Open => open(reach, launch, launcher),
    }
}

fn open(reach: &Reach, launch: &Launch, launcher: &Path) -> Result<Prepared, Fault> {
    let spec = Spec {
        wall: Wall::Open,
        reach: reach.clone(),
        launcher: launcher.to_owned(),
        parent: Some(std::process::id()),
        private: None,
        tty: launch.tty,
    };
    let command = starting(&spec.words(Role::Supervise, &launch.argv)?, launch);
    Ok(Prepared { command, leftovers: Leftovers::default() })
}

/// A process with these words, in the command's folder, with the command's environment packed.
#[allow(clippy::disallowed_methods, reason = "the environment is built, and the wall sees to the end")]
fn starting(words: &[std::ffi::OsString], launch: &Launch) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().cloned().unwrap_or_default());
    command.args(words).current_dir(&launch.workdir).env_clear().envs(environment::packed(&launch.env));
    command
}
