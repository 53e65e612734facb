//! Searches an artifact for lines that match a pattern.
//!
//! It works block by block, in time proportional to the text. Lines that do not match are counted, not examined one by
//! one. A line that is longer than a block is searched in pieces; a match across their border is not found.

use std::collections::VecDeque;
use std::io::{Read, Seek};

use envelope::{Failure, Fault};
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use memchr::{memchr, memchr_iter, memrchr, memrchr_iter};
use receipts::families::artifact::{
    ArtifactSlice, ArtifactView, GrepLine, GrepQuery, NextRequest, PatternMode,
};

use super::line_blocks::LineBlock;
use super::matched_line::MatchedLine;
use super::reader::ArtifactReader;
use crate::text_pattern::{PatternOptions, compile_pattern};

/// A compiled pattern.
pub(super) struct CompiledPattern(RegexMatcher);

impl CompiledPattern {
    pub(super) fn compile(query: &GrepQuery) -> Result<CompiledPattern, Fault> {
        let options =
            PatternOptions { plain: query.mode == PatternMode::Plain, ignore_case: query.ignore_case };
        let hint = "fix it, or search for the text itself with mode: \"plain\"";
        compile_pattern(&query.pattern, options, hint).map(CompiledPattern)
    }
}

/// Searches from the position in the query.
pub(super) fn search<R: Read + Seek>(
    pages: &mut ArtifactReader<'_, R>,
    query: &GrepQuery,
) -> Result<ArtifactSlice, Fault> {
    let needle = CompiledPattern::compile(query)?;
    let from = pages.find_line(query.from_line.max(1), query.at_byte)?;
    let mut search = GrepSearch {
        needle: &needle,
        query,
        shown: pages.limits.shown,
        room: pages.limits.page,
        line: from.line,
        line_byte: from.byte,
        found: Vec::new(),
        near: VecDeque::new(),
        after: 0,
        matches: 0,
        next: None,
    };
    let mut at = from.byte;
    let mut ended = true;
    while search.next.is_none() {
        let Some(block) = pages.block(at)? else { break };
        at += block.bytes.len() as u64;
        ended = block.bytes.ends_with(b"\n");
        search.block(&block)?;
    }
    let mut slice = pages.slice(ArtifactView::Grep);
    // The number of lines is known if the search got to the end from the beginning.
    slice.total_lines = search.next.is_none().then(|| search.line - u64::from(ended));
    slice.matches = Some(search.matches);
    slice.found = search.found;
    slice.next = search.next.map(NextRequest::Grep);
    slice.grep = Some(query.clone());
    Ok(slice)
}

struct GrepSearch<'a> {
    needle: &'a CompiledPattern,
    query: &'a GrepQuery,
    shown: usize,
    /// Bytes left for the result.
    room: u64,
    /// The line of the next byte, and where it begins.
    line: u64,
    line_byte: u64,
    found: Vec<GrepLine>,
    /// The last lines without a match, as context of the next match.
    near: VecDeque<GrepLine>,
    /// Lines of context still to return after the last match.
    after: u32,
    matches: u64,
    /// Set when the result is full.
    next: Option<GrepQuery>,
}

impl GrepSearch<'_> {
    fn block(&mut self, block: &LineBlock) -> Result<(), Fault> {
        let bytes = block.bytes.as_slice();
        let mut at = 0;
        while at < bytes.len() && self.next.is_none() {
            let found = self.needle.0.find_at(bytes, at).map_err(|error| {
                Fault::new(Failure::ExecutionFailed, format!("the search failed: {error}"))
            })?;
            // No line follows the last line break.
            let found = found.filter(|found| found.start() < bytes.len() || !bytes.ends_with(b"\n"));
            let Some(found) = found else {
                self.skip_lines(block, at, bytes.len());
                break;
            };
            let start = memrchr(b'\n', &bytes[..found.start()]).map_or(0, |end| end + 1).max(at);
            self.skip_lines(block, at, start);
            let end = memchr(b'\n', &bytes[found.start()..]).map_or(bytes.len(), |end| found.start() + end);
            let part = trim_carriage_return(&bytes[start..end]);
            let matched = found.start() - start..found.end().max(found.start()) - start;
            self.add_match(block, start, part, matched);
            at = end;
            if at < bytes.len() {
                self.count_line_end(block, at);
                at += 1;
            }
        }
        Ok(())
    }

    /// Adds a line that matches, after its context.
    fn add_match(&mut self, block: &LineBlock, start: usize, part: &[u8], matched: std::ops::Range<usize>) {
        if self.found.last().is_some_and(|last| last.matched && last.line == self.line) {
            // An earlier piece of this line was added already.
            return;
        }
        // An earlier piece of a long line may be in the context before or after a match.
        self.near.retain(|near| near.line < self.line);
        self.found.pop_if(|last| last.line == self.line);
        let hit = self.matched_line(block, start, Some(matched));
        let found = hit.to_grep_line(part, self.shown);
        let needed = cost(&found) + self.near.iter().map(cost).sum::<u64>();
        if self.matches >= u64::from(self.query.max_matches.max(1))
            || (needed > self.room && self.matches > 0)
        {
            self.next =
                Some(GrepQuery { from_line: self.line, at_byte: Some(self.line_byte), ..self.query.clone() });
            return;
        }
        self.room = self.room.saturating_sub(needed);
        self.found.extend(self.near.drain(..));
        self.found.push(found);
        self.matches += 1;
        self.after = self.query.context;
    }

    /// Skips lines that do not match: adds them as context of a match, or counts them.
    fn skip_lines(&mut self, block: &LineBlock, from: usize, to: usize) {
        let mut at = from;
        while self.after > 0 && at < to {
            let (near, next) = self.context_line(block, at, to);
            // Skips another piece of a line that was added already.
            if self.found.last().is_none_or(|last| last.line < near.line) {
                self.room = self.room.saturating_sub(cost(&near));
                self.after -= 1;
                self.found.push(near);
            }
            at = next;
        }
        let context = usize::try_from(self.query.context).unwrap_or(0);
        // Only the last lines can be context of the next match.
        let inside = &block.bytes[at..to];
        let inside = inside.strip_suffix(b"\n").unwrap_or(inside);
        let last = match context {
            0 => to,
            context => memrchr_iter(b'\n', inside).nth(context - 1).map_or(at, |end| at + end + 1),
        };
        self.count(block, at, last);
        at = last;
        while at < to {
            let (near, next) = self.context_line(block, at, to);
            let is_added = self.near.back().or(self.found.last()).is_some_and(|last| last.line == near.line);
            if !is_added {
                self.near.push_back(near);
            }
            if self.near.len() > context {
                self.near.pop_front();
            }
            at = next;
        }
    }

    /// Returns a line that does not match, and where the next one begins.
    fn context_line(&mut self, block: &LineBlock, at: usize, to: usize) -> (GrepLine, usize) {
        let end = memchr(b'\n', &block.bytes[at..to]).map_or(to, |end| at + end);
        let near = self
            .matched_line(block, at, None)
            .to_grep_line(trim_carriage_return(&block.bytes[at..end]), self.shown);
        if end == to {
            return (near, to);
        }
        self.count_line_end(block, end);
        (near, end + 1)
    }

    fn count(&mut self, block: &LineBlock, from: usize, to: usize) {
        self.line += memchr_iter(b'\n', &block.bytes[from..to]).count() as u64;
        if let Some(last) = memrchr(b'\n', &block.bytes[from..to]) {
            self.line_byte = block.byte + (from + last) as u64 + 1;
        }
    }

    /// Counts the line break at this position of the block.
    fn count_line_end(&mut self, block: &LineBlock, at: usize) {
        self.line += 1;
        self.line_byte = block.byte + at as u64 + 1;
    }

    fn matched_line(
        &self,
        block: &LineBlock,
        start: usize,
        matched: Option<std::ops::Range<usize>>,
    ) -> MatchedLine {
        let before = block.byte + start as u64 - self.line_byte;
        MatchedLine { line: self.line, at_byte: self.line_byte, before, matched }
    }
}

fn cost(found: &GrepLine) -> u64 {
    found.text.len() as u64 + 1
}

fn trim_carriage_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
