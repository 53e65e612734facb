//! One file, read in pieces and searched line by line.
//!
//! A piece ends at the end of a line, so memory is bounded by the longest line and not by the file. A file
//! with a NUL byte is no text, as ripgrep judges it, and is left at the first one.

use std::io::{ErrorKind, Read};

use envelope::{Failure, Fault};
use grep_matcher::{LineMatchKind, Matcher as _};
use memchr::{memchr, memchr_iter, memrchr};

use super::super::in_order::Halt;
use super::needle::Needle;
use super::snippet::snippet;

/// Holds most notes as a whole. Between two pieces somebody can stop the search.
const PIECE: usize = 64 << 10;
/// A line that is longer is no line of text.
const MAX_LINE: usize = 16 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One place where the query was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    /// Counted from 1.
    pub(super) line: u64,
    /// The bytes of the file that match.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) snippet: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    Text(Vec<Hit>),
    /// Not text, or not readable.
    Skipped,
}

/// What one thread searches with.
pub(super) struct Scanner {
    needle: Needle,
    snippet_length: usize,
    /// Hits in one file after which nobody wants more.
    most: usize,
    buffer: Vec<u8>,
}

/// Where in a file the buffer begins.
#[derive(Default)]
struct At {
    offset: u64,
    lines: u64,
}

impl Scanner {
    pub(super) fn new(needle: &Needle, snippet_length: usize, most: usize) -> Scanner {
        // A copy, not a share: threads that share a compiled expression wait for each other.
        Scanner { needle: needle.clone(), snippet_length, most, buffer: vec![0; PIECE] }
    }

    pub(super) fn scan(&mut self, source: &mut impl Read, halt: &Halt<'_>) -> Result<Scanned, Fault> {
        let scanned = self.scan_pieces(source, halt);
        if self.buffer.len() > PIECE {
            // One long line must not cost its memory for the rest of the search.
            self.buffer = vec![0; PIECE];
        }
        scanned
    }

    fn scan_pieces(&mut self, source: &mut impl Read, halt: &Halt<'_>) -> Result<Scanned, Fault> {
        let mut hits = Vec::new();
        let mut at = At::default();
        let mut filled = 0;
        loop {
            let kept = filled;
            let ended = match self.fill(source, &mut filled) {
                Ok(ended) => ended,
                Err(_unreadable) => return Ok(Scanned::Skipped),
            };
            if memchr(0, &self.buffer[kept..filled]).is_some() {
                return Ok(Scanned::Skipped);
            }
            let whole = if ended {
                filled
            } else if let Some(last) = memrchr(b'\n', &self.buffer[kept..filled]) {
                kept + last + 1
            } else if self.buffer.len() < MAX_LINE {
                self.buffer.resize(self.buffer.len() * 2, 0);
                continue;
            } else {
                return Ok(Scanned::Skipped);
            };
            self.find(whole, &at, &mut hits)?;
            if ended || hits.len() >= self.most {
                return Ok(Scanned::Text(hits));
            }
            halt.may_go_on()?;
            at.offset += whole as u64;
            at.lines += memchr_iter(b'\n', &self.buffer[..whole]).count() as u64;
            self.buffer.copy_within(whole..filled, 0);
            filled -= whole;
        }
    }

    /// Fills the buffer; true when there is nothing more to read.
    fn fill(&mut self, source: &mut impl Read, filled: &mut usize) -> std::io::Result<bool> {
        while *filled < self.buffer.len() {
            match source.read(&mut self.buffer[*filled..]) {
                Ok(0) => return Ok(true),
                Ok(got) => *filled += got,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Every match in the lines at the start of the buffer.
    fn find(&self, whole: usize, at: &At, hits: &mut Vec<Hit>) -> Result<(), Fault> {
        let text = &self.buffer[..whole];
        let mut next =
            if at.offset == 0 && text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let (mut counted, mut lines) = (0, at.lines);
        while next < text.len() && hits.len() < self.most {
            // Looks for whatever every match must contain, which is faster than looking for matches.
            let near = match self
                .needle
                .matcher
                .find_candidate_line(&text[next..])
                .map_err(|never| broken(&never))?
            {
                Some(LineMatchKind::Confirmed(near) | LineMatchKind::Candidate(near)) => next + near,
                None => return Ok(()),
            };
            let start = memrchr(b'\n', &text[next..near]).map_or(next, |before| next + before + 1);
            let end = memchr(b'\n', &text[near..]).map_or(text.len(), |after| near + after);
            lines += memchr_iter(b'\n', &text[counted..start]).count() as u64;
            counted = start;
            let line = text[start..end].strip_suffix(b"\r").unwrap_or(&text[start..end]);
            let offset = at.offset + start as u64;
            self.find_in_line(line, offset, lines + 1, hits)?;
            next = end + 1;
        }
        Ok(())
    }

    fn find_in_line(&self, line: &[u8], offset: u64, number: u64, hits: &mut Vec<Hit>) -> Result<(), Fault> {
        self.needle
            .matcher
            .find_iter(line, |found| {
                // A match of nothing is at no place that anyone could read or change.
                if !found.is_empty() {
                    hits.push(Hit {
                        line: number,
                        start: offset + found.start() as u64,
                        end: offset + found.end() as u64,
                        snippet: snippet(line, found.start(), found.end(), self.snippet_length),
                    });
                }
                hits.len() < self.most
            })
            .map_err(|never| broken(&never))
    }
}

fn broken(error: &dyn std::fmt::Display) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("the search broke off: {error}"))
}
