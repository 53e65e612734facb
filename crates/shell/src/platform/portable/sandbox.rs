//! Commands without Linux: refused, unless the settings turn the sandbox off.
//!
//! Without a sandbox no limits hold, and a process that leaves its process group outlives the command. That is why it
//! needs the approval of the user, and why every record of a command says that there was no sandbox.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use envelope::{Failure, Fault};

use crate::sandbox::{
    AvailableSandboxes, CommandWorkdir, LaunchSpec, SandboxKind, SandboxProfile, ScratchFolder,
    sandbox_unavailable,
};

/// The first argument that turns our binary into a launcher, on Linux.
pub const LAUNCH: &str = "__launch";

const WHY: &str = "it needs Linux";
const WAY_OUT: &str = "run tollgate on Linux; or let commands run with all your permissions: set `sandbox = \"off\"` under \
                       [commands] in .tollgate/config.toml, then `tollgate trust`";

/// A process that is ready to be started.
#[derive(Debug)]
pub struct PreparedCommand {
    pub command: Command,
    pub resources: SandboxResources,
}

/// Files that were made for one command. Dropping it removes them.
#[derive(Debug)]
pub struct SandboxResources {
    _scratch: Option<ScratchFolder>,
}

impl SandboxResources {
    /// Nothing is protected, so no warning is possible.
    pub fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// No sandbox can fail before a command, so the signal does not exist.
#[derive(Debug)]
pub enum StartSignal {}

#[derive(Debug)]
pub enum StartNotifier {}

impl StartSignal {
    pub fn is_started(&self) -> bool {
        match *self {}
    }

    pub fn check_at_end(&self) -> bool {
        match *self {}
    }
}

impl StartNotifier {
    pub fn number(&self) -> i32 {
        match *self {}
    }
}

impl From<StartNotifier> for OwnedFd {
    fn from(notifier: StartNotifier) -> OwnedFd {
        match notifier {}
    }
}

pub(crate) fn start_signal() -> io::Result<Option<(StartSignal, StartNotifier)>> {
    Ok(None)
}

pub(crate) fn sandbox_failure(_printed: &[u8]) -> Fault {
    sandbox_unavailable(WHY, WAY_OUT)
}

/// Always fails: only Linux needs a launcher.
pub fn launcher_main(_args: impl Iterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}

/// No sandbox is available.
pub fn probe_sandboxes(_launcher: &Path) -> AvailableSandboxes {
    let none = || Err(WHY.to_owned());
    AvailableSandboxes {
        bubblewrap: none(),
        landlock: none(),
        seccomp: none(),
        cgroup_memory: Err(WHY.to_owned()),
        setup_hint: WAY_OUT.to_owned(),
    }
}

/// Prepares a command without a sandbox, which only the settings can allow. Does not start it.
#[allow(
    clippy::disallowed_methods,
    reason = "the environment is built, and a person has let it run as it is"
)]
pub fn prepare_command(
    kind: SandboxKind,
    profile: &SandboxProfile,
    launch: &LaunchSpec,
    _launcher: &Path,
) -> Result<PreparedCommand, Fault> {
    if kind != SandboxKind::Unsandboxed {
        return Err(sandbox_unavailable(WHY, WAY_OUT));
    }
    let (program, arguments) = launch.check(profile)?;
    let (workdir, scratch) = match &launch.workdir {
        CommandWorkdir::Vault(folder) => (folder.clone(), None),
        CommandWorkdir::Private => {
            let scratch = ScratchFolder::new().map_err(|error| {
                let message = format!("no private folder can be made for the command: {error}");
                Fault::new(Failure::ExecutionFailed, message)
            })?;
            (scratch.path().to_owned(), Some(scratch))
        }
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workdir).env_clear().envs(launch.env.iter().cloned());
    Ok(PreparedCommand { command, resources: SandboxResources { _scratch: scratch } })
}

/// Returns the real path of a folder. A link may be swapped in after the check; without a sandbox that gives a command
/// nothing new.
pub(crate) fn resolve_beneath(root: &Path, given: &str) -> Option<PathBuf> {
    let found = root.join(given).canonicalize().ok()?;
    (found.starts_with(root) && found.is_dir()).then_some(found)
}

#[cfg(any(tollgate_portable, not(target_os = "linux")))]
impl From<SandboxKind> for crate::process::ProcessContainment {
    fn from(_wall: SandboxKind) -> crate::process::ProcessContainment {
        crate::process::ProcessContainment::Uncontained
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use expect_test::expect;

    use super::{prepare_command, probe_sandboxes, resolve_beneath};
    use crate::sandbox::{CommandWorkdir, ExecPolicy, LaunchSpec, SandboxKind, SandboxProfile};
    use crate::settings::{CommandSettings, SandboxRequirement};

    fn kind(sandbox: SandboxRequirement) -> String {
        let decided = CommandSettings { sandbox, ..CommandSettings::default() }
            .sandbox_kind(|| probe_sandboxes(Path::new("")));
        match decided {
            Ok(kind) => kind.name().to_owned(),
            Err(fault) => format!("{}: {}\n{}", fault.failure.name(), fault.message, fault.recovery_hint()),
        }
    }

    #[test]
    fn commands_are_refused_and_run_without_a_wall_only_by_the_policy() {
        expect![[r#"
            setup_required: no sandbox can be built for the command (bubblewrap: it needs Linux; landlock: it needs Linux; seccomp: it needs Linux)
            run tollgate on Linux; or let commands run with all your permissions: set `sandbox = "off"` under [commands] in .tollgate/config.toml, then `tollgate trust`"#]].assert_eq(&kind(SandboxRequirement::Required));
        assert_eq!(kind(SandboxRequirement::Off), "none");
    }

    #[test]
    fn a_command_without_a_wall_gets_its_words_its_folder_and_its_environment_and_nothing_else() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let profile = SandboxProfile {
            root: root.clone(),
            protected: Vec::new(),
            hidden: Vec::new(),
            readable: Vec::new(),
            writable: Vec::new(),
            network: false,
            exec: ExecPolicy::unrestricted(),
            limits: CommandSettings::default().limits(),
        };
        let argv = ["sh", "-c", "echo \"$A\"; env | wc -l; pwd"].map(Into::into).to_vec();
        let env = vec![("A".into(), "1 2".into()), ("PATH".into(), "/usr/bin:/bin".into())];
        let launch = LaunchSpec {
            argv,
            workdir: CommandWorkdir::Vault(root.clone()),
            env,
            tty: false,
            start_notifier: None,
        };
        let mut prepared =
            prepare_command(SandboxKind::Unsandboxed, &profile, &launch, Path::new("")).unwrap();
        let output = prepared.command.output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        // The shell adds its folder and one more variable at most.
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!((lines[0], PathBuf::from(lines[2])), ("1 2", root));
        assert!(lines[1].trim().parse::<usize>().unwrap() <= 5, "{printed}");
        for kind in [SandboxKind::Bubblewrap, SandboxKind::Landlock] {
            assert_eq!(
                prepare_command(kind, &profile, &launch, Path::new("")).unwrap_err().failure.name(),
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
        let found = ["notes", "in", "out", "absent"].map(|given| resolve_beneath(&root, given));
        assert_eq!(found, [Some(root.join("notes")), Some(root.join("notes")), None, None]);
    }
}
