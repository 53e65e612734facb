//! Parser of server-sent events: splits a stream of bytes into the data of its events.

use memchr::memchr;

use crate::{BackendError, BackendErrorKind};

/// Upper limit of one event in bytes. No delta of a model is larger.
const EVENT_LIMIT: usize = 16 << 20;

/// Keeps the beginning of an event whose end has not arrived. Each byte is searched once.
#[derive(Default)]
pub(super) struct SseParser {
    /// A line without its end.
    line: Vec<u8>,
    /// The `data` lines of the current event.
    data: Vec<u8>,
}

impl SseParser {
    /// Calls `on_event` with the data of each complete event until it returns true, which means that this event was the
    /// last. Returns whether it did. Fails if an event exceeds the limit.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        mut on_event: impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, BackendError> {
        if self.line.len() + self.data.len() + bytes.len() > EVENT_LIMIT {
            return Err(BackendError::new(
                BackendErrorKind::Protocol,
                "the model's server sent an event without end",
            ));
        }
        while let Some(at) = memchr(b'\n', bytes) {
            let over = if self.line.is_empty() {
                self.take_line(&bytes[..at], &mut on_event)
            } else {
                // Taken, not cleared: most streams are idle, and an idle stream should hold no buffer.
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..at]);
                self.take_line(&line, &mut on_event)
            };
            bytes = &bytes[at + 1..];
            if over {
                return Ok(true);
            }
        }
        self.line.extend_from_slice(bytes);
        Ok(false)
    }

    /// Takes a line without its `\n`. An empty line ends the event.
    fn take_line(&mut self, line: &[u8], on_event: &mut impl FnMut(&[u8]) -> bool) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return !data.is_empty() && on_event(&data);
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::SseParser;

    fn cut(text: &str, size: usize) -> Vec<String> {
        let mut parser = SseParser::default();
        let mut found = Vec::new();
        for chunk in text.as_bytes().chunks(size.max(1)) {
            let over = parser.feed(chunk, |data| {
                found.push(String::from_utf8_lossy(data).into_owned());
                false
            });
            assert!(!over.unwrap());
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

    #[test]
    fn events_that_come_again_are_all_found() {
        let text = "event: a\ndata: one\n\n".repeat(4) + "event: b\ndata: one\n\ndata: one\n\ndata: one\n\n";
        for size in [1, 20, usize::MAX] {
            assert_eq!(cut(&text, size), ["one"; 7], "in pieces of {size}");
        }
    }

    #[test]
    fn nothing_is_read_behind_the_last_event() {
        let mut parser = SseParser::default();
        let mut found = 0;
        let over = parser.feed(b"data: one\n\ndata: two\n\n", |_| {
            found += 1;
            true
        });
        assert_eq!((over, found), (Ok(true), 1));
    }

    /// The events of a whole text, found line by line.
    fn reference(text: &str) -> Vec<String> {
        let mut events = Vec::new();
        let mut data = String::new();
        let (lines, _unfinished) = text.rsplit_once('\n').unwrap_or_default();
        for line in lines.split('\n').filter(|_| text.contains('\n')) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.is_empty() && !data.is_empty() {
                events.push(std::mem::take(&mut data));
            } else if let Some(more) = line.strip_prefix("data:") {
                let separator = if data.is_empty() { "" } else { "\n" };
                data = data + separator + more.strip_prefix(' ').unwrap_or(more);
            }
        }
        events
    }

    proptest! {
        #[test]
        fn whatever_arrives_does_no_harm(text in "(data: ?|event:|[a-z]|\r|\n|\n\n){0,60}", size in 1_usize..9) {
            prop_assert_eq!(cut(&text, size), cut(&text, usize::MAX));
            prop_assert_eq!(cut(&text, size), reference(&text));
        }
    }
}
