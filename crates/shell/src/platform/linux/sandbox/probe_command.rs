//! The command of a probe: it tries inside of a sandbox what must be allowed and what must be refused.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::landlock_rules;

/// Folders of a probe.
pub(super) struct ProbeFolders {
    /// In place of the vault, with a folder for notes and a protected one.
    pub(super) vault: PathBuf,
    /// In place of everything else, with a secret file.
    pub(super) outside: PathBuf,
}

pub(super) const NOTES: &str = "notes";
pub(super) const KEPT: &str = ".kept";
pub(super) const ABSENT: &str = ".absent";
const SECRET: &str = "secret";
const WRITTEN: &str = "written";

impl ProbeFolders {
    /// Creates the folders of a probe in a folder.
    pub(super) fn create_in(folder: &Path) -> std::io::Result<ProbeFolders> {
        let folders = ProbeFolders { vault: folder.join("vault"), outside: folder.join("outside") };
        fs::create_dir_all(folders.vault.join(NOTES))?;
        fs::create_dir(folders.vault.join(KEPT))?;
        fs::create_dir(&folders.outside)?;
        File::create_new(folders.outside.join(SECRET))?;
        Ok(folders)
    }

    /// Returns a change that the sandbox should have prevented.
    pub(super) fn find_damage(&self) -> Option<&'static str> {
        self.forbidden().into_iter().find_map(|(path, what)| path.exists().then_some(what))
    }

    /// Paths that must not be writable, and the message if one is.
    fn forbidden(&self) -> [(PathBuf, &'static str); 3] {
        [
            (self.outside.join(WRITTEN), "it can write outside the vault"),
            (self.vault.join(KEPT).join(WRITTEN), "it can write into a protected folder"),
            (self.vault.join(ABSENT).join(WRITTEN), "it can make a protected folder"),
        ]
    }
}

/// Exits with success if the sandbox holds, and prints the Landlock ABI.
pub(super) fn run_probe_command(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(vault), Some(outside)) = (args.next(), args.next()) else { return ExitCode::FAILURE };
    match find_hole(&ProbeFolders { vault: vault.into(), outside: outside.into() }) {
        Some(problem) => {
            let _unread = writeln!(std::io::stderr(), "{problem}");
            ExitCode::FAILURE
        }
        None => {
            let _unread = write!(std::io::stdout(), "{}", landlock_rules::version());
            ExitCode::SUCCESS
        }
    }
}

/// Returns the first thing that the sandbox does wrong.
fn find_hole(folders: &ProbeFolders) -> Option<&'static str> {
    if File::create(folders.vault.join(NOTES).join(WRITTEN)).is_err() {
        return Some("it cannot write in the vault");
    }
    let _refused = fs::create_dir(folders.vault.join(ABSENT));
    for (path, what) in folders.forbidden() {
        if File::create(path).is_ok() {
            return Some(what);
        }
    }
    if File::open(folders.outside.join(SECRET)).is_ok() {
        return Some("it can read outside the vault");
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_ok().then_some("it has a network")
}
