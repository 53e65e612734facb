//! Cuts a stream of bytes into the data of its events.

use memchr::memchr;

use crate::{BackendError, ErrorKind};

/// An event that is larger is no delta of a model.
const EVENT_LIMIT: usize = 16 << 20;

/// Who is told of events.
pub(super) trait Listener {
    /// Takes the event that a text begins with if it is one more like those that came, and says how long it is on the wire.
    fn again(&mut self, text: &[u8]) -> Option<usize>;

    /// Takes the data of an event, and says whether it was the last. `lead` is what stood on the wire between the event
    /// before and the data, as far as that came with it.
    fn event(&mut self, lead: &[u8], data: &[u8]) -> bool;
}

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
    /// Tells of each event that is complete, until the listener says that this was the last.
    pub(super) fn cut(&mut self, bytes: &[u8], listener: &mut impl Listener) -> Result<bool, BackendError> {
        if self.kept.len() + self.data.len() + bytes.len() > EVENT_LIMIT {
            return Err(BackendError::new(
                ErrorKind::Protocol,
                "the model's server sent an event without end",
            ));
        }
        if self.kept.is_empty() {
            // Nearly all that comes is one event like the one before, and nothing else.
            let known = if self.data.is_empty() { all_again(bytes, listener) } else { 0 };
            let bytes = &bytes[known..];
            if bytes.is_empty() {
                return Ok(false);
            }
            let (used, over) = self.lines(bytes, 0, listener);
            self.kept.extend_from_slice(&bytes[used..]);
            return Ok(over);
        }
        let mut text = std::mem::take(&mut self.kept);
        let seen = text.len();
        text.extend_from_slice(bytes);
        let (used, over) = self.lines(&text, seen, listener);
        // What is not needed is given back: there are many streams, and most are silent.
        if used < text.len() {
            text.drain(..used);
            self.kept = text;
        }
        Ok(over)
    }

    /// How much of the text was used, and whether the last event was among it. There is no line break before `seen`.
    fn lines(&mut self, text: &[u8], seen: usize, listener: &mut impl Listener) -> (usize, bool) {
        let (mut start, mut seen, mut event) = (0, seen, 0);
        loop {
            // Not at the beginning: where that was kept, it would be looked at again for every piece of an event.
            if start == event && start > 0 && self.data.is_empty() {
                start += all_again(&text[start..], listener);
                (seen, event) = (start, start);
            }
            let Some(at) = memchr(b'\n', &text[seen..]) else { return (start, false) };
            let (begin, end) = (start, seen + at);
            let line = &text[begin..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            start = end + 1;
            seen = start;
            if line.is_empty() {
                event = start;
                if !self.data.is_empty() && listener.event(&[], &std::mem::take(&mut self.data)) {
                    return (start, true);
                }
            } else if let Some(data) = line.strip_prefix(b"data:") {
                let data = data.strip_prefix(b" ").unwrap_or(data);
                // Nearly every event has one line, and it is followed by an empty one.
                if !data.is_empty() && self.data.is_empty() && text.get(start) == Some(&b'\n') {
                    let lead = &text[event..begin + line.len() - data.len()];
                    start += 1;
                    (seen, event) = (start, start);
                    if listener.event(lead, data) {
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
    }
}

/// How long the events are that a text begins with and that are like those that came.
fn all_again(text: &[u8], listener: &mut impl Listener) -> usize {
    let mut rest = text;
    while !rest.is_empty()
        && let Some(length) = listener.again(rest)
    {
        rest = &rest[length..];
    }
    text.len() - rest.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Frames, Listener};

    /// Keeps what it hears, and knows an event that came before by all of its bytes.
    #[derive(Default)]
    struct Log {
        found: Vec<String>,
        last: Option<(Vec<u8>, String)>,
        again: usize,
    }

    impl Listener for Log {
        fn again(&mut self, text: &[u8]) -> Option<usize> {
            let (wire, data) = self.last.as_ref().filter(|(wire, _)| text.starts_with(wire))?;
            self.found.push(data.clone());
            self.again += 1;
            Some(wire.len())
        }

        fn event(&mut self, lead: &[u8], data: &[u8]) -> bool {
            let told = String::from_utf8_lossy(data).into_owned();
            self.last = (!lead.is_empty()).then(|| ([lead, data, b"\n\n"].concat(), told.clone()));
            self.found.push(told);
            false
        }
    }

    fn heard(text: &str, size: usize) -> Log {
        let mut frames = Frames::default();
        let mut log = Log::default();
        for chunk in text.as_bytes().chunks(size.max(1)) {
            frames.cut(chunk, &mut log).unwrap();
        }
        log
    }

    fn cut(text: &str, size: usize) -> Vec<String> {
        heard(text, size).found
    }

    #[test]
    fn events_are_the_same_however_they_arrive() {
        let text = "event: a\ndata: one\n\n: comment\n\ndata:two\r\ndata: lines\r\n\r\nid: 3\n\ndata: \u{e4}\u{1f600}\n\ndata: cut";
        for size in 1..=text.len() {
            assert_eq!(cut(text, size), ["one", "two\nlines", "\u{e4}\u{1f600}"], "in pieces of {size}");
        }
    }

    #[test]
    fn events_that_come_again_are_known_if_they_come_whole() {
        let text = "event: a\ndata: one\n\n".repeat(4) + "event: b\ndata: one\n\ndata: one\n\ndata: one\n\n";
        assert_eq!(cut(&text, 1), ["one"; 7]);
        assert_eq!(cut(&text, usize::MAX), ["one"; 7]);
        assert_eq!(
            (heard(&text, 1).again, heard(&text, 20).again, heard(&text, usize::MAX).again),
            (0, 3, 4)
        );
    }

    proptest! {
        #[test]
        fn whatever_arrives_does_no_harm(text in "(data: ?|event:|[a-z]|\r|\n|\n\n){0,60}", size in 1_usize..9) {
            prop_assert_eq!(cut(&text, size), cut(&text, usize::MAX));
        }
    }
}
