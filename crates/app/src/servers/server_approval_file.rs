//! The current approval of one server, also for runs that began earlier: a revocation takes effect at their next call.
//! The file is read again only if it was replaced.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_client::{ApprovalLookup, ServerPin};

use super::read_file;

pub(super) struct ApprovalFile {
    file: PathBuf,
    server: String,
    read: Mutex<Option<(ApprovalStamp, Option<Arc<ServerPin>>)>>,
}

/// Identifies one state of a file. Every change makes a new file.
type ApprovalStamp = (u64, u64, i64, i64);

impl ApprovalFile {
    pub(super) fn on(file: PathBuf, server: String) -> ApprovalLookup {
        let word = ApprovalFile { file, server, read: Mutex::default() };
        Arc::new(move || word.now())
    }

    fn now(&self) -> Result<Option<Arc<ServerPin>>, String> {
        let stamp = std::fs::metadata(&self.file).ok();
        let stamp = stamp.map(|of| (of.ino(), of.size(), of.mtime(), of.mtime_nsec()));
        self.as_of(stamp, || {
            let mut approved = read_file(&self.file).map_err(|error| error.message)?;
            Ok(approved.servers.remove(&self.server))
        })
    }

    /// Returns the result of `read`, or the earlier one if the file has the same stamp.
    fn as_of(
        &self,
        stamp: Option<ApprovalStamp>,
        read: impl FnOnce() -> Result<Option<ServerPin>, String>,
    ) -> Result<Option<Arc<ServerPin>>, String> {
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pin)) = known.as_ref().filter(|(before, _)| Some(*before) == stamp) {
            return Ok(pin.clone());
        }
        let pin = read()?.map(Arc::new);
        // The file can have been created since the stamp was taken. Its content must not be cached for the absent file.
        *known = stamp.map(|stamp| (stamp, pin.clone()));
        Ok(pin)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use envelope::Hash;
    use mcp_client::ServerPin;

    use super::ApprovalFile;
    use crate::servers::ApprovedServers;
    use crate::trust;

    #[test]
    fn what_is_written_down_counts_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("servers/vault.json");
        let now = ApprovalFile::on(file.clone(), "s".to_owned());
        assert_eq!(now(), Ok(None));
        for name in ["one", "other"] {
            let pin = ServerPin { identity: Hash::of(name.as_bytes()), tools: Vec::new() };
            let servers = [("s".to_owned(), pin.clone())].into();
            trust::write_private_file(&file, &ApprovedServers { vault: "v".to_owned(), servers }).unwrap();
            assert_eq!(now().unwrap().as_deref(), Some(&pin));
            assert_eq!(now().unwrap().as_deref(), Some(&pin));
        }
        trust::write_private_file(&file, &ApprovedServers::default()).unwrap();
        assert_eq!(now(), Ok(None));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(now(), Ok(None));
        std::fs::create_dir(&file).unwrap();
        assert!(now().is_err());
    }

    #[test]
    fn what_came_between_the_look_and_the_reading_is_not_kept_for_when_it_is_gone_again() {
        let word = ApprovalFile { file: "vault.json".into(), server: "s".to_owned(), read: Mutex::default() };
        let pin = ServerPin { identity: Hash::of(b"one"), tools: Vec::new() };
        assert_eq!(word.as_of(None, || Ok(Some(pin.clone()))).unwrap().as_deref(), Some(&pin));
        assert_eq!(word.as_of(None, || Ok(None)), Ok(None));
    }
}
