//! The way back from an exchange that took out another file than it should have.
//!
//! Other programs go on writing meanwhile, and whatever they put in the place is newer than what is given
//! back. So nothing here goes by name alone: what comes out of each exchange is looked at.

use envelope::{DataRef, Fault, FileState, VaultPath};
use rustix::io::Errno;

use super::change::Witness;
use super::fault;
use super::temp::{Exchange, Temp};
use super::unstoppable::Unstoppable;

/// Others who write in the very moment between two exchanges are not met more often.
const MAX_EXCHANGES: u32 = 16;

/// Exchanges back what was taken out by mistake. Whatever has come into the place meanwhile is newer than what
/// is put there, so it goes back in turn, until what comes out is what was put in. What is under the hidden
/// name then goes: our own file, or else content that the store has by then. Anything else is left there.
pub(super) fn put_back(
    temp: &mut Temp<'_>,
    name: &str,
    path: &VaultPath,
    ours: &FileState,
    witness: &dyn Witness,
) -> Result<(), Fault> {
    let failed = |error: Errno| fault::from_errno("put back", path.as_str(), error);
    let back = exchange_back(temp, name).map_err(failed);
    // Not asked whether it may go on: to stop here would leave the wrong file in the place.
    if !can_go(temp, path, ours, &Unstoppable(witness)) {
        temp.leave();
    }
    back
}

fn exchange_back(temp: &mut Temp<'_>, name: &str) -> Result<(), Errno> {
    let mut expected = temp.identity()?;
    for _ in 0..MAX_EXCHANGES {
        let given = temp.hidden_identity()?;
        match temp.exchange(name) {
            Ok(Exchange::Done | Exchange::NotPossible) => {}
            // Removed by somebody who meant our file or the one before it. It costs nobody anything if it is
            // there again, and something if it is lost.
            Err(Errno::NOENT) => return temp.give_back(name),
            Err(error) => return Err(error),
        }
        if temp.hidden_identity()? == expected {
            return Ok(());
        }
        expected = given;
    }
    Ok(())
}

/// Whether nothing is lost when the hidden name goes.
fn can_go(temp: &Temp<'_>, path: &VaultPath, ours: &FileState, witness: &dyn Witness) -> bool {
    if !temp.has_hidden() {
        return true;
    }
    let Ok(state) = temp.hidden_state(path, witness) else {
        return false;
    };
    let is_ours = temp.identity().is_ok_and(|ours| temp.hidden_identity() == Ok(ours));
    if is_ours && state.hash == ours.hash {
        return true;
    }
    // A stranger's file, or ours with something that a stranger has added to it.
    temp.open_hidden().is_ok_and(|mut file| witness.keep(&mut file).is_ok()) && is_kept(&state, witness)
}

/// Whether the store has this content for sure: a witness without a store takes everything and has nothing.
pub(super) fn is_kept(state: &FileState, witness: &dyn Witness) -> bool {
    let wanted = DataRef { hash: state.hash, bytes: state.bytes };
    witness.fetch(&wanted, &mut std::io::sink()).is_ok()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::{Read, Write};
    use std::path::Path;

    use cap_std::fs::Dir;
    use envelope::{Change, DataRef, Failure, Fault, FileState, Hash, VaultPath};

    use super::super::change::Witness;
    use super::super::folder::open_ambient;
    use super::super::temp::{Exchange, Temp};
    use super::put_back;

    /// Keeps things, or only says so.
    #[derive(Default)]
    struct Store {
        kept: RefCell<BTreeMap<Hash, Vec<u8>>>,
        forgets: bool,
    }

    impl Witness for Store {
        fn saw(&self, _change: Change) {}

        fn may_go_on(&self) -> Result<(), Fault> {
            Err(Fault::new(Failure::Canceled, "the call was stopped"))
        }

        fn keep(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
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

    /// Our text has taken the place of a stranger's. Then `meanwhile` happens, and it is put back: the note, what
    /// is left under hidden names, and what was kept.
    fn after(store: &Store, meanwhile: impl FnOnce(&Path)) -> (String, Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let (dir, note): (Dir, _) = (open_ambient(folder.path()).unwrap(), folder.path().join("note.md"));
        put(&note, "the stranger's");
        let fill = |file: &mut fs::File| {
            file.write_all(b"ours").unwrap();
            Ok(())
        };
        let mut temp = Temp::write_with(&dir, "note.md", None, fill).unwrap();
        assert_eq!(temp.exchange("note.md"), Ok(Exchange::Done));
        assert_eq!(fs::read_to_string(&note).unwrap(), "ours");
        meanwhile(&note);
        let ours = FileState { hash: Hash::of(b"ours"), bytes: 4, mode: 0o644 };
        put_back(&mut temp, "note.md", &VaultPath::parse("note.md").unwrap(), &ours, store).unwrap();
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
    fn what_was_taken_is_in_its_place_again_and_nothing_is_left() {
        assert_eq!(after(&Store::default(), |_| {}), end("the stranger's", &[], &[]));
    }

    #[test]
    fn what_came_meanwhile_is_newer_and_stays_and_what_was_taken_is_kept() {
        let newer = |note: &Path| {
            put(&note.with_file_name("newer"), "newer");
            fs::rename(note.with_file_name("newer"), note).unwrap();
        };
        assert_eq!(after(&Store::default(), newer), end("newer", &[], &["the stranger's"]));
        let forgets = Store { forgets: true, ..Store::default() };
        assert_eq!(after(&forgets, newer), end("newer", &["the stranger's"], &[]), "nothing is lost");
    }

    #[test]
    fn what_was_taken_comes_back_also_when_the_name_was_removed_meanwhile() {
        let removed = |note: &Path| fs::remove_file(note).unwrap();
        assert_eq!(after(&Store::default(), removed), end("the stranger's", &[], &[]));
    }

    #[test]
    fn what_a_stranger_added_to_our_text_meanwhile_is_kept() {
        let more = |note: &Path| put(note, "ours and more");
        assert_eq!(after(&Store::default(), more), end("the stranger's", &[], &["ours and more"]));
    }
}
