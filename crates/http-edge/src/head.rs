//! A strict parser of request heads, in front of hyper's lenient one.
//!
//! hyper accepts bare line feeds, and of a Content-Length and a Transfer-Encoding in one request it drops one before a
//! handler could see both. A proxy in front of this server may decide otherwise, and then one request is two (request
//! smuggling). So no head that has two readings reaches hyper.

use crate::refusal::RefusalReason;

/// The parser's position in a head that arrives in pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct HeadParser {
    /// Bytes before this index were parsed.
    scanned: usize,
    /// The start of the current line.
    line_start: usize,
    /// Complete lines, the request line included.
    lines: usize,
    length: Option<u64>,
    chunked: bool,
    upgrade: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadProgress {
    NeedsMore,
    /// The head is this many bytes long.
    Complete(usize, BodyFraming),
    Bad(RefusalReason),
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFraming {
    /// The body has this many bytes; another head may follow.
    Length(u64),
    /// A chunked body, or another protocol. No other head is read from the connection, so the end is not needed.
    Unbounded,
}

impl HeadParser {
    /// Continues with `held`, which starts with the head and has grown since the last call.
    pub(super) fn advance(&mut self, held: &[u8], max_bytes: usize, max_headers: usize) -> HeadProgress {
        while let Some(at) = held.get(self.scanned..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            let line_end = self.scanned + at;
            self.scanned = line_end + 1;
            if self.scanned > max_bytes {
                return HeadProgress::Bad(RefusalReason::HeadTooLarge);
            }
            let line = held.get(self.line_start..line_end).unwrap_or_default();
            let Some((b'\r', line)) = line.split_last() else {
                return HeadProgress::Bad(RefusalReason::LineEnding);
            };
            self.line_start = self.scanned;
            match (line.is_empty(), self.lines) {
                // Some clients send an empty line after a body.
                (true, 0) => {}
                (true, _) => return HeadProgress::Complete(self.scanned, self.framing()),
                (false, 0) => {
                    self.lines = 1;
                    if line.contains(&b'\r') {
                        return HeadProgress::Bad(RefusalReason::LineEnding);
                    }
                }
                (false, _) => {
                    self.lines += 1;
                    if self.lines > max_headers + 1 {
                        return HeadProgress::Bad(RefusalReason::HeadTooLarge);
                    }
                    if let Err(reason) = self.header(line) {
                        return HeadProgress::Bad(reason);
                    }
                }
            }
        }
        self.scanned = held.len();
        if held.len() > max_bytes {
            HeadProgress::Bad(RefusalReason::HeadTooLarge)
        } else {
            HeadProgress::NeedsMore
        }
    }

    fn header(&mut self, line: &[u8]) -> Result<(), RefusalReason> {
        if memchr::memchr(b'\r', line).is_some() {
            return Err(RefusalReason::LineEnding);
        }
        let colon = memchr::memchr(b':', line).ok_or(RefusalReason::HeaderLine)?;
        let (name, value) = line.split_at(colon);
        // A line that starts with a space continues the one before it; a space before the colon hides the name from
        // some readers and not from others.
        if name.is_empty() || name.iter().any(|byte| *byte <= b' ') {
            return Err(RefusalReason::HeaderLine);
        }
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return Err(RefusalReason::HeaderLine);
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = digits(value).filter(|_| self.length.is_none() && !self.chunked);
            self.length = Some(length.ok_or(RefusalReason::Framing)?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if self.chunked || self.length.is_some() || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(RefusalReason::Framing);
            }
            self.chunked = true;
        } else if name.eq_ignore_ascii_case(b"upgrade") {
            self.upgrade = true;
        }
        Ok(())
    }

    fn framing(&self) -> BodyFraming {
        if self.chunked || self.upgrade {
            BodyFraming::Unbounded
        } else {
            BodyFraming::Length(self.length.unwrap_or(0))
        }
    }
}

/// Parses a number that has one reading: digits only, without overflow.
fn digits(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

    use super::{BodyFraming, HeadParser, HeadProgress};

    /// Reads a head that arrives in pieces.
    fn read(pieces: &[&[u8]]) -> HeadProgress {
        let mut scan = HeadParser::default();
        let mut held = Vec::new();
        for piece in pieces {
            held.extend_from_slice(piece);
            match scan.advance(&held, 200, 8) {
                HeadProgress::NeedsMore => {}
                settled @ (HeadProgress::Complete(..) | HeadProgress::Bad(_)) => return settled,
            }
        }
        HeadProgress::NeedsMore
    }

    /// Lines that a head may have, and some that are malformed.
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
            ("Host: a\r\n", BodyFraming::Length(0)),
            ("CONTENT-LENGTH:\t12 \r\n", BodyFraming::Length(12)),
            ("transfer-encoding: Chunked\r\n", BodyFraming::Unbounded),
            ("Upgrade: websocket\r\nContent-Length: 3\r\n", BodyFraming::Unbounded),
        ] {
            let (found, length) = follows(headers);
            assert_eq!(found, HeadProgress::Complete(length, expected), "{headers:?}");
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
            if let HeadProgress::Complete(length, _) = read(&[&head]) {
                let text = std::str::from_utf8(&head[..length]).unwrap();
                prop_assert_eq!(text.replace("\r\n", "").find(['\r', '\n']), None);
                prop_assert_eq!(text.trim_start_matches("\r\n").matches("\r\n\r\n").count(), 1);
            }
        }
    }
}
