//! Commands on systems other than Linux: refused, unless a policy lets them run without a wall.
//!
//! Nothing is built around a command here: no limits hold, and what leaves its process group outlives it. That is why
//! it takes the word of a person, and why every record says that there was no sandbox.
#![cfg_attr(
    target_os = "linux",
    allow(dead_code, unreachable_pub, reason = "on Linux it is there for its tests")
)]

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use envelope::{Failure, Fault};

use super::scratch::Scratch;
use super::wall::no_wall;
use super::{Launch, Reach, Wall, Walls, Workdir};

/// The word that makes our binary a launcher, elsewhere.
pub const LAUNCH: &str = "__launch";

const WHY: &str = "it needs Linux";
const WAY_OUT: &str = "run tollgate on Linux; or let commands run with all your rights: set `sandbox = \"off\"` under \
                       [commands] in .tollgate/config.toml, then `tollgate trust`";

/// A process that is ready to be started.
#[derive(Debug)]
pub struct Prepared {
    pub command: Command,
    pub leftovers: Leftovers,
}

/// What was made on disk for one command. Dropping it takes that away again.
#[derive(Debug)]
pub struct Leftovers {
    _scratch: Option<Scratch>,
}

impl Leftovers {
    /// Nothing is protected here, so nothing is compared.
    pub fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Nothing stands before a command that could fail, so it is always reached.
#[derive(Debug)]
pub enum Threshold {}

#[derive(Debug)]
pub enum Doorbell {}

impl Threshold {
    pub fn is_crossed(&self) -> bool {
        match *self {}
    }

    pub fn was_crossed(&self) -> bool {
        match *self {}
    }
}

impl Doorbell {
    pub fn number(&self) -> i32 {
        match *self {}
    }
}

impl From<Doorbell> for OwnedFd {
    fn from(bell: Doorbell) -> OwnedFd {
        match bell {}
    }
}

pub(crate) fn threshold() -> io::Result<Option<(Threshold, Doorbell)>> {
    Ok(None)
}

pub(crate) fn not_run(_printed: &[u8]) -> Fault {
    no_wall(WHY, WAY_OUT)
}

/// No part is played between the start of a process and the start of a command.
pub fn launcher_main(_args: impl Iterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}

/// None of the walls stands.
pub fn probe(_launcher: &Path) -> Walls {
    let none = || Err(WHY.to_owned());
    Walls {
        bubblewrap: none(),
        landlock: none(),
        seccomp: none(),
        whole_memory: Err(WHY.to_owned()),
        mend: WAY_OUT.to_owned(),
    }
}

/// Prepares a command without a wall, which only a policy can choose. Nothing is started yet.
#[allow(
    clippy::disallowed_methods,
    reason = "the environment is built, and a person has let it run as it is"
)]
pub fn command(wall: Wall, reach: &Reach, launch: &Launch, _launcher: &Path) -> Result<Prepared, Fault> {
    if wall != Wall::Open {
        return Err(no_wall(WHY, WAY_OUT));
    }
    let (program, arguments) = launch.checked(reach)?;
    let (workdir, scratch) = match &launch.workdir {
        Workdir::Vault(folder) => (folder.clone(), None),
        Workdir::Private => {
            let scratch = Scratch::new().map_err(|error| {
                let message = format!("no private folder can be made for the command: {error}");
                Fault::new(Failure::ExecutionFailed, message)
            })?;
            (scratch.path().to_owned(), Some(scratch))
        }
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workdir).env_clear().envs(launch.env.iter().cloned());
    Ok(Prepared { command, leftovers: Leftovers { _scratch: scratch } })
}

/// The folder by its real name. A link may be swapped in after we looked; without a wall that gives a command nothing
/// that it does not have.
pub(super) fn beneath(root: &Path, given: &str) -> Option<PathBuf> {
    let found = root.join(given).canonicalize().ok()?;
    (found.starts_with(root) && found.is_dir()).then_some(found)
}

#[cfg(not(target_os = "linux"))]
impl From<Wall> for crate::process::Enclosure {
    fn from(_wall: Wall) -> crate::process::Enclosure {
        crate::process::Enclosure::Loose
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use expect_test::expect;

    use super::{beneath, command, probe};
    use crate::sandbox::{ExecPolicy, Launch, Reach, Wall, Workdir};
    use crate::settings::{CommandSettings, Demand};

    fn wall(sandbox: Demand) -> String {
        let decided = CommandSettings { sandbox, ..CommandSettings::default() }.wall(|| probe(Path::new("")));
        match decided {
            Ok(wall) => wall.name().to_owned(),
            Err(fault) => format!("{}: {}\n{}", fault.failure.name(), fault.message, fault.recovery_hint()),
        }
    }

    #[test]
    fn commands_are_refused_and_run_without_a_wall_only_by_the_policy() {
        expect![[r#"
            setup_required: no sandbox can be built around the command (bubblewrap: it needs Linux; landlock: it needs Linux; seccomp: it needs Linux)
            run tollgate on Linux; or let commands run with all your rights: set `sandbox = "off"` under [commands] in .tollgate/config.toml, then `tollgate trust`"#]].assert_eq(&wall(Demand::Required));
        assert_eq!(wall(Demand::Off), "open");
    }

    #[test]
    fn a_command_without_a_wall_gets_its_words_its_folder_and_its_environment_and_nothing_else() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let reach = Reach {
            root: root.clone(),
            protected: Vec::new(),
            hidden: Vec::new(),
            readable: Vec::new(),
            network: false,
            exec: ExecPolicy::unrestricted(),
            limits: CommandSettings::default().limits(),
        };
        let argv = ["sh", "-c", "echo \"$A\"; env | wc -l; pwd"].map(Into::into).to_vec();
        let env = vec![("A".into(), "1 2".into()), ("PATH".into(), "/usr/bin:/bin".into())];
        let launch = Launch { argv, workdir: Workdir::Vault(root.clone()), env, tty: false, bell: None };
        let mut prepared = command(Wall::Open, &reach, &launch, Path::new("")).unwrap();
        let output = prepared.command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        // The shell adds its folder and a word about itself at most.
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!((lines[0], PathBuf::from(lines[2])), ("1 2", root));
        assert!(lines[1].trim().parse::<usize>().unwrap() <= 5, "{said}");
        for wall in [Wall::Bubblewrap, Wall::Landlock] {
            assert_eq!(
                command(wall, &reach, &launch, Path::new("")).unwrap_err().failure.name(),
                "setup_required"
            );
        }
    }

    #[test]
    fn a_folder_is_found_by_its_real_name_or_not_at_all() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap().join("vault");
        std::fs::create_dir_all(root.join("notes")).unwrap();
        std::os::unix::fs::symlink("..", root.join("out")).unwrap();
        std::os::unix::fs::symlink("notes", root.join("in")).unwrap();
        let found = ["notes", "in", "out", "absent"].map(|given| beneath(&root, given));
        assert_eq!(found, [Some(root.join("notes")), Some(root.join("notes")), None, None]);
    }
}
