//! The walls around commands, each as something that the binary is started through.

use std::process::{Command, Stdio};

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

impl Wall {
    /// As results spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Wall::Bubblewrap => "bubblewrap",
            Wall::Landlock => "landlock",
        }
    }

    /// The command, started where only this wall stands.
    pub(crate) fn around(self, command: Command) -> Command {
        if self == Wall::Bubblewrap {
            return command;
        }
        let mut around = Command::new("unshare");
        around.args(["-rm", "sh", "-c", WITHOUT_BUBBLEWRAP, "sh"]);
        around.arg(command.get_program()).args(command.get_args());
        around.current_dir(command.get_current_dir().unwrap());
        around.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        around.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        around
    }
}
