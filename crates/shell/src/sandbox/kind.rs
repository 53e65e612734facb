//! The kinds of sandboxes, and which of them are available on this system.

use envelope::{Failure, Fault};
use serde::{Deserialize, Serialize};

/// Kinds of sandboxes, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    /// Its own file tree, PID namespace and network namespace; Landlock rules and a seccomp filter inside.
    Bubblewrap,
    /// Landlock rules and a seccomp filter only. Stricter for the vault: no entry can be created at its top level.
    Landlock,
    /// No sandbox: it has all permissions of the user. On Linux limits apply and no process survives the command; on other
    /// systems neither holds.
    Unsandboxed,
}

impl SandboxKind {
    /// The stable name in records.
    pub const fn name(self) -> &'static str {
        match self {
            SandboxKind::Bubblewrap => "bubblewrap",
            SandboxKind::Landlock => "landlock",
            SandboxKind::Unsandboxed => "none",
        }
    }
}

/// Which sandboxes are available: details of each, or why it cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableSandboxes {
    /// Its version.
    pub bubblewrap: Result<String, String>,
    /// The version of the kernel's ABI.
    pub landlock: Result<String, String>,
    /// The available filter actions.
    pub seccomp: Result<String, String>,
    /// Whether the limit on memory applies to all processes of a command together; else why it applies to each only.
    pub cgroup_memory: Result<(), String>,
    /// What to do so that a sandbox can be built, if none can.
    pub setup_hint: String,
}

impl AvailableSandboxes {
    /// Returns the best available sandbox. Never [`SandboxKind::Unsandboxed`]: only the settings can choose that.
    pub fn best(&self) -> Option<SandboxKind> {
        // Both kinds rely on seccomp: neither holds without.
        self.seccomp.as_ref().ok()?;
        if self.bubblewrap.is_ok() {
            Some(SandboxKind::Bubblewrap)
        } else if self.landlock.is_ok() {
            Some(SandboxKind::Landlock)
        } else {
            None
        }
    }

    /// Returns the best sandbox. Fails with what is missing and the command that fixes it.
    pub fn require(&self) -> Result<SandboxKind, Fault> {
        self.best().ok_or_else(|| {
            let missing =
                [("bubblewrap", &self.bubblewrap), ("landlock", &self.landlock), ("seccomp", &self.seccomp)]
                    .into_iter()
                    .filter_map(|(name, found)| found.as_ref().err().map(|why| format!("{name}: {why}")));
            sandbox_unavailable(&missing.collect::<Vec<_>>().join("; "), &self.setup_hint)
        })
    }
}

/// Error if a sandbox is required and cannot be built.
pub(crate) fn sandbox_unavailable(why: &str, setup_hint: &str) -> Fault {
    Fault::new(Failure::SetupRequired, format!("no sandbox can be built for the command ({why})"))
        .hint(setup_hint)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{AvailableSandboxes, SandboxKind};

    fn sandboxes(bubblewrap: bool, landlock: bool, seccomp: bool) -> AvailableSandboxes {
        let found = |stands: bool| if stands { Ok("1".to_owned()) } else { Err("it is broken".to_owned()) };
        let setup_hint = "fix it".to_owned();
        let (bubblewrap, landlock, seccomp) = (found(bubblewrap), found(landlock), found(seccomp));
        AvailableSandboxes { bubblewrap, landlock, seccomp, cgroup_memory: Ok(()), setup_hint }
    }

    #[test]
    fn the_best_wall_is_taken_and_none_is_never_the_open_one() {
        let best = |bubblewrap, landlock, seccomp| sandboxes(bubblewrap, landlock, seccomp).best();
        assert_eq!(best(true, true, true), Some(SandboxKind::Bubblewrap));
        assert_eq!(best(false, true, true), Some(SandboxKind::Landlock));
        assert_eq!(best(false, false, true), None);
        assert_eq!(best(true, true, false), None, "every sandbox needs seccomp");
    }

    // Conformance: result 6.6
    #[test]
    fn what_is_missing_is_named() {
        let fault = sandboxes(false, false, true).require().unwrap_err();
        expect![[r#"
            (
                SetupRequired,
                "no sandbox can be built for the command (bubblewrap: it is broken; landlock: it is broken)",
            )
        "#]]
        .assert_debug_eq(&(fault.failure, &fault.message));
        assert_eq!(fault.recovery_hint(), "fix it");
    }
}
