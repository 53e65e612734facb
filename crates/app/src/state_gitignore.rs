//! `.tollgate/.gitignore`: keeps runs, which contain text of notes, out of the commits of a vault.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use journal::open_folder_no_links;
use rustix::fs::{Mode, OFlags};

const FILE: &str = ".gitignore";

/// The settings can be committed, as they are trusted by their content; everything else is of this machine.
const CONTENT: &str = "\
# Made by Tollgate. Runs contain text of your notes; the settings do not.
*
!.gitignore
!config.toml
";

/// Creates the file unless there is one. A failure does not stop a run: the file only saves you a commit.
pub(crate) fn ensure(vault: &Path) {
    if let Err(error) = create(&vault.join(".tollgate"))
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        tracing::debug!(%error, "no .gitignore was created in .tollgate");
    }
}

fn create(folder: &Path) -> io::Result<()> {
    let folder = open_folder_no_links(folder)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    File::from(rustix::fs::openat(&folder, FILE, flags, mode)?).write_all(CONTENT.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{CONTENT, ensure};

    #[test]
    fn it_is_made_once_and_an_edited_one_stays() {
        let vault = tempfile::tempdir().unwrap();
        let file = vault.path().join(".tollgate/.gitignore");
        ensure(vault.path());
        assert!(!file.exists(), "without the folder there is nothing to keep out");
        std::fs::create_dir(vault.path().join(".tollgate")).unwrap();
        ensure(vault.path());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), CONTENT);
        std::fs::File::create(&file).unwrap();
        ensure(vault.path());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
    }
}
