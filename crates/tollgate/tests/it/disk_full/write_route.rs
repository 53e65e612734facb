//! The ways in which a disk fails, each as a wrapper around the binary.

use std::path::Path;
use std::process::{Command, Stdio};

/// How the disk fails.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WriteRoute {
    /// The state folder is a file system of so many kilobytes.
    Small { kilobytes: u32 },
    /// No file may become larger than so many blocks of 512 bytes. The signal is ignored by the wrapper, or
    /// delivered.
    Limited { blocks: u32, ignored: bool },
    /// The n-th of these system calls fails, in each thread that makes them.
    Failing { calls: &'static str, error: &'static str, nth: u32 },
    /// It does not.
    Sound,
}

const SMALL: &str = r#"mount -t tmpfs -o "size=${SIZE}k" tmpfs "$STATE" || exit 97
"$@"
code=$?
cp -a "$STATE/." "$KEPT" || exit 98
exit $code"#;

impl WriteRoute {
    /// The command, started so that its disk fails. What a small disk held is in `kept` afterwards.
    pub(crate) fn around(self, command: &Command, state: &Path, kept: &Path) -> Command {
        let mut around = match self {
            WriteRoute::Sound => plain(&["env"]),
            WriteRoute::Small { kilobytes } => {
                let mut around = plain(&["unshare", "-rm", "sh", "-c", SMALL, "sh"]);
                around.env("SIZE", kilobytes.to_string()).env("STATE", state).env("KEPT", kept);
                around
            }
            WriteRoute::Limited { blocks, ignored } => {
                let trap = if ignored { "trap '' XFSZ; " } else { "" };
                plain(&["sh", "-c", &format!("{trap}ulimit -f {blocks}; exec \"$@\""), "sh"])
            }
            WriteRoute::Failing { calls, error, nth } => plain(&[
                "strace",
                "-f",
                "-qq",
                "--seccomp-bpf",
                "-o",
                "/dev/null",
                "-e",
                &format!("trace={calls}"),
                "-e",
                &format!("inject={calls}:error={error}:when={nth}"),
            ]),
        };
        around.arg(command.get_program()).args(command.get_args());
        around.current_dir(command.get_current_dir().unwrap());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => around.env(name, value),
                None => around.env_remove(name),
            };
        }
        around.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        around
    }

    /// Whether this system can play it; says so if not.
    pub(crate) fn can_be_played(self) -> bool {
        let (probe, what): (&[&str], _) = match self {
            WriteRoute::Small { .. } => {
                (&["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], "a file system of our own")
            }
            WriteRoute::Failing { .. } => (&["strace", "-f", "-qq", "-o", "/dev/null", "true"], "strace"),
            WriteRoute::Limited { .. } | WriteRoute::Sound => return true,
        };
        let works = plain(probe).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        if !works {
            eprintln!("skipped: {what} cannot be had here");
        }
        works
    }
}

fn plain(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}
