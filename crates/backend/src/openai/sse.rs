//! Cuts a stream of bytes into the data of its events.

use memchr::memchr;

use crate::{BackendError, ErrorKind};

/// An event that is larger is no delta of a model.
const EVENT_LIMIT: usize = 16 << 20;

/// What has arrived and is not cut yet. Each byte is looked at once, and only the beginning of an event whose end has
/// not come is kept: nearly always, events arrive whole.
#[derive(Default)]
pub(super) struct Frames {
    /// A line without its end.
    kept: Vec<u8>,
    /// The data of the event so far, when it has more than one line.
    data: Vec<u8>,
}

impl Frames {
    /// Calls `take` with the data of each event that is complete, until it says that this was the last.
    pub(super) fn cut(
        &mut self,
        bytes: &[u8],
        take: impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, BackendError> {
        if self.kept.len() + self.data.len() + bytes.len() > EVENT_LIMIT {
            return Err(BackendError::new(
                ErrorKind::Protocol,
                "the model's server sent an event without end",
            ));
        }
        if self.kept.is_empty() {
            let (used, over) = self.lines(bytes, 0, take);
            self.kept.extend_from_slice(&bytes[used..]);
            return Ok(over);
        }
        let mut text = std::mem::take(&mut self.kept);
        let seen = text.len();
        text.extend_from_slice(bytes);
        let (used, over) = self.lines(&text, seen, take);
        // What is not needed is given back: there are many streams, and most are silent.
        if used < text.len() {
            text.drain(..used);
            self.kept = text;
        }
        Ok(over)
    }

    /// How much of the text was used, and whether the last event was among it. There is no line break before `seen`.
    fn lines(&mut self, text: &[u8], seen: usize, mut take: impl FnMut(&[u8]) -> bool) -> (usize, bool) {
        let (mut start, mut seen) = (0, seen);
        while let Some(at) = memchr(b'\n', &text[seen..]) {
            let end = seen + at;
            let line = &text[start..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            start = end + 1;
            seen = start;
            if line.is_empty() {
                if !self.data.is_empty() && take(&std::mem::take(&mut self.data)) {
                    return (start, true);
                }
            } else if let Some(data) = line.strip_prefix(b"data:") {
                let data = data.strip_prefix(b" ").unwrap_or(data);
                // Nearly every event has one line, and it is followed by an empty one.
                if !data.is_empty() && self.data.is_empty() && text.get(start) == Some(&b'\n') {
                    start += 1;
                    seen = start;
                    if take(data) {
                        return (start, true);
                    }
                    continue;
                }
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data);
            }
        }
        (start, false)
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
            let more = |data: &[u8]| {
                found.push(String::from_utf8_lossy(data).into_owned());
                false
            };
            frames.cut(chunk, more).unwrap();
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
