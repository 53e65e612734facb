//! Reads one file in chunks and searches it line by line.
//!
//! A chunk ends at the end of a line, so memory is bounded by the longest line and not by the file. A file with
//! a NUL byte is not text, as in ripgrep; reading stops there.

use std::io::{ErrorKind, Read};

use envelope::{Failure, Fault};
use grep_matcher::{LineMatchKind, Matcher as _};
use memchr::{memchr, memchr_iter, memrchr};

use super::super::ordered_executor::StopCheck;
use super::pattern::SearchPattern;
use super::snippet::snippet;

/// Larger than most notes. The search can be cancelled between two chunks.
const PIECE: usize = 64 << 10;
/// A longer line is not text.
const MAX_LINE: usize = 16 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One match of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScanHit {
    /// Counted from 1.
    pub(super) line: u64,
    /// The bytes of the file that match.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) snippet: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScanResult {
    Text(Vec<ScanHit>),
    /// Not text, or not readable.
    Skipped,
}

/// Scanner state of one thread.
pub(super) struct FileScanner {
    pattern: SearchPattern,
    snippet_length: usize,
    /// Most matches in one file.
    most: usize,
    buffer: Vec<u8>,
}

/// Position of the buffer in the file.
#[derive(Default)]
struct BufferPosition {
    offset: u64,
    lines: u64,
}

impl FileScanner {
    pub(super) fn new(pattern: &SearchPattern, snippet_length: usize, most: usize) -> FileScanner {
        // Cloned: threads that share a compiled expression wait for each other.
        FileScanner { pattern: pattern.clone(), snippet_length, most, buffer: vec![0; PIECE] }
    }

    pub(super) fn scan(&mut self, source: &mut impl Read, stop: &StopCheck<'_>) -> Result<ScanResult, Fault> {
        let scanned = self.scan_pieces(source, stop);
        if self.buffer.len() > PIECE {
            // Releases the memory of a long line before the next file.
            self.buffer = vec![0; PIECE];
        }
        scanned
    }

    fn scan_pieces(&mut self, source: &mut impl Read, stop: &StopCheck<'_>) -> Result<ScanResult, Fault> {
        let mut hits = Vec::new();
        let mut at = BufferPosition::default();
        let mut filled = 0;
        loop {
            let kept = filled;
            let ended = match self.fill(source, &mut filled) {
                Ok(ended) => ended,
                Err(_unreadable) => return Ok(ScanResult::Skipped),
            };
            if memchr(0, &self.buffer[kept..filled]).is_some() {
                return Ok(ScanResult::Skipped);
            }
            let whole = if ended {
                filled
            } else if let Some(last) = memrchr(b'\n', &self.buffer[kept..filled]) {
                kept + last + 1
            } else if self.buffer.len() < MAX_LINE {
                self.buffer.resize(self.buffer.len() * 2, 0);
                continue;
            } else {
                return Ok(ScanResult::Skipped);
            };
            self.find(whole, &at, &mut hits)?;
            if ended || hits.len() >= self.most {
                return Ok(ScanResult::Text(hits));
            }
            stop.check()?;
            at.offset += whole as u64;
            at.lines += memchr_iter(b'\n', &self.buffer[..whole]).count() as u64;
            self.buffer.copy_within(whole..filled, 0);
            filled -= whole;
        }
    }

    /// Fills the buffer. Returns true at the end of the file.
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

    /// Finds every match in the lines at the start of the buffer.
    fn find(&self, whole: usize, at: &BufferPosition, hits: &mut Vec<ScanHit>) -> Result<(), Fault> {
        let text = &self.buffer[..whole];
        let mut next =
            if at.offset == 0 && text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let (mut counted, mut lines) = (0, at.lines);
        while next < text.len() && hits.len() < self.most {
            // Searches for literals that every match contains, which is faster than matching.
            let near = match self
                .pattern
                .matcher
                .find_candidate_line(&text[next..])
                .map_err(|never| search_failed(&never))?
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

    fn find_in_line(
        &self,
        line: &[u8],
        offset: u64,
        number: u64,
        hits: &mut Vec<ScanHit>,
    ) -> Result<(), Fault> {
        self.pattern
            .matcher
            .find_iter(line, |found| {
                // An empty match has no position that could be read or changed.
                if !found.is_empty() {
                    hits.push(ScanHit {
                        line: number,
                        start: offset + found.start() as u64,
                        end: offset + found.end() as u64,
                        snippet: snippet(line, found.start(), found.end(), self.snippet_length),
                    });
                }
                hits.len() < self.most
            })
            .map_err(|never| search_failed(&never))
    }
}

fn search_failed(error: &dyn std::fmt::Display) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("the search failed: {error}"))
}
