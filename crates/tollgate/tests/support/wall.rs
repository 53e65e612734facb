//! The walls around commands, each as something that the binary is started through.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Sandbox;

/// The walls that commands run behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wall {
    Bubblewrap,
    Landlock,
}

/// Where the program may be is fixed, so it is hidden where it is.
const WITHOUT_BUBBLEWRAP: &str = r#"for place in /usr/bin/bwrap /usr/local/bin/bwrap; do
    if test -e "$place"; then mount --bind /dev/null "$place" || exit 97; fi
done
exec "$@""#;

const WITHOUT_CONTROL_GROUPS: &str = r#"mount -t tmpfs none /sys/fs/cgroup || exit 97; exec "$@""#;

impl Wall {
    /// As results spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Wall::Bubblewrap => "bubblewrap",
            Wall::Landlock => "landlock",
        }
    }

    /// Whether commands run behind this wall here. Where the machine has all that it takes, they must: a test that
    /// finds no wall and is content would prove nothing.
    #[track_caller]
    pub(crate) fn stands(self, sandbox: &Sandbox) -> bool {
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

    /// What this machine does not have that the wall takes.
    fn lack(self) -> Option<&'static str> {
        let works = |words: &[&str]| {
            let tried =
                Command::new(words[0]).args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
            tried.is_ok_and(|status| status.success())
        };
        match self {
            Wall::Bubblewrap => (!works(&["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]))
                .then_some("bubblewrap is not installed, or may not make namespaces"),
            Wall::Landlock if !works(&["unshare", "-rm", "true"]) => Some("bubblewrap cannot be hidden"),
            // Asks for the version of the interface; 6 came with Linux 6.12.
            Wall::Landlock => (!works(&["perl", "-e", "exit(syscall(444, 0, 0, 1) < 6)"]))
                .then_some("the kernel has no Landlock, or an old one"),
        }
    }

    /// The command, started where only this wall stands.
    pub(crate) fn around(self, command: Command) -> Command {
        match self {
            Wall::Bubblewrap => command,
            Wall::Landlock => among_other_mounts(WITHOUT_BUBBLEWRAP, &command),
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
