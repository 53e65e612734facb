//! The lines of an artifact that match.
//!
//! Block by block, in time that grows with the text. Lines that do not match are counted, not looked at one by
//! one. A line that is longer than a block is searched in pieces; a match across their border is not found.

use std::collections::VecDeque;
use std::io::{Read, Seek};

use envelope::{Failure, Fault};
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use memchr::{memchr, memchr_iter, memrchr, memrchr_iter};
use toolkit::families::artifact::{Found, Grep, Mode, Next, Slice, View};

use super::blocks::Block;
use super::hit::Hit;
use super::pages::Pages;

/// Enough for every expression that a person writes; large counted repetitions of large classes are not.
const PROGRAM_BYTES: usize = 1 << 20;
/// For the tables that are built while searching.
const TABLE_BYTES: usize = 4 << 20;

/// A compiled pattern.
pub(super) struct Needle(RegexMatcher);

impl Needle {
    pub(super) fn compile(query: &Grep) -> Result<Needle, Fault> {
        let built = RegexMatcherBuilder::new()
            .fixed_strings(query.mode == Mode::Plain)
            .case_insensitive(query.ignore_case)
            .multi_line(true)
            .crlf(true)
            .size_limit(PROGRAM_BYTES)
            .dfa_size_limit(TABLE_BYTES)
            .build(&query.pattern);
        built.map(Needle).map_err(|error| {
            // The last line says what is wrong; those above it draw where.
            let said = error.to_string();
            let why = said.lines().next_back().unwrap_or_default().trim_start_matches("error: ");
            Fault::new(Failure::InvalidArguments, format!("the pattern cannot be used: {why}"))
                .hint("mend it, or look for the text as it stands with mode: \"plain\"")
        })
    }
}

/// Searches from where the query says.
pub(super) fn search<R: Read + Seek>(pages: &mut Pages<'_, R>, query: &Grep) -> Result<Slice, Fault> {
    let needle = Needle::compile(query)?;
    let from = pages.find_line(query.from_line.max(1), query.at_byte)?;
    let mut search = Search {
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
    let mut slice = pages.slice(View::Grep);
    // The line behind the last one says how many there are, if the search came so far from the beginning.
    slice.total_lines = search.next.is_none().then(|| search.line - u64::from(ended));
    slice.matches = Some(search.matches);
    slice.found = search.found;
    slice.next = search.next.map(Next::Grep);
    slice.grep = Some(query.clone());
    Ok(slice)
}

struct Search<'a> {
    needle: &'a Needle,
    query: &'a Grep,
    shown: usize,
    /// Bytes that may still be told.
    room: u64,
    /// The line that the next byte belongs to, and where it begins.
    line: u64,
    line_byte: u64,
    found: Vec<Found>,
    /// The last lines that were passed over, in case the next one matches.
    near: VecDeque<Found>,
    /// Lines still to be told behind the last match.
    after: u32,
    matches: u64,
    /// Set when enough was found.
    next: Option<Grep>,
}

impl Search<'_> {
    fn block(&mut self, block: &Block) -> Result<(), Fault> {
        let bytes = block.bytes.as_slice();
        let mut at = 0;
        while at < bytes.len() && self.next.is_none() {
            let found = self.needle.0.find_at(bytes, at).map_err(|error| {
                Fault::new(Failure::ExecutionFailed, format!("the search broke off: {error}"))
            })?;
            // Behind the last line end there is no line in which something could match.
            let found = found.filter(|found| found.start() < bytes.len() || !bytes.ends_with(b"\n"));
            let Some(found) = found else {
                self.pass(block, at, bytes.len());
                break;
            };
            let start = memrchr(b'\n', &bytes[..found.start()]).map_or(0, |end| end + 1).max(at);
            self.pass(block, at, start);
            let end = memchr(b'\n', &bytes[found.start()..]).map_or(bytes.len(), |end| found.start() + end);
            let part = without_return(&bytes[start..end]);
            let matched = found.start() - start..found.end().max(found.start()) - start;
            self.take(block, start, part, matched);
            at = end;
            if at < bytes.len() {
                self.line_ends(block, at);
                at += 1;
            }
        }
        Ok(())
    }

    /// A line that matches, after those near it.
    fn take(&mut self, block: &Block, start: usize, part: &[u8], matched: std::ops::Range<usize>) {
        if self.found.last().is_some_and(|last| last.matched && last.line == self.line) {
            // Another piece of a line that is told already.
            return;
        }
        // Of a long line, an earlier piece may be waiting there, or be told as being near the match before.
        self.near.retain(|near| near.line < self.line);
        self.found.pop_if(|last| last.line == self.line);
        let hit = self.hit(block, start, Some(matched));
        let found = hit.found(part, self.shown);
        let needed = cost(&found) + self.near.iter().map(cost).sum::<u64>();
        if self.matches >= u64::from(self.query.max_matches.max(1))
            || (needed > self.room && self.matches > 0)
        {
            self.next =
                Some(Grep { from_line: self.line, at_byte: Some(self.line_byte), ..self.query.clone() });
            return;
        }
        self.room = self.room.saturating_sub(needed);
        self.found.extend(self.near.drain(..));
        self.found.push(found);
        self.matches += 1;
        self.after = self.query.context;
    }

    /// Lines that do not match: told where they are near a match, else counted.
    fn pass(&mut self, block: &Block, from: usize, to: usize) {
        let mut at = from;
        while self.after > 0 && at < to {
            let (near, next) = self.near_line(block, at, to);
            // Not for another piece of a line that is told already.
            if self.found.last().is_none_or(|last| last.line < near.line) {
                self.room = self.room.saturating_sub(cost(&near));
                self.after -= 1;
                self.found.push(near);
            }
            at = next;
        }
        let context = usize::try_from(self.query.context).unwrap_or(0);
        // Only the last of them can be near the next match.
        let inside = &block.bytes[at..to];
        let inside = inside.strip_suffix(b"\n").unwrap_or(inside);
        let last = match context {
            0 => to,
            context => memrchr_iter(b'\n', inside).nth(context - 1).map_or(at, |end| at + end + 1),
        };
        self.count(block, at, last);
        at = last;
        while at < to {
            let (near, next) = self.near_line(block, at, to);
            let told = self.near.back().or(self.found.last()).is_some_and(|last| last.line == near.line);
            if !told {
                self.near.push_back(near);
            }
            if self.near.len() > context {
                self.near.pop_front();
            }
            at = next;
        }
    }

    /// A line that does not match, and where the next one begins.
    fn near_line(&mut self, block: &Block, at: usize, to: usize) -> (Found, usize) {
        let end = memchr(b'\n', &block.bytes[at..to]).map_or(to, |end| at + end);
        let near = self.hit(block, at, None).found(without_return(&block.bytes[at..end]), self.shown);
        if end == to {
            return (near, to);
        }
        self.line_ends(block, end);
        (near, end + 1)
    }

    fn count(&mut self, block: &Block, from: usize, to: usize) {
        self.line += memchr_iter(b'\n', &block.bytes[from..to]).count() as u64;
        if let Some(last) = memrchr(b'\n', &block.bytes[from..to]) {
            self.line_byte = block.byte + (from + last) as u64 + 1;
        }
    }

    /// The line end at this place of the block.
    fn line_ends(&mut self, block: &Block, at: usize) {
        self.line += 1;
        self.line_byte = block.byte + at as u64 + 1;
    }

    fn hit(&self, block: &Block, start: usize, matched: Option<std::ops::Range<usize>>) -> Hit {
        let before = block.byte + start as u64 - self.line_byte;
        Hit { line: self.line, at_byte: self.line_byte, before, matched }
    }
}

fn cost(found: &Found) -> u64 {
    found.text.len() as u64 + 1
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
