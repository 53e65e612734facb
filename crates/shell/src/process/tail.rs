//! Tail of one stream of a running command, for readers while it is written.
//!
//! The whole stream is never held in memory: a reader gets a bounded part of the new bytes, and the path of the rest.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use envelope::{Failure, Fault};
use toolkit::ArtifactSink;

/// Length of a stream so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamPosition {
    pub bytes: u64,
    pub newlines: u64,
}

/// Bytes that were added to a stream since a position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamDelta {
    /// Position of the first new byte in the whole stream.
    pub from: u64,
    /// Position after the last new byte.
    pub to: u64,
    /// All new bytes, or the beginning of them.
    pub head: Vec<u8>,
    /// Path of the whole stream once it is too long for memory.
    pub path: Option<String>,
}

/// The reading side of one stream.
pub(super) struct StreamTail {
    artifacts: Arc<dyn ArtifactSink>,
    head: Mutex<Vec<u8>>,
    path: OnceLock<String>,
}

impl StreamTail {
    pub(super) fn new(artifacts: Arc<dyn ArtifactSink>) -> StreamTail {
        StreamTail { artifacts, head: Mutex::default(), path: OnceLock::new() }
    }

    pub(super) fn artifacts(&self) -> &dyn ArtifactSink {
        self.artifacts.as_ref()
    }

    /// The beginning of the stream that stays in memory.
    pub(super) fn head(&self) -> MutexGuard<'_, Vec<u8>> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the artifact that holds the stream from its first byte on.
    pub(super) fn set_path(&self, path: &str) {
        // Called once, by the one thread that writes the stream.
        let _set = self.path.set(path.to_owned());
    }

    pub(super) fn path(&self) -> Option<&str> {
        self.path.get().map(String::as_str)
    }

    /// Returns the bytes between two positions, at most the first `window` of them, and moves `since` to the end.
    /// `ended` means that `now` is the end of the stream.
    pub(super) fn read_delta(
        &self,
        since: &mut StreamPosition,
        now: StreamPosition,
        ended: bool,
        window: usize,
    ) -> Result<StreamDelta, Fault> {
        let source = TailSource { tail: self, file: self.open()? };
        let mut to = now.bytes;
        if !ended {
            // An incomplete character waits for its remaining bytes.
            let last = source.read(to.saturating_sub(3).max(since.bytes), to)?;
            to -= (last.len() - complete_length(&last)) as u64;
        }
        let from = since.bytes;
        let mut head = source.read(from, to.min(from.saturating_add(window as u64)))?;
        if from + (head.len() as u64) < to {
            head.truncate(complete_length(&head));
        }
        *since = StreamPosition { bytes: to, newlines: now.newlines };
        Ok(StreamDelta { from, to, head, path: self.path().map(str::to_owned) })
    }

    fn open(&self) -> Result<Option<File>, Fault> {
        self.path().map(|path| self.artifacts.open(path)).transpose()
    }
}

struct TailSource<'tail> {
    tail: &'tail StreamTail,
    file: Option<File>,
}

impl TailSource<'_> {
    /// Reads the available part of a range.
    fn read(&self, from: u64, to: u64) -> Result<Vec<u8>, Fault> {
        let head = self.tail.head();
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
        let path = self.tail.path().unwrap_or_default();
        Fault::new(Failure::ExecutionFailed, format!("the output in `{path}` cannot be read again: {error}"))
    }
}

pub(super) fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Returns the length without an incomplete character at the end. Bytes that are not UTF-8 are kept.
fn complete_length(bytes: &[u8]) -> usize {
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

    use super::complete_length;

    proptest! {
        #[test]
        fn a_text_cut_anywhere_is_cut_between_two_characters(text in any::<String>(), at in 0_usize..1000) {
            let at = at.min(text.len());
            let before = &text.as_bytes()[..at];
            let whole = &before[..complete_length(before)];
            assert!(text.starts_with(std::str::from_utf8(whole).unwrap()));
            assert!(before.len() - whole.len() <= 3);
        }

        #[test]
        fn what_is_no_text_loses_little(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            assert!(bytes.len() - complete_length(&bytes) <= 3);
        }
    }
}
