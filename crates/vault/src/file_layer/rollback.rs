//! Undoes an exchange that took out another file than expected.
//!
//! Other programs go on writing meanwhile, and their files are newer than the one that is put back. So the
//! result of each exchange is checked instead of relying on the name.

use envelope::{DataRef, Fault, FileState, VaultPath};
use rustix::io::Errno;

use super::fault;
use super::io_context::{ContextAdapter, IoContext};
use super::temp_file::{ExchangeResult, TempFile};

/// Other programs do not write between two exchanges more often than this.
const MAX_EXCHANGES: u32 = 16;

/// Exchanges back a file that was taken out by mistake. If another program wrote to the name meanwhile, its
/// file is newer and is exchanged back in turn, until the exchange returns the file that was put in. Then
/// removes the hidden file if it is ours or its content is stored; any other file stays. Returns the content of another
/// program that only the store has now.
pub(super) fn roll_back(
    temp: &mut TempFile<'_>,
    name: &str,
    path: &VaultPath,
    ours: &FileState,
    io: &dyn IoContext,
) -> Result<Option<FileState>, Fault> {
    let failed = |error: Errno| fault::from_errno("restore", path.as_str(), error);
    // Another program may have written into our file. After a crash, a file with the name of an unfinished one would be
    // removed unread. A failure is ignored: the rollback matters more.
    temp.mark_as_content().ok();
    let back = exchange_back(temp, name).map_err(failed);
    // Without a cancellation check: stopping here would leave the wrong file under the name.
    let io = ContextAdapter::new(io).uncancellable();
    let stored = match hidden_content(temp, path, ours, &io) {
        HiddenContent::Ours => None,
        HiddenContent::Stored(state) => Some(state),
        HiddenContent::OnlyCopy => {
            temp.keep_hidden();
            None
        }
    };
    back.map(|()| stored)
}

/// Adds to a conflict where the text of another program is that was put aside: no change names it, and a prune keeps only
/// what a record names.
pub(super) fn name_stored(fault: Fault, stored: Option<&FileState>) -> Fault {
    match stored {
        Some(state) => {
            let message =
                format!("{}; what another program had written is stored as {}", fault.message, state.hash);
            Fault { message, ..fault }.detail("storedAs", state.hash.to_string())
        }
        None => fault,
    }
}

fn exchange_back(temp: &mut TempFile<'_>, name: &str) -> Result<(), Errno> {
    let mut expected = temp.identity()?;
    for _ in 0..MAX_EXCHANGES {
        let given = temp.hidden_identity()?;
        match temp.exchange(name) {
            Ok(ExchangeResult::Done | ExchangeResult::NotPossible) => {}
            // Removed by a program that meant our file or the one before it. Restoring it does no harm, losing
            // it would.
            Err(Errno::NOENT) => return temp.restore_name(name),
            Err(error) => return Err(error),
        }
        if temp.hidden_identity()? == expected {
            return Ok(());
        }
        expected = given;
    }
    Ok(())
}

/// What the hidden file holds after a rollback.
enum HiddenContent {
    /// Nothing, or what we had written.
    Ours,
    /// Content of another program, which the store has.
    Stored(FileState),
    /// Content that is nowhere else, or that cannot be read.
    OnlyCopy,
}

fn hidden_content(
    temp: &TempFile<'_>,
    path: &VaultPath,
    ours: &FileState,
    io: &dyn IoContext,
) -> HiddenContent {
    if !temp.has_hidden() {
        return HiddenContent::Ours;
    }
    let Ok(state) = temp.hidden_state(path, io) else {
        return HiddenContent::OnlyCopy;
    };
    let is_ours = temp.identity().is_ok_and(|ours| temp.hidden_identity() == Ok(ours));
    if is_ours && state.hash == ours.hash {
        return HiddenContent::Ours;
    }
    // Another program's file, or ours with content that another program added.
    let kept = temp.open_hidden().is_ok_and(|mut file| io.store(&mut file).is_ok()) && is_stored(&state, io);
    if kept { HiddenContent::Stored(state) } else { HiddenContent::OnlyCopy }
}

/// Returns true if the store has this content. A context without a store accepts everything and returns nothing.
pub(super) fn is_stored(state: &FileState, io: &dyn IoContext) -> bool {
    let wanted = DataRef { hash: state.hash, bytes: state.bytes };
    io.fetch(&wanted, &mut std::io::sink()).is_ok()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::{Read, Write};
    use std::path::Path;

    use cap_std::fs::Dir;
    use envelope::{DataRef, Failure, Fault, FileState, Hash, VaultChange, VaultPath};

    use super::super::folder::open_ambient;
    use super::super::io_context::IoContext;
    use super::super::temp_file::{ExchangeResult, TempFile};
    use super::roll_back;

    /// Stores content, or only claims to.
    #[derive(Default)]
    struct RollbackStore {
        kept: RefCell<BTreeMap<Hash, Vec<u8>>>,
        forgets: bool,
    }

    impl IoContext for RollbackStore {
        fn record_change(&self, _change: VaultChange) {}

        fn check_cancelled(&self) -> Result<(), Fault> {
            Err(Fault::new(Failure::Canceled, "the call was stopped"))
        }

        fn store(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes).unwrap();
            if !self.forgets {
                self.kept.borrow_mut().insert(Hash::of(&bytes), bytes);
            }
            Ok(None)
        }

        fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
            match self.kept.borrow().get(&wanted.hash) {
                Some(bytes) => {
                    into.write_all(bytes).unwrap();
                    Ok(())
                }
                None => Err(Fault::new(Failure::NotFound, "not kept")),
            }
        }
    }

    fn put(path: &Path, text: &str) {
        fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Our text has replaced another program's file. Runs `meanwhile`, rolls back, and returns the note, the
    /// hidden files and the stored contents.
    fn after(store: &RollbackStore, meanwhile: impl FnOnce(&Path)) -> (String, Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let (dir, note): (Dir, _) = (open_ambient(folder.path()).unwrap(), folder.path().join("note.md"));
        put(&note, "the stranger's");
        let fill = |file: &mut fs::File| {
            file.write_all(b"ours").unwrap();
            Ok(())
        };
        let mut temp = TempFile::write_with(&dir, "note.md", None, fill).unwrap();
        assert_eq!(temp.exchange("note.md"), Ok(ExchangeResult::Done));
        assert_eq!(fs::read_to_string(&note).unwrap(), "ours");
        meanwhile(&note);
        let ours = FileState { hash: Hash::of(b"ours"), bytes: 4, mode: 0o644 };
        let named =
            roll_back(&mut temp, "note.md", &VaultPath::parse("note.md").unwrap(), &ours, store).unwrap();
        let stored: Vec<Hash> = store.kept.borrow().keys().copied().collect();
        let named: Vec<Hash> = named.into_iter().map(|state| state.hash).collect();
        assert_eq!(named, stored, "everything that is only stored is named");
        drop(temp);
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        let others = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let hidden = others.filter(|path| *path != note).map(|path| text(&path)).collect();
        let kept =
            store.kept.borrow().values().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).collect();
        (text(&note), hidden, kept)
    }

    fn end(note: &str, hidden: &[&str], kept: &[&str]) -> (String, Vec<String>, Vec<String>) {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        (note.to_owned(), owned(hidden), owned(kept))
    }

    #[test]
    #[cfg_attr(any(not(target_os = "linux"), tollgate_portable), ignore = "POSIX cannot exchange two names")]
    fn what_was_taken_is_in_its_place_again_and_nothing_is_left() {
        assert_eq!(after(&RollbackStore::default(), |_| {}), end("the stranger's", &[], &[]));
    }

    #[test]
    #[cfg_attr(any(not(target_os = "linux"), tollgate_portable), ignore = "POSIX cannot exchange two names")]
    fn what_came_meanwhile_is_newer_and_stays_and_what_was_taken_is_kept() {
        let newer = |note: &Path| {
            put(&note.with_file_name("newer"), "newer");
            fs::rename(note.with_file_name("newer"), note).unwrap();
        };
        assert_eq!(after(&RollbackStore::default(), newer), end("newer", &[], &["the stranger's"]));
        let forgets = RollbackStore { forgets: true, ..RollbackStore::default() };
        assert_eq!(after(&forgets, newer), end("newer", &["the stranger's"], &[]), "nothing is lost");
    }

    #[test]
    #[cfg_attr(any(not(target_os = "linux"), tollgate_portable), ignore = "POSIX cannot exchange two names")]
    fn what_was_taken_comes_back_also_when_the_name_was_removed_meanwhile() {
        let removed = |note: &Path| fs::remove_file(note).unwrap();
        assert_eq!(after(&RollbackStore::default(), removed), end("the stranger's", &[], &[]));
    }

    #[test]
    #[cfg_attr(any(not(target_os = "linux"), tollgate_portable), ignore = "POSIX cannot exchange two names")]
    fn what_a_stranger_added_to_our_text_meanwhile_is_kept() {
        let more = |note: &Path| put(note, "ours and more");
        assert_eq!(after(&RollbackStore::default(), more), end("the stranger's", &[], &["ours and more"]));
    }
}
