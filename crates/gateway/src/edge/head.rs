//! Reads the head of a request strictly, before hyper reads it leniently.
//!
//! hyper forgives bare line feeds, and where a request has a Content-Length and a Transfer-Encoding it drops one
//! of them before anybody can see that there were two. Whoever stands in front of us may forgive otherwise, and
//! then one request is two. So nothing that can be read in two ways gets as far as hyper.

use super::refusal::Refusal;

/// How far a head has been read.
#[derive(Debug, Clone, Default)]
pub(super) struct HeadScan {
    /// Everything before this has been looked at.
    scanned: usize,
    /// Where the line begins whose end has not been found yet.
    line_start: usize,
    /// Lines so far, the request line included.
    lines: usize,
    length: Option<u64>,
    chunked: bool,
    upgrade: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    NeedsMore,
    /// The head is this many bytes long.
    Complete(usize, Follows),
    Bad(Refusal),
}

/// What follows a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    /// A body of this many bytes, then perhaps another head.
    Body(u64),
    /// A body in chunks, or another protocol. No other head is read from the connection, so nobody has to find
    /// the end.
    Anything,
}

impl HeadScan {
    /// Goes on with `held`, which begins where the head begins and has grown since the last call.
    pub(super) fn advance(&mut self, held: &[u8], max_bytes: usize, max_headers: usize) -> Progress {
        while let Some(at) = held.get(self.scanned..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            let line_end = self.scanned + at;
            self.scanned = line_end + 1;
            if self.scanned > max_bytes {
                return Progress::Bad(Refusal::HeadTooLarge);
            }
            let line = held.get(self.line_start..line_end).unwrap_or_default();
            let Some((b'\r', line)) = line.split_last() else { return Progress::Bad(Refusal::LineEnding) };
            self.line_start = self.scanned;
            match (line.is_empty(), self.lines) {
                // Some clients send an empty line after a body; it belongs to nothing.
                (true, 0) => {}
                (true, _) => return Progress::Complete(self.scanned, self.follows()),
                (false, 0) => {
                    self.lines = 1;
                    if line.contains(&b'\r') {
                        return Progress::Bad(Refusal::LineEnding);
                    }
                }
                (false, _) => {
                    self.lines += 1;
                    if self.lines > max_headers + 1 {
                        return Progress::Bad(Refusal::HeadTooLarge);
                    }
                    if let Err(refusal) = self.header(line) {
                        return Progress::Bad(refusal);
                    }
                }
            }
        }
        self.scanned = held.len();
        if held.len() > max_bytes { Progress::Bad(Refusal::HeadTooLarge) } else { Progress::NeedsMore }
    }

    fn header(&mut self, line: &[u8]) -> Result<(), Refusal> {
        if memchr::memchr(b'\r', line).is_some() {
            return Err(Refusal::LineEnding);
        }
        let colon = memchr::memchr(b':', line).ok_or(Refusal::HeaderLine)?;
        let (name, value) = line.split_at(colon);
        // A line that begins with a space would continue the one before it; a space before the colon hides the
        // name from some readers and not from others.
        if name.is_empty() || has(name, |byte| *byte <= b' ') {
            return Err(Refusal::HeaderLine);
        }
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if has(value, |byte| byte.is_ascii_control() && *byte != b'\t') {
            return Err(Refusal::HeaderLine);
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = digits(value).filter(|_| self.length.is_none() && !self.chunked);
            self.length = Some(length.ok_or(Refusal::Framing)?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if self.chunked || self.length.is_some() || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(Refusal::Framing);
            }
            self.chunked = true;
        } else if name.eq_ignore_ascii_case(b"upgrade") {
            self.upgrade = true;
        }
        Ok(())
    }

    fn follows(&self) -> Follows {
        if self.chunked || self.upgrade { Follows::Anything } else { Follows::Body(self.length.unwrap_or(0)) }
    }
}

/// Whether any byte is such. No exit: it compiles to wide steps.
fn has(bytes: &[u8], such: impl Fn(&u8) -> bool) -> bool {
    bytes.iter().fold(false, |found, byte| found | such(byte))
}

/// A number that everybody reads alike: digits only, and not more than fit.
fn digits(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

    use super::{Follows, HeadScan, Progress};

    /// Reads a head that arrives in pieces.
    fn read(pieces: &[&[u8]]) -> Progress {
        let mut scan = HeadScan::default();
        let mut held = Vec::new();
        for piece in pieces {
            held.extend_from_slice(piece);
            match scan.advance(&held, 200, 8) {
                Progress::NeedsMore => {}
                settled @ (Progress::Complete(..) | Progress::Bad(_)) => return settled,
            }
        }
        Progress::NeedsMore
    }

    /// Lines that a head may have, and some that it may not.
    fn lines() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            Just("GET / HTTP/1.1"),
            Just("Host: a"),
            Just("Content-Length: 12"),
            Just("content-length:7"),
            Just("Transfer-Encoding: chunked"),
            Just("Upgrade: websocket"),
            Just(" folded"),
            Just("no colon"),
            Just(""),
        ];
        let end = prop_oneof![8 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r"), 1 => Just("")];
        prop::collection::vec((line, end), 0..12).prop_map(|lines| {
            lines.into_iter().flat_map(|(line, end)| [line, end]).collect::<String>().into_bytes()
        })
    }

    #[test]
    fn the_end_of_a_head_and_what_follows_are_found() {
        let follows = |headers: &str| {
            let head = format!("GET / HTTP/1.1\r\n{headers}\r\n");
            (read(&[head.as_bytes(), b"GET /next"]), head.len())
        };
        for (headers, expected) in [
            ("Host: a\r\n", Follows::Body(0)),
            ("CONTENT-LENGTH:\t12 \r\n", Follows::Body(12)),
            ("transfer-encoding: Chunked\r\n", Follows::Anything),
            ("Upgrade: websocket\r\nContent-Length: 3\r\n", Follows::Anything),
        ] {
            let (found, length) = follows(headers);
            assert_eq!(found, Progress::Complete(length, expected), "{headers:?}");
        }
    }

    proptest! {
        #[test]
        fn how_a_head_is_cut_into_pieces_does_not_matter(head in lines(), cuts in prop::collection::vec(any::<usize>(), 0..6)) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (head.len() + 1)).collect();
            cuts.sort_unstable();
            let ends = cuts.iter().copied().chain([head.len()]);
            let starts = [0].into_iter().chain(cuts.iter().copied());
            let pieces: Vec<&[u8]> = starts.zip(ends).map(|(start, end)| &head[start..end]).collect();
            let bytes: Vec<&[u8]> = head.chunks(1).collect();
            prop_assert_eq!(read(&pieces), read(&[&head]));
            prop_assert_eq!(read(&bytes), read(&[&head]));
        }

        #[test]
        fn a_head_that_is_taken_has_no_bare_line_end(head in lines()) {
            if let Progress::Complete(length, _) = read(&[&head]) {
                let text = std::str::from_utf8(&head[..length]).unwrap();
                prop_assert_eq!(text.replace("\r\n", "").find(['\r', '\n']), None);
                prop_assert_eq!(text.trim_start_matches("\r\n").matches("\r\n\r\n").count(), 1);
            }
        }
    }
}
