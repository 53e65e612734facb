//! Finds the blocks in a text that arrives in chunks. The rules are in the documentation of [`sentinel`](super).
//!
//! Text outside of blocks is passed on from its chunk without a copy. From a `<` that may start a block on, text is
//! buffered until the decision. Nothing is read twice for the same purpose: the tokenizer, the search for a close tag
//! and the search for open tags only move forward, across chunks and rejected blocks.

use std::sync::Arc;

use memchr::memchr;

use super::buffer::TextBuffer;
use super::call_block;
use super::close_tag::{CLOSE, CloseTag};
use super::fault::BlockFault;
use super::json::{JsonError, JsonTokenizer, TokenizerProgress};
use super::quote_tracker::QuoteTracker;
use super::quoted_block::{QuotedBlock, QuotedOutcome};
use super::text_segment::{FoundCall, RejectedBlock, TextSegment};
use super::tool_names::ToolNames;

pub(super) const OPEN: &str = "<tool_call>";

/// A close tag further away does not belong to an open tag that no object follows.
const NO_OBJECT_LIMIT: usize = 1 << 10;

/// The default limit of a block, both tags included.
pub const DEFAULT_LIMIT: usize = 1 << 20;

/// A block with both tags and a name needs at least this.
const LEAST_LIMIT: usize = 64;

/// Scans one text. See [`sentinel`](super) for the rules.
#[derive(Debug)]
pub struct Scanner {
    held: TextBuffer,
    finder: BlockFinder,
}

impl Scanner {
    pub fn new(names: Arc<ToolNames>) -> Scanner {
        Scanner::with_limit(names, DEFAULT_LIMIT)
    }

    /// Sets another limit for the length of a block; at least 64 bytes.
    pub fn with_limit(names: Arc<ToolNames>, limit: usize) -> Scanner {
        Scanner { held: TextBuffer::default(), finder: BlockFinder::new(names, limit.max(LEAST_LIMIT)) }
    }

    /// Scans the next chunk of the text.
    #[inline]
    pub fn feed(&mut self, chunk: &str, found: &mut impl FnMut(TextSegment<'_>)) {
        match self.finder.fast_path(chunk, self.held.len()) {
            PassThrough::Text => emit_text(chunk, found),
            PassThrough::Held => self.held.push(chunk),
            PassThrough::No => self.feed_slow(chunk, found),
        }
    }

    fn feed_slow(&mut self, chunk: &str, found: &mut impl FnMut(TextSegment<'_>)) {
        if self.held.is_empty() {
            let used = self.finder.read(chunk, false, found);
            if used < chunk.len() {
                self.held.push(&chunk[used..]);
            }
        } else {
            self.held.push(chunk);
            let used = self.finder.read(self.held.as_str(), false, found);
            self.held.consume(used);
        }
    }

    /// Ends the text and emits the buffered rest. The scanner is then ready for another text.
    pub fn finish(&mut self, found: &mut impl FnMut(TextSegment<'_>)) {
        let used = self.finder.read(self.held.as_str(), true, found);
        self.held.consume(used);
        self.finder.restart();
    }

    /// Returns the number of quoted open tags, in all texts so far.
    pub fn quoted(&self) -> u64 {
        self.finder.quoted
    }

    /// Returns how many bytes were scanned, in all texts so far; a byte that is scanned twice counts twice.
    pub fn scanned_bytes(&self) -> u64 {
        self.finder.looked_at
    }
}

#[derive(Debug, Clone, Copy)]
enum ScanStage {
    Text,
    /// So many bytes of an open tag matched.
    Tag(usize),
    /// After an open tag in code.
    Quoted(QuotedBlock),
    /// After an open tag; the tokenizer reads.
    Block,
    /// After an open tag that no object follows; a close tag is searched, up to this index of the block.
    NoObject(usize),
    /// The JSON is malformed; the close tag is searched.
    Broken,
}

/// The result of the fast path.
enum PassThrough {
    /// The chunk is plain text.
    Text,
    /// The chunk continues a string in a block.
    Held,
    /// The chunk needs the slow path.
    No,
}

/// The decision about text that starts with a `<`.
enum ScanOutcome {
    /// More text is needed.
    Undecided,
    /// The first bytes are plain text.
    Text(usize),
    /// The first bytes are a block.
    Block(usize, Result<FoundCall, call_block::NamedFault>),
}

/// The scanner without its buffer.
#[derive(Debug)]
struct BlockFinder {
    names: Arc<ToolNames>,
    limit: usize,
    stage: ScanStage,
    quotes: QuoteTracker,
    tokenizer: JsonTokenizer,
    /// The fault of the current block, if it is malformed.
    fault: Option<BlockFault>,
    close_tag: CloseTag,
    /// Open tags before this index of the buffered text are quoted if they are in code.
    quoted_until: usize,
    quoted: u64,
    looked_at: u64,
}

impl BlockFinder {
    fn new(names: Arc<ToolNames>, limit: usize) -> BlockFinder {
        BlockFinder {
            names,
            limit,
            stage: ScanStage::Text,
            quotes: QuoteTracker::new(),
            tokenizer: JsonTokenizer::default(),
            fault: None,
            close_tag: CloseTag::default(),
            quoted_until: 0,
            quoted: 0,
            looked_at: 0,
        }
    }

    fn restart(&mut self) {
        self.stage = ScanStage::Text;
        self.quotes = QuoteTracker::new();
        self.close_tag = CloseTag::default();
        self.quoted_until = 0;
    }

    /// Handles a short chunk that changes nothing, as most chunks of a stream do.
    #[inline]
    fn fast_path(&mut self, piece: &str, held: usize) -> PassThrough {
        let (passed, pass) = match self.stage {
            ScanStage::Text => (self.quotes.skip_plain(piece.as_bytes()), PassThrough::Text),
            ScanStage::Block if held + piece.len() < self.limit => {
                (self.tokenizer.skip_plain(piece.as_bytes()), PassThrough::Held)
            }
            ScanStage::Tag(_)
            | ScanStage::Quoted(_)
            | ScanStage::Block
            | ScanStage::NoObject(_)
            | ScanStage::Broken => return PassThrough::No,
        };
        let Some(passed) = passed else { return PassThrough::No };
        self.looked_at += piece.len() as u64;
        if passed { pass } else { PassThrough::No }
    }

    /// Scans the new part of the window and returns how much of the window is done. The rest must come again, at the
    /// start of a longer window.
    fn read(&mut self, window: &str, at_end: bool, found: &mut impl FnMut(TextSegment<'_>)) -> usize {
        let (mut told, mut at, mut open) = (0, 0, 0);
        loop {
            if matches!(self.stage, ScanStage::Text) {
                let rest = &window.as_bytes()[at..];
                let Some(ahead) = self.quotes.find_angle(rest) else {
                    self.looked_at += rest.len() as u64;
                    open = window.len();
                    break;
                };
                self.looked_at += ahead as u64 + 1;
                open = at + ahead;
                self.stage = ScanStage::Tag(1);
            }
            match self.decide(window, open, at_end) {
                ScanOutcome::Undecided => break,
                ScanOutcome::Text(length) => at = open + length,
                ScanOutcome::Block(length, made) => {
                    emit_text(&window[told..open], found);
                    at = open + length;
                    told = at;
                    let raw = &window[open..at];
                    found(match made {
                        Ok(call) => TextSegment::Call { raw, call },
                        Err((why, name)) => TextSegment::Rejected(RejectedBlock { raw, fault: why, name }),
                    });
                }
            }
            self.stage = ScanStage::Text;
        }
        emit_text(&window[told..open], found);
        self.close_tag.consume(open);
        self.quoted_until = self.quoted_until.saturating_sub(open);
        open
    }

    /// Decides about the text that starts at `open`.
    fn decide(&mut self, window: &str, open: usize, at_end: bool) -> ScanOutcome {
        let text = &window[open..];
        if let ScanStage::Tag(seen) = self.stage {
            let same =
                text.bytes().zip(OPEN.bytes()).skip(seen).take_while(|(one, other)| one == other).count();
            self.looked_at += same as u64;
            let seen = seen + same;
            if seen < OPEN.len() {
                self.stage = ScanStage::Tag(seen);
                return if seen < text.len() || at_end {
                    ScanOutcome::Text(seen)
                } else {
                    ScanOutcome::Undecided
                };
            }
            self.tokenizer.restart_block();
            self.stage = match self.quotes.code() {
                None => ScanStage::Block,
                Some(_) if open < self.quoted_until || self.quotes.had_stray() => return self.quote(),
                Some(code) => ScanStage::Quoted(QuotedBlock::new(code)),
            };
        }
        let is_full = text.len() >= self.limit;
        if let ScanStage::Quoted(block) = &mut self.stage {
            let part = &text.as_bytes()[..text.len().min(self.limit)];
            match block.decide(part, &mut self.tokenizer, at_end && !is_full, &mut self.looked_at) {
                QuotedOutcome::Undecided if is_full => {
                    self.quoted_until = open + self.limit;
                    return self.quote();
                }
                QuotedOutcome::Undecided => return ScanOutcome::Undecided,
                QuotedOutcome::Quoted(until) => {
                    self.quoted_until = open + until;
                    return self.quote();
                }
                QuotedOutcome::NotCode => {
                    self.quotes.leave();
                    self.tokenizer.restart_block();
                    self.stage = ScanStage::Block;
                }
            }
        }
        if let ScanStage::NoObject(from) = self.stage {
            return self.find_close(text, from, at_end);
        }
        if matches!(self.stage, ScanStage::Block) {
            match self.read_block(&text.as_bytes()[OPEN.len()..text.len().min(self.limit)]) {
                TokenizerProgress::Closed => return self.complete_block(text),
                TokenizerProgress::Broken(_) if !self.tokenizer.has_begun() => {
                    return self.find_close(text, OPEN.len(), at_end);
                }
                TokenizerProgress::Broken(error) => self.fault = Some(BlockFault::MalformedJson(error)),
                TokenizerProgress::More if !is_full && !at_end => return ScanOutcome::Undecided,
                TokenizerProgress::More if !self.tokenizer.has_begun() => {
                    return ScanOutcome::Text(OPEN.len());
                }
                TokenizerProgress::More if is_full => {
                    self.fault = Some(BlockFault::TooLarge { limit: self.limit });
                }
                TokenizerProgress::More => self.fault = Some(BlockFault::Unterminated),
            }
            self.stage = ScanStage::Broken;
        }
        self.find_block_end(window, open, at_end)
    }

    /// Handles an open tag in code: it is text.
    fn quote(&mut self) -> ScanOutcome {
        self.quoted += 1;
        ScanOutcome::Text(OPEN.len())
    }

    /// Handles an open tag that no object follows. With a close tag soon after it, and no other open tag between, it is a
    /// block with a fault, and otherwise text. Searches from the index `from` of the block on.
    fn find_close(&mut self, text: &str, from: usize, at_end: bool) -> ScanOutcome {
        let limit = NO_OBJECT_LIMIT.min(self.limit);
        let part = &text.as_bytes()[..text.len().min(limit)];
        let is_all = at_end || part.len() == limit;
        let mut at = from;
        while let Some(ahead) = memchr(b'<', &part[at..]) {
            self.looked_at += ahead as u64 + 1;
            at += ahead;
            let rest = &part[at..];
            if rest.starts_with(CLOSE.as_bytes()) {
                let fault = BlockFault::MalformedJson(JsonError { at: 0, what: "an object was expected" });
                return ScanOutcome::Block(at + CLOSE.len(), Err((fault, None)));
            }
            if rest.starts_with(OPEN.as_bytes()) {
                return ScanOutcome::Text(OPEN.len());
            }
            if !is_all && (CLOSE.as_bytes().starts_with(rest) || OPEN.as_bytes().starts_with(rest)) {
                self.stage = ScanStage::NoObject(at);
                return ScanOutcome::Undecided;
            }
            at += 1;
        }
        if is_all {
            return ScanOutcome::Text(OPEN.len());
        }
        self.looked_at += (part.len() - at) as u64;
        self.stage = ScanStage::NoObject(part.len());
        ScanOutcome::Undecided
    }

    fn read_block(&mut self, body: &[u8]) -> TokenizerProgress {
        let before = self.tokenizer.at();
        let progress = self.tokenizer.read(body);
        self.looked_at += (self.tokenizer.at() - before) as u64;
        progress
    }

    /// Handles a block whose JSON and close tag are complete.
    fn complete_block(&mut self, text: &str) -> ScanOutcome {
        let length = OPEN.len() + self.tokenizer.at();
        let body = &text[OPEN.len()..length - CLOSE.len()];
        // Unescaped once, and the text of the arguments parsed once.
        self.looked_at += 2 * body.len() as u64;
        ScanOutcome::Block(length, call_block::parse_call(body, &mut self.tokenizer, &self.names))
    }

    /// Handles a malformed block: it ends at the first close tag.
    fn find_block_end(&mut self, window: &str, open: usize, at_end: bool) -> ScanOutcome {
        let length = window.len() - open;
        let is_full = length >= self.limit;
        let until = open + length.min(self.limit);
        let (end, looks) = self.close_tag.find(&window.as_bytes()[..until], open + OPEN.len());
        self.looked_at += looks as u64;
        let length = match end {
            Some(end) => end - open,
            None if is_full => OPEN.len(),
            None if at_end => length,
            None => return ScanOutcome::Undecided,
        };
        let name = call_block::readable_name(&window[open + OPEN.len()..open + length], &self.tokenizer);
        let why = match self.fault.take() {
            Some(BlockFault::Unterminated) | None if end.is_some() => {
                let at = length - OPEN.len() - CLOSE.len();
                BlockFault::MalformedJson(JsonError {
                    at,
                    what: "the JSON is not complete before the close tag",
                })
            }
            Some(why) => why,
            None => BlockFault::Unterminated,
        };
        ScanOutcome::Block(length, Err((why, name)))
    }
}

fn emit_text(text: &str, found: &mut impl FnMut(TextSegment<'_>)) {
    if !text.is_empty() {
        found(TextSegment::Text(text));
    }
}
