//! One stream of a running command, for those who look at it while it is written.
//!
//! What was produced is never held in memory as a whole: a look gives a bounded piece of the beginning, and says where
//! the rest is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use envelope::{Failure, Fault};
use toolkit::ArtifactSink;

/// How far a stream has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    pub bytes: u64,
    pub newlines: u64,
}

/// What was added to a stream since a place in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fresh {
    /// The place of the first new byte in the whole stream.
    pub from: u64,
    /// The place behind the last one.
    pub to: u64,
    /// All of it, or its beginning.
    pub head: Vec<u8>,
    /// Where the whole stream is, once it is too long for memory.
    pub path: Option<String>,
}

/// The readers' side of one stream.
pub(super) struct Feed {
    artifacts: Arc<dyn ArtifactSink>,
    head: Mutex<Vec<u8>>,
    path: OnceLock<String>,
}

impl Feed {
    pub(super) fn new(artifacts: Arc<dyn ArtifactSink>) -> Feed {
        Feed { artifacts, head: Mutex::default(), path: OnceLock::new() }
    }

    pub(super) fn artifacts(&self) -> &dyn ArtifactSink {
        self.artifacts.as_ref()
    }

    /// The beginning of the stream, as much of it as stays in memory.
    pub(super) fn head(&self) -> MutexGuard<'_, Vec<u8>> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on the stream, from its first byte, is in this artifact as well.
    pub(super) fn is_at(&self, path: &str) {
        // Called once, by the one thread that writes the stream.
        let _set = self.path.set(path.to_owned());
    }

    pub(super) fn path(&self) -> Option<&str> {
        self.path.get().map(String::as_str)
    }

    /// What lies between two places, `window` bytes of its beginning at most. Moves `since` behind all of it. `ended`
    /// says that `now` is the end of the stream.
    pub(super) fn fresh(
        &self,
        since: &mut Progress,
        now: Progress,
        ended: bool,
        window: usize,
    ) -> Result<Fresh, Fault> {
        let source = Source { feed: self, file: self.open()? };
        let mut to = now.bytes;
        if !ended {
            // Half a character waits for its other half.
            let last = source.read(to.saturating_sub(3).max(since.bytes), to)?;
            to -= (last.len() - whole_end(&last)) as u64;
        }
        let from = since.bytes;
        let mut head = source.read(from, to.min(from.saturating_add(window as u64)))?;
        if from + (head.len() as u64) < to {
            head.truncate(whole_end(&head));
        }
        *since = Progress { bytes: to, newlines: now.newlines };
        Ok(Fresh { from, to, head, path: self.path().map(str::to_owned) })
    }

    fn open(&self) -> Result<Option<File>, Fault> {
        self.path().map(|path| self.artifacts.open(path)).transpose()
    }
}

struct Source<'feed> {
    feed: &'feed Feed,
    file: Option<File>,
}

impl Source<'_> {
    /// As much of the range as there is.
    fn read(&self, from: u64, to: u64) -> Result<Vec<u8>, Fault> {
        let head = self.feed.head();
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(head.len());
        if to <= head.len() as u64 || self.file.is_none() {
            return Ok(head[place(from)..place(to)].to_vec());
        }
        drop(head);
        let mut bytes = vec![0; usize::try_from(to - from).unwrap_or_default()];
        let read = self.file.as_ref().map_or(Ok(()), |file| file.read_exact_at(&mut bytes, from));
        read.map(|()| bytes).map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &io::Error) -> Fault {
        let path = self.feed.path().unwrap_or_default();
        Fault::new(Failure::ExecutionFailed, format!("the output in `{path}` cannot be read again: {error}"))
    }
}

pub(super) fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The length without a character that is cut at the end. Bytes that are no text stay as they are.
fn whole_end(bytes: &[u8]) -> usize {
    let last = bytes.iter().rposition(|byte| byte & 0xc0 != 0x80).unwrap_or_default();
    let wanted = match bytes.get(last) {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => 1,
    };
    let there = bytes.len() - last;
    if there < wanted { last } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::whole_end;

    proptest! {
        #[test]
        fn a_text_cut_anywhere_is_cut_between_two_characters(text in any::<String>(), at in 0_usize..1000) {
            let at = at.min(text.len());
            let before = &text.as_bytes()[..at];
            let whole = &before[..whole_end(before)];
            assert!(text.starts_with(std::str::from_utf8(whole).unwrap()));
            assert!(before.len() - whole.len() <= 3);
        }

        #[test]
        fn what_is_no_text_loses_little(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            assert!(bytes.len() - whole_end(&bytes) <= 3);
        }
    }
}
