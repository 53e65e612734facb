//! Validation of the state folder: in `.tollgate`, which no tool reaches, or outside of the vault.
//!
//! Anywhere else in the vault a tool could write into the record of its own run.

use std::path::{Component, Path, PathBuf};

/// The folder in a vault that is reserved for Tollgate.
pub(super) const TOLLGATE_FOLDER: &str = ".tollgate";

/// Returns the real path of the state folder. Fails if it cannot be there. `vault` is a real path.
pub(super) fn resolve(given: &str, vault: &Path, home: Option<&Path>) -> Result<PathBuf, String> {
    let state = real_path(&expand_home(given, home)?, vault);
    let why = if vault.starts_with(&state) {
        "holds the vault itself"
    } else if state.starts_with(vault) && !state.starts_with(vault.join(TOLLGATE_FOLDER)) {
        "is inside the vault, where tools could change what runs recorded"
    } else if !state.starts_with(vault) && state.components().any(|part| part.as_os_str() == TOLLGATE_FOLDER)
    {
        "belongs to another vault"
    } else {
        return Ok(state);
    };
    Err(format!(
        "`state` cannot be `{given}`: that folder {why}; leave it out to keep runs in {TOLLGATE_FOLDER}, or name a folder of its own outside of the vault"
    ))
}

fn expand_home(given: &str, home: Option<&Path>) -> Result<PathBuf, String> {
    match (given.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Ok(home.join(rest)),
        (Some(_), None) => Err(format!("`state` cannot be `{given}`: HOME is not set; write the whole path")),
        (None, _) if given.starts_with('~') => Err(format!(
            "`state` cannot be `{given}`: only `~/` at the start means your home folder; write the whole path"
        )),
        (None, _) => Ok(PathBuf::from(given)),
    }
}

/// Follows the path from the vault, link by link, as far as it exists.
fn real_path(path: &Path, vault: &Path) -> PathBuf {
    let mut at = vault.to_owned();
    for part in path.components() {
        match part {
            Component::RootDir => at = PathBuf::from("/"),
            Component::ParentDir => {
                at.pop();
            }
            Component::Normal(name) => {
                at.push(name);
                at = at.canonicalize().unwrap_or(at);
            }
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::{Expect, expect};

    use super::resolve;

    #[track_caller]
    fn check(given: &str, expect: Expect) {
        let resolved = resolve(given, Path::new("/home/a/vault"), Some(Path::new("/home/a")));
        let shown = resolved.map_or_else(|why| why, |path| path.display().to_string());
        expect.assert_eq(&shown);
    }

    #[test]
    fn a_folder_of_its_own_is_taken() {
        check(".tollgate", expect!["/home/a/vault/.tollgate"]);
        check("./.tollgate/deeper", expect!["/home/a/vault/.tollgate/deeper"]);
        check("../state", expect!["/home/a/state"]);
        check("/var/state", expect!["/var/state"]);
        check("~/state", expect!["/home/a/state"]);
        check("../vault2", expect!["/home/a/vault2"]);
        check(
            "../vault2/.tollgate",
            expect![
                "`state` cannot be `../vault2/.tollgate`: that folder belongs to another vault; leave it out to keep runs in .tollgate, or name a folder of its own outside of the vault"
            ],
        );
    }

    #[test]
    fn the_vault_what_is_in_it_and_what_is_around_it_are_refused() {
        check(
            "State",
            expect![
                "`state` cannot be `State`: that folder is inside the vault, where tools could change what runs recorded; leave it out to keep runs in .tollgate, or name a folder of its own outside of the vault"
            ],
        );
        check(
            ".tollgate/../Notes",
            expect![
                "`state` cannot be `.tollgate/../Notes`: that folder is inside the vault, where tools could change what runs recorded; leave it out to keep runs in .tollgate, or name a folder of its own outside of the vault"
            ],
        );
        check(
            ".tollgate2",
            expect![
                "`state` cannot be `.tollgate2`: that folder is inside the vault, where tools could change what runs recorded; leave it out to keep runs in .tollgate, or name a folder of its own outside of the vault"
            ],
        );
        for around in ["", ".", "..", "../..", "/", "/home/a/vault", "../vault", "~/", "~/vault"] {
            let why = resolve(around, Path::new("/home/a/vault"), Some(Path::new("/home/a"))).unwrap_err();
            assert!(why.contains("holds the vault itself"), "{around}: {why}");
        }
        check(
            "~other/state",
            expect![
                "`state` cannot be `~other/state`: only `~/` at the start means your home folder; write the whole path"
            ],
        );
    }

    #[test]
    fn a_link_is_followed_before_it_is_judged() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let vault = dir.join("vault");
        std::fs::create_dir_all(vault.join("Notes")).unwrap();
        std::os::unix::fs::symlink(vault.join("Notes"), dir.join("outside")).unwrap();
        for inside in ["../outside", "../outside/deeper"] {
            assert!(resolve(inside, &vault, None).unwrap_err().contains("is inside the vault"), "{inside}");
        }
    }
}
