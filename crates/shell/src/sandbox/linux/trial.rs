//! The command that tries a wall from inside: it does what a wall has to let through, and what it has to refuse.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::file_rules;

/// Where a trial takes place.
pub(super) struct Ground {
    /// Stands for the vault, with a folder for notes and a protected one.
    pub(super) vault: PathBuf,
    /// Stands for everything else, with a file that is a secret.
    pub(super) outside: PathBuf,
}

pub(super) const NOTES: &str = "notes";
pub(super) const KEPT: &str = ".kept";
pub(super) const ABSENT: &str = ".absent";
const SECRET: &str = "secret";
const WRITTEN: &str = "written";

impl Ground {
    /// Makes the folders of a trial below a folder.
    pub(super) fn made_in(folder: &Path) -> std::io::Result<Ground> {
        let ground = Ground { vault: folder.join("vault"), outside: folder.join("outside") };
        fs::create_dir_all(ground.vault.join(NOTES))?;
        fs::create_dir(ground.vault.join(KEPT))?;
        fs::create_dir(&ground.outside)?;
        File::create_new(ground.outside.join(SECRET))?;
        Ok(ground)
    }

    /// What has changed although it must not.
    pub(super) fn broken(&self) -> Option<&'static str> {
        self.forbidden().into_iter().find_map(|(path, what)| path.exists().then_some(what))
    }

    /// Where nothing may be written, and what it means if something is.
    fn forbidden(&self) -> [(PathBuf, &'static str); 3] {
        [
            (self.outside.join(WRITTEN), "it can write outside the vault"),
            (self.vault.join(KEPT).join(WRITTEN), "it can write into a protected folder"),
            (self.vault.join(ABSENT).join(WRITTEN), "it can make a protected folder"),
        ]
    }
}

/// Ends well if the wall holds, and says which interface the rules for files have.
pub(super) fn trial(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(vault), Some(outside)) = (args.next(), args.next()) else { return ExitCode::FAILURE };
    match walk_through(&Ground { vault: vault.into(), outside: outside.into() }) {
        Some(hole) => {
            let _unread = writeln!(std::io::stderr(), "{hole}");
            ExitCode::FAILURE
        }
        None => {
            let _unread = write!(std::io::stdout(), "{}", file_rules::version());
            ExitCode::SUCCESS
        }
    }
}

/// The first thing that is not as it has to be.
fn walk_through(ground: &Ground) -> Option<&'static str> {
    if File::create(ground.vault.join(NOTES).join(WRITTEN)).is_err() {
        return Some("it cannot write in the vault");
    }
    let _refused = fs::create_dir(ground.vault.join(ABSENT));
    for (path, what) in ground.forbidden() {
        if File::create(path).is_ok() {
            return Some(what);
        }
    }
    if File::open(ground.outside.join(SECRET)).is_ok() {
        return Some("it can read outside the vault");
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_ok().then_some("it has a network")
}
