//! The kinds of walls, and which of them stand on this system.

use envelope::{Failure, Fault};
use serde::{Deserialize, Serialize};

/// The walls that a command runs behind, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wall {
    /// A file tree, a process table and a network of its own; rules for files and system calls inside.
    Bubblewrap,
    /// Rules for files and system calls alone. Narrower: nothing new can be made at the top of the vault.
    Landlock,
    /// No wall. Limits hold and nothing survives the command, but it reaches what the person reaches.
    Open,
}

impl Wall {
    /// The stable name, as records and settings spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Wall::Bubblewrap => "bubblewrap",
            Wall::Landlock => "landlock",
            Wall::Open => "open",
        }
    }
}

/// Which walls stand: for each what was found, or why it cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walls {
    /// Its version.
    pub bubblewrap: Result<String, String>,
    /// The version of the kernel's interface.
    pub landlock: Result<String, String>,
    /// How system calls are filtered.
    pub seccomp: Result<String, String>,
    /// Whether the limit on memory holds for all processes of a command together; else why it holds for each only.
    pub whole_memory: Result<(), String>,
    /// What to do so that a wall can be built, where none can.
    pub mend: String,
}

impl Walls {
    /// The best wall that stands. Never [`Wall::Open`]: only a policy can choose that.
    pub fn best(&self) -> Option<Wall> {
        // Both walls rest on filtered system calls: neither holds without.
        self.seccomp.as_ref().ok()?;
        if self.bubblewrap.is_ok() {
            Some(Wall::Bubblewrap)
        } else if self.landlock.is_ok() {
            Some(Wall::Landlock)
        } else {
            None
        }
    }

    /// The best wall, or what is missing and the command that mends it.
    pub fn demand(&self) -> Result<Wall, Fault> {
        self.best().ok_or_else(|| {
            let missing =
                [("bubblewrap", &self.bubblewrap), ("landlock", &self.landlock), ("seccomp", &self.seccomp)]
                    .into_iter()
                    .filter_map(|(name, found)| found.as_ref().err().map(|why| format!("{name}: {why}")));
            no_wall(&missing.collect::<Vec<_>>().join("; "), &self.mend)
        })
    }
}

/// A wall is demanded and cannot be built.
pub(super) fn no_wall(why: &str, mend: &str) -> Fault {
    Fault::new(Failure::SetupRequired, format!("no sandbox can be built around the command ({why})"))
        .hint(mend)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Wall, Walls};

    fn walls(bubblewrap: bool, landlock: bool, seccomp: bool) -> Walls {
        let found = |stands: bool| if stands { Ok("1".to_owned()) } else { Err("it is broken".to_owned()) };
        let mend = "mend it".to_owned();
        let (bubblewrap, landlock, seccomp) = (found(bubblewrap), found(landlock), found(seccomp));
        Walls { bubblewrap, landlock, seccomp, whole_memory: Ok(()), mend }
    }

    #[test]
    fn the_best_wall_is_taken_and_none_is_never_the_open_one() {
        let best = |bubblewrap, landlock, seccomp| walls(bubblewrap, landlock, seccomp).best();
        assert_eq!(best(true, true, true), Some(Wall::Bubblewrap));
        assert_eq!(best(false, true, true), Some(Wall::Landlock));
        assert_eq!(best(false, false, true), None);
        assert_eq!(best(true, true, false), None, "every wall needs filtered system calls");
    }

    #[test]
    fn what_is_missing_is_named() {
        let fault = walls(false, false, true).demand().unwrap_err();
        expect![[r#"
            (
                SetupRequired,
                "no sandbox can be built around the command (bubblewrap: it is broken; landlock: it is broken)",
            )
        "#]]
        .assert_debug_eq(&(fault.failure, &fault.message));
        assert_eq!(fault.recovery_hint(), "mend it");
    }
}
