//! Finds the blocks in a text that arrives in pieces. The rules are in the header of [`sentinel`](super).
//!
//! Text that is certainly no block is handed on from the piece it came in, without a copy. From the `<` that may
//! begin a block on, text is held until the matter is decided. What was read of it is never read again for the
//! same purpose: the cursor in the JSON, the search for a close tag and the search for open tags only go
//! forward, across pieces and across blocks that are given up.

use std::sync::Arc;

use super::block;
use super::close_tag::{CLOSE, CloseTag};
use super::fault::BlockFault;
use super::held::Held;
use super::json::{Cursor, Misstep, Progress};
use super::piece::{FoundCall, Piece, Rejected};
use super::quotes::Quotes;
use super::tool_names::ToolNames;

const OPEN: &str = "<tool_call>";

/// The longest block, both tags included, unless another limit is set.
pub const DEFAULT_LIMIT: usize = 1 << 20;

/// Below this no block with both tags and a name has room.
const LEAST_LIMIT: usize = 64;

/// Reads one text. See the header of [`sentinel`](super) for the rules.
#[derive(Debug)]
pub struct Scanner {
    held: Held,
    finder: Finder,
}

impl Scanner {
    pub fn new(names: Arc<ToolNames>) -> Scanner {
        Scanner::with_limit(names, DEFAULT_LIMIT)
    }

    /// With another limit for the length of a block; 64 bytes at least.
    pub fn with_limit(names: Arc<ToolNames>, limit: usize) -> Scanner {
        Scanner { held: Held::default(), finder: Finder::new(names, limit.max(LEAST_LIMIT)) }
    }

    /// Takes the next piece of the text.
    #[inline]
    pub fn feed(&mut self, chunk: &str, found: &mut impl FnMut(Piece<'_>)) {
        match self.finder.pass(chunk, self.held.len()) {
            Pass::Text => tell_text(chunk, found),
            Pass::Held => self.held.push(chunk),
            Pass::No => self.feed_closely(chunk, found),
        }
    }

    fn feed_closely(&mut self, chunk: &str, found: &mut impl FnMut(Piece<'_>)) {
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

    /// The text is over: hands on what was held. The scanner is then ready for another text.
    pub fn finish(&mut self, found: &mut impl FnMut(Piece<'_>)) {
        let used = self.finder.read(self.held.as_str(), true, found);
        self.held.consume(used);
        self.finder.restart();
    }

    /// Open tags that were quoted, in all texts so far.
    pub fn quoted(&self) -> u64 {
        self.finder.quoted
    }

    /// How many bytes were looked at, in all texts so far; a byte that was looked at twice counts twice.
    pub fn looked_at(&self) -> u64 {
        self.finder.looked_at
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Text,
    /// So many bytes of an open tag were seen.
    Tag(usize),
    /// Behind an open tag; the cursor reads.
    Block,
    /// The JSON is broken; the close tag is looked for.
    Broken,
}

/// What becomes of a piece of text as a whole.
enum Pass {
    /// It is plain text.
    Text,
    /// It is the next part of a string in a block.
    Held,
    /// That takes a closer look.
    No,
}

/// What came of the text that began with a `<`.
enum Outcome {
    /// More text is needed.
    Undecided,
    /// The first bytes are plain text.
    Text(usize),
    /// The first bytes are a block.
    Block(usize, Result<FoundCall, block::Fault>),
}

/// The scanner without what it holds.
#[derive(Debug)]
struct Finder {
    names: Arc<ToolNames>,
    limit: usize,
    stage: Stage,
    quotes: Quotes,
    cursor: Cursor,
    /// What is wrong with the block at hand, when it is broken.
    fault: Option<BlockFault>,
    close_tag: CloseTag,
    quoted: u64,
    looked_at: u64,
}

impl Finder {
    fn new(names: Arc<ToolNames>, limit: usize) -> Finder {
        Finder {
            names,
            limit,
            stage: Stage::Text,
            quotes: Quotes::new(),
            cursor: Cursor::default(),
            fault: None,
            close_tag: CloseTag::default(),
            quoted: 0,
            looked_at: 0,
        }
    }

    fn restart(&mut self) {
        self.stage = Stage::Text;
        self.quotes = Quotes::new();
        self.close_tag = CloseTag::default();
    }

    /// Reads a piece that is short and changes nothing, as most pieces of a stream do.
    #[inline]
    fn pass(&mut self, piece: &str, held: usize) -> Pass {
        let (passed, pass) = match self.stage {
            Stage::Text => (self.quotes.pass(piece.as_bytes()), Pass::Text),
            Stage::Block if held + piece.len() < self.limit => {
                (self.cursor.pass(piece.as_bytes()), Pass::Held)
            }
            Stage::Tag(_) | Stage::Block | Stage::Broken => return Pass::No,
        };
        let Some(passed) = passed else { return Pass::No };
        self.looked_at += piece.len() as u64;
        if passed { pass } else { Pass::No }
    }

    /// Reads what was not read of the window, and says how much of it is dealt with. The rest must come
    /// again, at the beginning of a longer window.
    fn read(&mut self, window: &str, at_end: bool, found: &mut impl FnMut(Piece<'_>)) -> usize {
        let (mut told, mut at, mut open) = (0, 0, 0);
        loop {
            if self.stage == Stage::Text {
                let rest = &window.as_bytes()[at..];
                let Some(ahead) = self.quotes.find_angle(rest) else {
                    self.looked_at += rest.len() as u64;
                    open = window.len();
                    break;
                };
                self.looked_at += ahead as u64 + 1;
                open = at + ahead;
                self.stage = Stage::Tag(1);
            }
            match self.decide(window, open, at_end) {
                Outcome::Undecided => break,
                Outcome::Text(length) => at = open + length,
                Outcome::Block(length, made) => {
                    tell_text(&window[told..open], found);
                    at = open + length;
                    told = at;
                    let raw = &window[open..at];
                    found(match made {
                        Ok(call) => Piece::Call { raw, call },
                        Err((why, name)) => Piece::Rejected(Rejected { raw, why, name }),
                    });
                }
            }
            self.stage = Stage::Text;
        }
        tell_text(&window[told..open], found);
        self.close_tag.consume(open);
        open
    }

    /// What the text that begins at `open` is.
    fn decide(&mut self, window: &str, open: usize, at_end: bool) -> Outcome {
        let text = &window[open..];
        if let Stage::Tag(seen) = self.stage {
            let same =
                text.bytes().zip(OPEN.bytes()).skip(seen).take_while(|(one, other)| one == other).count();
            self.looked_at += same as u64;
            let seen = seen + same;
            if seen < OPEN.len() {
                self.stage = Stage::Tag(seen);
                return if seen < text.len() || at_end { Outcome::Text(seen) } else { Outcome::Undecided };
            }
            if self.quotes.is_quoted() {
                self.quoted += 1;
                return Outcome::Text(seen);
            }
            self.stage = Stage::Block;
            self.cursor.restart();
        }
        let is_full = text.len() >= self.limit;
        if self.stage == Stage::Block {
            match self.read_block(&text.as_bytes()[OPEN.len()..text.len().min(self.limit)]) {
                Progress::Closed => return self.closed(text),
                Progress::Broken(_) if !self.cursor.has_begun() => return Outcome::Text(OPEN.len()),
                Progress::Broken(misstep) => self.fault = Some(BlockFault::MalformedJson(misstep)),
                Progress::More if !is_full && !at_end => return Outcome::Undecided,
                Progress::More if !self.cursor.has_begun() => return Outcome::Text(OPEN.len()),
                Progress::More if is_full => self.fault = Some(BlockFault::TooLarge { limit: self.limit }),
                Progress::More => self.fault = Some(BlockFault::Unterminated),
            }
            self.stage = Stage::Broken;
        }
        self.broken(window, open, at_end)
    }

    fn read_block(&mut self, body: &[u8]) -> Progress {
        let before = self.cursor.at();
        let progress = self.cursor.read(body);
        self.looked_at += (self.cursor.at() - before) as u64;
        progress
    }

    /// The block was read to its close tag.
    fn closed(&mut self, text: &str) -> Outcome {
        let length = OPEN.len() + self.cursor.at();
        let body = &text[OPEN.len()..length - CLOSE.len()];
        // Decoded once, and the text of the arguments read once.
        self.looked_at += 2 * body.len() as u64;
        Outcome::Block(length, block::call(body, &mut self.cursor, &self.names))
    }

    /// The block is broken: it ends at the first close tag, whatever stands before that.
    fn broken(&mut self, window: &str, open: usize, at_end: bool) -> Outcome {
        let length = window.len() - open;
        let is_full = length >= self.limit;
        let until = open + length.min(self.limit);
        let (end, looks) = self.close_tag.find(&window.as_bytes()[..until], open + OPEN.len());
        self.looked_at += looks as u64;
        let length = match end {
            Some(end) => end - open,
            None if is_full => OPEN.len(),
            None if at_end => length,
            None => return Outcome::Undecided,
        };
        let name = block::name(&window[open + OPEN.len()..open + length], &self.cursor);
        let why = match self.fault.take() {
            Some(BlockFault::Unterminated) | None if end.is_some() => {
                let at = length - OPEN.len() - CLOSE.len();
                BlockFault::MalformedJson(Misstep {
                    at,
                    what: "the JSON is not complete before the close tag",
                })
            }
            Some(why) => why,
            None => BlockFault::Unterminated,
        };
        Outcome::Block(length, Err((why, name)))
    }
}

fn tell_text(text: &str, found: &mut impl FnMut(Piece<'_>)) {
    if !text.is_empty() {
        found(Piece::Text(text));
    }
}
