//! Other processes for the tests: this very program, started again to play a role.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{crash, read_only, stranger, writers};

const ROLE: &str = "VAULT_PROOF_ROLE";
const BASE: &str = "VAULT_PROOF_BASE";
const NUMBER: &str = "VAULT_PROOF_NUMBER";

/// What the other process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Tries to write where it may not.
    ReadOnly,
    /// Adds so many lines to a note through the tools, expecting an etag each time.
    Writer { name: char, lines: u32 },
    /// Adds so many lines to the note without knowing anything of us.
    Stranger { manner: stranger::Manner, lines: u32 },
    /// Changes notes until it is killed.
    Doomed { seed: u32 },
}

/// Starts the process; `base` is the folder that it works in.
pub(crate) fn start(role: &Role, base: &Path) -> Child {
    start_as(role, base, None)
}

/// [`start`] as another user.
pub(crate) fn start_as(role: &Role, base: &Path, user: Option<u32>) -> Child {
    let (name, number) = match role {
        Role::ReadOnly => ("read-only".to_owned(), 0),
        Role::Writer { name, lines } => (format!("writer-{name}"), *lines),
        Role::Stranger { manner, lines } => (format!("stranger-{}", manner.name()), *lines),
        Role::Doomed { seed } => ("doomed".to_owned(), *seed),
    };
    let mut program = std::env::current_exe().unwrap();
    if user.is_some() {
        // Where the other user can reach it.
        let copy = base.join("program");
        std::fs::copy(&program, &copy).unwrap();
        program = copy;
    }
    let mut command = Command::new(program);
    command
        .args(["--exact", "other_process::plays_its_role", "--nocapture"])
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

/// The way in for processes that other tests start; by itself it has no role and ends at once.
#[test]
fn plays_its_role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let base = PathBuf::from(std::env::var_os(BASE).unwrap());
    let number: u32 = std::env::var(NUMBER).unwrap().parse().unwrap();
    match role.split_once('-').unwrap_or((role.as_str(), "")) {
        ("read", _) => read_only::try_everything(&base),
        ("writer", name) => writers::add_lines(&base, name.chars().next().unwrap(), number),
        ("stranger", manner) => stranger::add_lines(&base, stranger::Manner::named(manner), number),
        ("doomed", _) => crash::change_until_killed(&base, number),
        other => panic!("{other:?} is no role"),
    }
}
