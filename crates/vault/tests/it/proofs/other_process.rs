//! Other processes for the tests: this program, started again with a role.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{crash, foreign_writer, read_only, writers};

const ROLE: &str = "VAULT_PROOF_ROLE";
const BASE: &str = "VAULT_PROOF_BASE";
const NUMBER: &str = "VAULT_PROOF_NUMBER";

/// ProcessRole of the other process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessRole {
    /// Tries to write to a read-only vault.
    ReadOnly,
    /// Reads a vault with a folder that it may not open.
    Unprivileged,
    /// Adds this many lines to a note through the tools, with an expected etag each time.
    Writer { name: char, lines: u32 },
    /// Adds this many lines to the note as a foreign program.
    ForeignWriter { manner: foreign_writer::WriteManner, lines: u32 },
    /// Changes notes until it is killed.
    Doomed { seed: u32 },
}

/// Starts the process in the folder `base`.
pub(crate) fn start(role: &ProcessRole, base: &Path) -> Child {
    start_as(role, base, None)
}

/// [`start`] as another user.
pub(crate) fn start_as(role: &ProcessRole, base: &Path, user: Option<u32>) -> Child {
    let (name, number) = match role {
        ProcessRole::ReadOnly => ("read-only".to_owned(), 0),
        ProcessRole::Unprivileged => ("unprivileged-user".to_owned(), 0),
        ProcessRole::Writer { name, lines } => (format!("writer-{name}"), *lines),
        ProcessRole::ForeignWriter { manner, lines } => (format!("stranger-{}", manner.name()), *lines),
        ProcessRole::Doomed { seed } => ("doomed".to_owned(), *seed),
    };
    let mut program = std::env::current_exe().unwrap();
    if user.is_some() {
        // Where the other user can execute it.
        let copy = base.join("program");
        std::fs::copy(&program, &copy).unwrap();
        program = copy;
    }
    let mut command = Command::new(program);
    command
        .args(["--exact", "proofs::other_process::plays_its_role", "--nocapture"])
        .env(ROLE, name)
        .env(BASE, base)
        .env(NUMBER, number.to_string())
        .current_dir(base)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if let Some(user) = user {
        std::os::unix::process::CommandExt::uid(&mut command, user);
    }
    command.spawn().unwrap()
}

/// Entry point of the started processes. Without a role it ends at once.
#[test]
fn plays_its_role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let base = PathBuf::from(std::env::var_os(BASE).unwrap());
    let number: u32 = std::env::var(NUMBER).unwrap().parse().unwrap();
    match role.split_once('-').unwrap_or((role.as_str(), "")) {
        ("read", _) => read_only::try_everything(&base),
        ("unprivileged", _) => read_only::read_around_a_closed_folder(&base),
        ("writer", name) => writers::add_lines(&base, name.chars().next().unwrap(), number),
        ("stranger", manner) => {
            foreign_writer::add_lines(&base, foreign_writer::WriteManner::named(manner), number);
        }
        ("doomed", _) => crash::change_until_killed(&base, number),
        other => panic!("{other:?} is no role"),
    }
}
