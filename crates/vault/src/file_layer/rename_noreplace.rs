//! Renames that replace nothing, also on file systems that cannot guarantee it.

use cap_std::fs::Dir;
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::folder::{self, NodeKind};
use crate::platform::{self, FileStat};

/// Renames an entry to a name that is free.
pub(super) fn rename_noreplace(from: &Dir, name: &str, to: &Dir, new_name: &str) -> Result<(), Errno> {
    match platform::rename_noreplace(from, name, to, new_name) {
        Err(Errno::INVAL | Errno::NOSYS) => rename_without_flag(from, name, to, new_name),
        renamed => renamed,
    }
}

/// Fallback for a file system that does not know the flag, and for a folder that is moved into itself.
fn rename_without_flag(from: &Dir, name: &str, to: &Dir, new_name: &str) -> Result<(), Errno> {
    match folder::stat(to, new_name) {
        Err(Errno::NOENT) => {}
        Ok(_) => return Err(Errno::EXIST),
        Err(error) => return Err(error),
    }
    // For a file, a hard link that refuses to replace.
    let (name, new_name) = (&*platform::disk_name(name)?, &*platform::disk_name(new_name)?);
    match rustix::fs::linkat(from, name, to, new_name, AtFlags::empty()) {
        Ok(()) => rustix::fs::unlinkat(from, name, AtFlags::empty()),
        // A folder cannot have a hard link; the check above is the only protection.
        Err(Errno::PERM | Errno::OPNOTSUPP) => rustix::fs::renameat(from, name, to, new_name),
        Err(error) => Err(error),
    }
}

/// Changes only the spelling of a name.
pub(super) fn rename_respelled(dir: &Dir, name: &str, new_name: &str) -> Result<(), Errno> {
    match platform::rename_noreplace(dir, name, dir, new_name) {
        Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS) => respell_without_flag(dir, name, new_name),
        renamed => renamed,
    }
}

/// On a file system that folds names, the new name exists and is the same entry: a plain rename is right.
fn respell_without_flag(dir: &Dir, name: &str, new_name: &str) -> Result<(), Errno> {
    match folder::stat(dir, new_name) {
        Err(Errno::NOENT) => rename_without_flag(dir, name, dir, new_name),
        Err(error) => Err(error),
        Ok(new) if is_itself(&folder::stat(dir, name)?, &new) => {
            rustix::fs::renameat(dir, platform::disk_name(name)?, dir, platform::disk_name(new_name)?)
        }
        Ok(_) => Err(Errno::EXIST),
    }
}

/// Returns true if two names of a folder are one entry in two spellings. Only a file can have two names.
fn is_itself(old: &FileStat, new: &FileStat) -> bool {
    let one_name = old.links == 1 || folder::kind(old) == NodeKind::Folder;
    old.identity == new.identity && one_name
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use cap_std::fs::Dir;
    use rustix::io::Errno;

    use super::super::folder;
    use super::{is_itself, rename_without_flag, respell_without_flag};

    fn fixture() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        for name in ["Note.md", "Other.md"] {
            std::fs::File::create(temp.path().join(name)).unwrap().write_all(name.as_bytes()).unwrap();
        }
        for name in ["Notes/in", "Empty"] {
            std::fs::create_dir_all(temp.path().join(name)).unwrap();
        }
        let dir = folder::open_ambient(temp.path()).unwrap();
        (temp, dir)
    }

    #[test]
    fn a_file_system_without_the_flag_moves_files_and_folders_and_replaces_neither() {
        let (temp, dir) = fixture();
        assert_eq!(rename_without_flag(&dir, "Note.md", &dir, "New.md"), Ok(()));
        assert_eq!(rename_without_flag(&dir, "Notes", &dir, "Moved"), Ok(()));
        for (from, to) in [("New.md", "Other.md"), ("Moved", "Empty"), ("Moved", "New.md")] {
            assert_eq!(rename_without_flag(&dir, from, &dir, to), Err(Errno::EXIST), "{from} to {to}");
        }
        assert_eq!(std::fs::read(temp.path().join("New.md")).unwrap(), b"Note.md");
        assert!(temp.path().join("Moved/in").is_dir());
    }

    #[test]
    fn only_a_folder_that_is_moved_into_itself_is_told_so() {
        let (_temp, dir) = fixture();
        let inner = folder::open_folder(&dir, "Notes").unwrap();
        assert_eq!(rename_without_flag(&dir, "Notes", &inner, "again"), Err(Errno::INVAL));
    }

    #[test]
    fn a_file_system_without_the_flag_respells_and_replaces_nothing() {
        let (temp, dir) = fixture();
        assert_eq!(respell_without_flag(&dir, "Notes", "notes"), Ok(()));
        assert_eq!(respell_without_flag(&dir, "Note.md", "note.md"), Ok(()));
        assert!(temp.path().join("notes/in").is_dir());
        std::fs::create_dir(temp.path().join("Notes")).unwrap();
        assert_eq!(respell_without_flag(&dir, "notes", "Notes"), Err(Errno::EXIST));
    }

    #[test]
    fn a_folder_is_itself_under_another_spelling_and_a_second_name_of_a_file_is_not() {
        let (temp, dir) = fixture();
        std::fs::hard_link(temp.path().join("Note.md"), temp.path().join("note.md")).unwrap();
        let look = |name: &str| folder::stat(&dir, name).unwrap();
        // On a file system that folds names, both spellings return the same entry.
        assert!(look("Notes").links > 1);
        assert!(is_itself(&look("Notes"), &look("Notes")));
        assert!(is_itself(&look("Other.md"), &look("Other.md")));
        assert!(!is_itself(&look("Note.md"), &look("note.md")));
        assert!(!is_itself(&look("Notes"), &look("Empty")));
    }
}
