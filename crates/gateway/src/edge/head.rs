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
        if line.contains(&b'\r') {
            return Err(Refusal::LineEnding);
        }
        let colon = memchr::memchr(b':', line).ok_or(Refusal::HeaderLine)?;
        let (name, value) = line.split_at(colon);
        // A line that begins with a space would continue the one before it; a space before the colon hides the
        // name from some readers and not from others.
        if name.is_empty() || name.iter().any(|byte| byte.is_ascii_whitespace()) {
            return Err(Refusal::HeaderLine);
        }
        let value = value.get(1..).unwrap_or_default().trim_ascii();
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

/// A number that everybody reads alike: digits only, and not more than fit.
fn digits(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
