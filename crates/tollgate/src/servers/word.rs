//! What is approved of one server at this moment, for runs that began before: a word taken back counts at their next
//! call. The file is read again only when it is another than it was.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use upstream::{ApprovedNow, Pin};

use super::read_file;

pub(super) struct Word {
    file: PathBuf,
    server: String,
    read: Mutex<Option<(Stamp, Option<Arc<Pin>>)>>,
}

/// Tells one state of a file from the next. Every change makes a new file.
type Stamp = (u64, u64, i64, i64);

impl Word {
    pub(super) fn on(file: PathBuf, server: String) -> ApprovedNow {
        let word = Word { file, server, read: Mutex::default() };
        Arc::new(move || word.now())
    }

    fn now(&self) -> Result<Option<Arc<Pin>>, String> {
        let stamp = std::fs::metadata(&self.file).ok();
        let stamp = stamp.map(|of| (of.ino(), of.size(), of.mtime(), of.mtime_nsec()));
        self.as_of(stamp, || {
            let mut approved = read_file(&self.file).map_err(|stop| stop.message)?;
            Ok(approved.servers.remove(&self.server))
        })
    }

    /// What `read` finds, or found before in the file of this stamp.
    fn as_of(
        &self,
        stamp: Option<Stamp>,
        read: impl FnOnce() -> Result<Option<Pin>, String>,
    ) -> Result<Option<Arc<Pin>>, String> {
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pin)) = known.as_ref().filter(|(before, _)| Some(*before) == stamp) {
            return Ok(pin.clone());
        }
        let pin = read()?.map(Arc::new);
        // The file may have come since the look at it. What was read then must not be kept for its absence.
        *known = stamp.map(|stamp| (stamp, pin.clone()));
        Ok(pin)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use envelope::Hash;
    use upstream::Pin;

    use super::Word;
    use crate::servers::Approved;
    use crate::trust;

    #[test]
    fn what_is_written_down_counts_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("servers/vault.json");
        let now = Word::on(file.clone(), "s".to_owned());
        assert_eq!(now(), Ok(None));
        for name in ["one", "other"] {
            let pin = Pin { identity: Hash::of(name.as_bytes()), tools: Vec::new() };
            let servers = [("s".to_owned(), pin.clone())].into();
            trust::write(&file, &Approved { vault: "v".to_owned(), servers }).unwrap();
            assert_eq!(now().unwrap().as_deref(), Some(&pin));
            assert_eq!(now().unwrap().as_deref(), Some(&pin));
        }
        trust::write(&file, &Approved::default()).unwrap();
        assert_eq!(now(), Ok(None));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(now(), Ok(None));
        std::fs::create_dir(&file).unwrap();
        assert!(now().is_err());
    }

    #[test]
    fn what_came_between_the_look_and_the_reading_is_not_kept_for_when_it_is_gone_again() {
        let word = Word { file: "vault.json".into(), server: "s".to_owned(), read: Mutex::default() };
        let pin = Pin { identity: Hash::of(b"one"), tools: Vec::new() };
        assert_eq!(word.as_of(None, || Ok(Some(pin.clone()))).unwrap().as_deref(), Some(&pin));
        assert_eq!(word.as_of(None, || Ok(None)), Ok(None));
    }
}
