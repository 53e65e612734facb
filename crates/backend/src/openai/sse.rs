//! Cuts a stream of bytes into the data of its events.

use bytes::{Buf, BytesMut};
use memchr::memchr;

use crate::{BackendError, ErrorKind};

/// An event that is larger is no delta of a model.
const EVENT_LIMIT: usize = 16 << 20;

/// What has arrived and is not cut yet. Each byte is looked at once.
#[derive(Default)]
pub(super) struct Frames {
    buffer: BytesMut,
    /// Up to here there is no line break.
    seen: usize,
    /// The data of the event so far, when it has more than one line.
    data: BytesMut,
}

impl Frames {
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        if self.buffer.len() + self.data.len() + bytes.len() > EVENT_LIMIT {
            return Err(BackendError::new(
                ErrorKind::Protocol,
                "the model's server sent an event without end",
            ));
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Calls `take` with the data of the next event; says whether there was one.
    pub(super) fn next<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        loop {
            let end = match memchr(b'\n', &self.buffer[self.seen..]) {
                Some(at) => self.seen + at,
                None => {
                    self.seen = self.buffer.len();
                    return None;
                }
            };
            self.seen = 0;
            let line = self.buffer[..end].strip_suffix(b"\r").unwrap_or(&self.buffer[..end]);
            if line.is_empty() {
                self.buffer.advance(end + 1);
                if self.data.is_empty() {
                    continue;
                }
                let data = std::mem::take(&mut self.data);
                return Some(take(&data));
            }
            if let Some(data) = line.strip_prefix(b"data:") {
                let data = data.strip_prefix(b" ").unwrap_or(data);
                // Nearly every event has one line, and it is followed by an empty one.
                if !data.is_empty() && self.data.is_empty() && self.buffer.get(end + 1) == Some(&b'\n') {
                    let taken = take(data);
                    self.buffer.advance(end + 2);
                    return Some(taken);
                }
                if !self.data.is_empty() {
                    self.data.extend_from_slice(b"\n");
                }
                self.data.extend_from_slice(data);
            }
            self.buffer.advance(end + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Frames;

    fn cut(text: &str, size: usize) -> Vec<String> {
        let mut frames = Frames::default();
        let mut found = Vec::new();
        for chunk in text.as_bytes().chunks(size.max(1)) {
            frames.push(chunk).unwrap();
            while let Some(data) = frames.next(|data| String::from_utf8_lossy(data).into_owned()) {
                found.push(data);
            }
        }
        found
    }

    #[test]
    fn events_are_the_same_however_they_arrive() {
        let text = "event: a\ndata: one\n\n: comment\n\ndata:two\r\ndata: lines\r\n\r\nid: 3\n\ndata: \u{e4}\u{1f600}\n\ndata: cut";
        for size in 1..=text.len() {
            assert_eq!(cut(text, size), ["one", "two\nlines", "\u{e4}\u{1f600}"], "in pieces of {size}");
        }
    }

    proptest! {
        #[test]
        fn whatever_arrives_does_no_harm(text in "(data: ?|event:|[a-z]|\r|\n|\n\n){0,60}", size in 1_usize..9) {
            prop_assert_eq!(cut(&text, size), cut(&text, usize::MAX));
        }
    }
}
