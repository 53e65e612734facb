//! Resolves the working directory of a command.

use std::path::{Component, Path, PathBuf};

use envelope::{Failure, Fault};

use crate::platform::resolve_beneath;

/// Returns the folder that the call names, or the root if it names none: absolute, without links, inside the root.
/// Fails with `SandboxViolation` if it is outside or protected.
pub fn resolve_workdir(root: &Path, given: Option<&str>, protected: &[String]) -> Result<PathBuf, Fault> {
    let Some(given) = given.filter(|given| !matches!(*given, "" | ".")) else {
        return Ok(root.to_owned());
    };
    inside(root, given)
        .filter(|found| found.strip_prefix(root).is_ok_and(|below| !is_protected(below, protected)))
        .ok_or_else(|| outside_root(given))
}

fn inside(root: &Path, given: &str) -> Option<PathBuf> {
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(given).components().all(plain) {
        return None;
    }
    resolve_beneath(root, given)
}

/// Whether the first name below the root is protected, in any case of letters.
fn is_protected(below: &Path, protected: &[String]) -> bool {
    let top = below.components().next().map(|part| part.as_os_str().to_string_lossy().to_lowercase());
    top.is_some_and(|top| protected.iter().any(|name| name.to_lowercase() == top))
}

pub(super) fn outside_root(given: &str) -> Fault {
    Fault::new(Failure::SandboxViolation, "requested working directory is outside the current execution root")
        .detail("workdir", given)
        .hint("omit workdir or use a relative path inside the active workspace")
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use expect_test::expect;

    use super::resolve_workdir;

    /// Resolves each folder in a vault with links that lead everywhere.
    fn resolved(given: &[Option<&str>]) -> String {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap().join("vault");
        fs::create_dir_all(root.join("Projects/house")).unwrap();
        fs::create_dir_all(root.join(".Git/hooks")).unwrap();
        fs::create_dir(base.path().join("outside")).unwrap();
        File::create(root.join("note.md")).unwrap();
        symlink("Projects/house", root.join("in")).unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink(base.path().join("outside"), root.join("far")).unwrap();
        symlink(".Git", root.join("git")).unwrap();
        symlink("/proc/self/cwd", root.join("magic")).unwrap();
        let protected = [".git".to_owned()];
        let lines = given.iter().map(|given| match resolve_workdir(&root, *given, &protected) {
            Ok(found) => format!(
                "{given:?}: {}",
                found.strip_prefix(base.path().canonicalize().unwrap()).unwrap().display()
            ),
            Err(fault) => {
                let details = serde_json::to_string(&fault.details).unwrap();
                format!(
                    "{given:?}: {} {details} {}: {}",
                    fault.failure.name(),
                    fault.message,
                    fault.recovery_hint()
                )
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn folders_of_the_vault_are_found_by_their_real_names() {
        let given = [None, Some(""), Some("."), Some("./Projects"), Some("Projects/house/"), Some("in")];
        expect![[r#"
            None: vault
            Some(""): vault
            Some("."): vault
            Some("./Projects"): vault/Projects
            Some("Projects/house/"): vault/Projects/house
            Some("in"): vault/Projects/house"#]]
        .assert_eq(&resolved(&given));
    }

    #[test]
    fn everything_else_is_outside() {
        let given = [
            "/",
            "/tmp",
            "..",
            "../outside",
            "Projects/../..",
            "Projects/../Projects",
            "out",
            "far",
            "magic",
            ".Git",
            ".Git/hooks",
            ".GIT",
            "git",
            "absent",
            "note.md",
            "~",
        ];
        let lines = resolved(&given.map(Some));
        let refusal = lines.lines().next().unwrap();
        expect![[r#"Some("/"): sandbox_violation {"workdir":"/"} requested working directory is outside the current execution root: omit workdir or use a relative path inside the active workspace"#]].assert_eq(refusal);
        let same = |(line, given): (&str, &&str)| line == refusal.replace("\"/\"", &format!("{given:?}"));
        assert!(lines.lines().zip(&given).all(same), "{lines}");
        assert!(resolved(&[Some("a\0b")]).contains("sandbox_violation"));
    }
}
