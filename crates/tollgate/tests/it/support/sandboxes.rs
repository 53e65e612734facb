//! The command sandboxes, each as a wrapper around the binary.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::TestVault;

/// The sandbox of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SandboxChoice {
    Bubblewrap,
    Landlock,
}

/// Where the program may be is fixed, so it is hidden where it is.
const WITHOUT_BUBBLEWRAP: &str = r#"for place in /usr/bin/bwrap /usr/local/bin/bwrap; do
    if test -e "$place"; then mount --bind /dev/null "$place" || exit 97; fi
done
exec "$@""#;

const WITHOUT_CONTROL_GROUPS: &str = r#"mount -t tmpfs none /sys/fs/cgroup || exit 97; exec "$@""#;

impl SandboxChoice {
    /// As results spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SandboxChoice::Bubblewrap => "bubblewrap",
            SandboxChoice::Landlock => "landlock",
        }
    }

    /// Returns whether commands run in this sandbox here. If the machine has everything for it, they must: a test
    /// that accepts a missing sandbox would prove nothing.
    #[track_caller]
    pub(crate) fn is_available(self, sandbox: &TestVault) -> bool {
        let args = json!({ "argv": ["true"] }).to_string();
        let probe = sandbox.command(&["call", "ExecCommand", &args, "--yes", "--json"]);
        let ended = super::ended(self.around(probe).output().unwrap());
        let result: Value = serde_json::from_str(&ended.out).unwrap_or_default();
        if result["data"]["sandbox"] == self.name() {
            return true;
        }
        let Some(lack) = self.lack() else {
            panic!(
                "{self:?} does not stand, although this machine has all for it: {}{}",
                ended.out, ended.err
            )
        };
        eprintln!("skipped behind {self:?}: {lack}");
        false
    }

    /// What this machine lacks for the sandbox.
    fn lack(self) -> Option<&'static str> {
        let works = |words: &[&str]| {
            let tried =
                Command::new(words[0]).args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
            tried.is_ok_and(|status| status.success())
        };
        match self {
            SandboxChoice::Bubblewrap => (!works(&["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]))
                .then_some("bubblewrap is not installed, or may not make namespaces"),
            SandboxChoice::Landlock if !works(&["unshare", "-rm", "true"]) => {
                Some("bubblewrap cannot be hidden")
            }
            // Asks for the version of the interface; 6 came with Linux 6.12.
            SandboxChoice::Landlock => (!works(&["perl", "-e", "exit(syscall(444, 0, 0, 1) < 6)"]))
                .then_some("the kernel has no Landlock, or an old one"),
        }
    }

    /// Wraps the command so that only this sandbox is available.
    pub(crate) fn around(self, command: Command) -> Command {
        match self {
            SandboxChoice::Bubblewrap => command,
            SandboxChoice::Landlock => among_other_mounts(WITHOUT_BUBBLEWRAP, &command),
        }
    }
}

/// The command, started where no control group can be made.
pub(crate) fn without_control_groups(command: Command) -> Command {
    among_other_mounts(WITHOUT_CONTROL_GROUPS, &command)
}

/// The command, started in a process table of its own, outside of which its group and its session have their leader,
/// as in many a container.
pub(crate) fn led_from_outside(command: &Command) -> Command {
    around("setsid", &["--wait", "unshare", "-rp", "--fork", "--mount-proc"], command)
}

/// Started by a script that changes what is mounted, for the command alone.
fn among_other_mounts(script: &str, command: &Command) -> Command {
    around("unshare", &["-rm", "sh", "-c", script, "sh"], command)
}

fn around(program: &str, words: &[&str], command: &Command) -> Command {
    let mut around = Command::new(program);
    around.args(words);
    around.arg(command.get_program()).args(command.get_args());
    around.current_dir(command.get_current_dir().unwrap());
    around.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    around.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    around
}
