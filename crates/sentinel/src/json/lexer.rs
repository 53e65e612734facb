//! An incremental tokenizer of the JSON object in a block: reads every byte once, and finds the end or the first
//! error.
//!
//! The whole grammar is checked immediately, which keeps the scanner linear: of two blocks that are tried on the same
//! text, one is inside a string where the other is not, and an open tag outside of a string breaks a block at once,
//! so no byte is part of more than two tries.

use std::ops::Range;

use super::escape::EscapeStep;
use super::member_list::{MemberKind, MemberList};
use super::nesting::{JsonBracket, NestingStack};
use super::number::{NumberState, NumberStep};
use super::repairs::JsonRepairs;
use super::strings::{is_plain, plain_prefix_len};
use super::tokenizer_state::{JsonWord, TokenizerState};
use crate::close_tag::CLOSE;

/// An error in JSON and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonError {
    /// Counted from the first byte after the open tag, or from the first byte of the arguments.
    pub at: usize,
    pub what: &'static str,
}

pub(crate) enum TokenizerProgress {
    /// All input was read, and the object is not complete.
    More,
    /// The close tag was read.
    Closed,
    Broken(JsonError),
}

#[derive(Debug, Default)]
pub(crate) struct JsonTokenizer {
    at: usize,
    state: TokenizerState,
    nesting: NestingStack,
    /// The nesting depth of the members of the call; 0 before the object starts.
    base: u8,
    /// Whether the current string is a key.
    in_key: bool,
    /// The bracket that ended the last value.
    last_closed: Option<JsonBracket>,
    object: Range<usize>,
    members: MemberList,
    repairs: JsonRepairs,
    fence: BlockFence,
}

/// A code fence inside the tags, around the object.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum BlockFence {
    /// Not read: a backtick is an error.
    #[default]
    Refused,
    /// May come.
    Possible,
    /// Started with so many backticks.
    Open(u8),
    Closed,
}

/// The backticks of a code fence, at least.
const LEAST_BACKTICKS: u8 = 3;
/// The backticks of a code fence around a call, at most.
const MOST_BACKTICKS: u8 = 16;

type StepResult = Result<(), &'static str>;

impl JsonTokenizer {
    /// Resets the tokenizer for another object.
    pub(crate) fn restart(&mut self) {
        let members = std::mem::take(&mut self.members).into_cleared();
        *self = JsonTokenizer { members, ..JsonTokenizer::default() };
    }

    /// Resets the tokenizer for the object of a block, which may be in a code fence.
    pub(crate) fn restart_block(&mut self) {
        self.restart();
        self.fence = BlockFence::Possible;
    }

    /// Continues. `body` is the whole input, of which only the new part is read.
    pub(crate) fn read(&mut self, body: &[u8]) -> TokenizerProgress {
        while let Some(&byte) = body.get(self.at) {
            let step = match self.state {
                TokenizerState::Text => self.text(body),
                TokenizerState::Start
                | TokenizerState::Fenced
                | TokenizerState::Wrapper
                | TokenizerState::FirstKey
                | TokenizerState::Key
                | TokenizerState::Colon
                | TokenizerState::Value
                | TokenizerState::FirstItem
                | TokenizerState::Item
                | TokenizerState::Next
                | TokenizerState::Done => self.structure(byte),
                TokenizerState::FenceOpen | TokenizerState::FenceWord | TokenizerState::FenceClose(_) => {
                    self.fence(byte)
                }
                TokenizerState::Escape(escape) => self.escape(escape, byte),
                TokenizerState::Number(number) => self.number(number, byte),
                TokenizerState::Word(word, matched) => self.literal(word, matched, byte),
                TokenizerState::Close(matched) => {
                    if usize::from(matched) + 1 == CLOSE.len() && byte == b'>' {
                        self.at += 1;
                        return TokenizerProgress::Closed;
                    }
                    self.close_tag(matched, byte)
                }
            };
            if let Err(what) = step {
                return TokenizerProgress::Broken(JsonError { at: self.at, what });
            }
        }
        TokenizerProgress::More
    }

    /// Skips a short chunk inside a string that changes nothing. Returns whether it did; `None` if the chunk was not
    /// tested.
    #[inline]
    pub(crate) fn skip_plain(&mut self, piece: &[u8]) -> Option<bool> {
        if self.state != TokenizerState::Text {
            return None;
        }
        let passes = is_plain(piece)?;
        self.at += if passes { piece.len() } else { 0 };
        Some(passes)
    }

    /// Returns the position.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Whether the object has started.
    pub(crate) fn has_begun(&self) -> bool {
        self.base > 0
    }

    /// Whether the object is complete and nothing follows it.
    pub(crate) fn is_complete(&self) -> bool {
        self.state == TokenizerState::Done
    }

    pub(crate) fn members(&self) -> &MemberList {
        &self.members
    }

    /// Returns the range of a complete object, without an array around it.
    pub(crate) fn object(&self) -> Range<usize> {
        self.object.clone()
    }

    /// Whether the object was in a code fence.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fence == BlockFence::Closed
    }

    pub(crate) fn repairs(&self) -> JsonRepairs {
        self.repairs
    }

    fn advance(&mut self, state: TokenizerState) -> StepResult {
        self.state = state;
        self.at += 1;
        Ok(())
    }

    fn structure(&mut self, byte: u8) -> StepResult {
        match (self.state, byte) {
            (_, b' ' | b'\n' | b'\t' | b'\r') => self.advance(self.state),
            (TokenizerState::FirstKey | TokenizerState::Key, b'"') => {
                self.in_key = true;
                if self.nesting.depth() == self.base {
                    self.members.key_begins(self.at + 1);
                }
                self.advance(TokenizerState::Text)
            }
            (TokenizerState::Colon, b':') => self.advance(TokenizerState::Value),
            (TokenizerState::Next, b',') => self.comma(),
            (TokenizerState::Key, b'}') | (TokenizerState::Item, b']') => {
                self.repairs.commas = true;
                self.close()
            }
            (TokenizerState::Item, _) if self.nesting.depth() < self.base => {
                Err("the array holds more than one call")
            }
            (TokenizerState::FirstKey, b'}') | (TokenizerState::FirstItem, b']') => self.close(),
            (TokenizerState::Value | TokenizerState::FirstItem | TokenizerState::Item, _) => {
                self.begin_value(byte)
            }
            (TokenizerState::Next | TokenizerState::Done, b'}') if self.fence != BlockFence::Closed => {
                self.end_or_stray(JsonBracket::Object)
            }
            (TokenizerState::Next | TokenizerState::Done, b']') if self.fence != BlockFence::Closed => {
                self.end_or_stray(JsonBracket::Array)
            }
            (TokenizerState::Done, b'<') if matches!(self.fence, BlockFence::Open(_)) => {
                Err("the code fence around the object is not closed")
            }
            (TokenizerState::Done, b'<') => self.advance(TokenizerState::Close(1)),
            (TokenizerState::Start, b'`') if self.fence == BlockFence::Possible => {
                self.fence = BlockFence::Open(1);
                self.advance(TokenizerState::FenceOpen)
            }
            (TokenizerState::Done, b'`') if let BlockFence::Open(backticks) = self.fence => {
                self.fence = BlockFence::Closed;
                self.advance(TokenizerState::FenceClose(backticks - 1))
            }
            (TokenizerState::Start | TokenizerState::Fenced | TokenizerState::Wrapper, b'{') => {
                self.object.start = self.at;
                self.base = self.nesting.depth() + 1;
                self.open(JsonBracket::Object)
            }
            (TokenizerState::Start | TokenizerState::Fenced, b'[') => {
                self.repairs.wrapped = true;
                self.open(JsonBracket::Array)?;
                self.state = TokenizerState::Wrapper;
                Ok(())
            }
            (state, _) => Err(state.expected()),
        }
    }

    /// Reads a code fence around the object: at least three backticks, a word, a line break; and as many backticks
    /// after the object.
    fn fence(&mut self, byte: u8) -> StepResult {
        let backticks = match self.fence {
            BlockFence::Open(backticks) => backticks,
            BlockFence::Refused | BlockFence::Possible | BlockFence::Closed => 0,
        };
        let is_complete = backticks >= LEAST_BACKTICKS;
        match (self.state, byte) {
            (TokenizerState::FenceOpen, b'`') if backticks < MOST_BACKTICKS => {
                self.fence = BlockFence::Open(backticks + 1);
                self.advance(TokenizerState::FenceOpen)
            }
            (TokenizerState::FenceOpen | TokenizerState::FenceWord, b'\n') if is_complete => {
                self.advance(TokenizerState::Fenced)
            }
            (TokenizerState::FenceOpen | TokenizerState::FenceWord, letter)
                if is_complete
                    && (letter.is_ascii_alphanumeric()
                        || matches!(letter, b'_' | b'-' | b' ' | b'\t' | b'\r')) =>
            {
                self.advance(TokenizerState::FenceWord)
            }
            (TokenizerState::FenceClose(1), b'`') => self.advance(TokenizerState::Done),
            (TokenizerState::FenceClose(missing), b'`') => {
                self.advance(TokenizerState::FenceClose(missing - 1))
            }
            (state, _) => Err(state.expected()),
        }
    }

    fn open(&mut self, bracket: JsonBracket) -> StepResult {
        if !self.nesting.open(bracket) {
            return Err("it is nested too deeply");
        }
        self.advance(match bracket {
            JsonBracket::Object => TokenizerState::FirstKey,
            JsonBracket::Array => TokenizerState::FirstItem,
        })
    }

    fn begin_value(&mut self, byte: u8) -> StepResult {
        let (state, kind, start) = match byte {
            b'"' => (TokenizerState::Text, MemberKind::Text, self.at + 1),
            b'{' => (TokenizerState::FirstKey, MemberKind::Object, self.at),
            b'[' => (TokenizerState::FirstItem, MemberKind::Other, self.at),
            b't' => (TokenizerState::Word(JsonWord::True, 1), MemberKind::Other, self.at),
            b'f' => (TokenizerState::Word(JsonWord::False, 1), MemberKind::Other, self.at),
            b'n' => (TokenizerState::Word(JsonWord::Null, 1), MemberKind::Other, self.at),
            _ => {
                let number = NumberState::begin(byte).ok_or(TokenizerState::Value.expected())?;
                (TokenizerState::Number(number), MemberKind::Other, self.at)
            }
        };
        self.in_key = false;
        if self.nesting.depth() == self.base {
            self.members.value_begins(start, kind);
        }
        match byte {
            b'{' => self.open(JsonBracket::Object),
            b'[' => self.open(JsonBracket::Array),
            _ => self.advance(state),
        }
    }

    /// Ends a value at `end`. After a string the closing quote follows.
    fn value_ended(&mut self, end: usize, closed: Option<JsonBracket>) {
        self.last_closed = closed;
        let depth = self.nesting.depth();
        self.state = if depth == 0 { TokenizerState::Done } else { TokenizerState::Next };
        if depth + 1 == self.base {
            self.object.end = end;
        } else if depth == self.base {
            self.members.value_ends(end);
        }
    }

    fn comma(&mut self) -> StepResult {
        let inner = self.nesting.innermost();
        if let Some(bracket) = inner.filter(|_| self.last_closed == inner) {
            self.repairs.comma_behind(bracket);
        }
        self.advance(if inner == Some(JsonBracket::Object) {
            TokenizerState::Key
        } else {
            TokenizerState::Item
        })
    }

    fn close(&mut self) -> StepResult {
        let closed = self.nesting.innermost();
        self.nesting.close();
        self.at += 1;
        self.value_ended(self.at, closed);
        Ok(())
    }

    fn end_or_stray(&mut self, bracket: JsonBracket) -> StepResult {
        if self.nesting.innermost() == Some(bracket) {
            return self.close();
        }
        if !self.repairs.drop_bracket(self.at, bracket) {
            return Err("a bracket is closed that is not open");
        }
        self.at += 1;
        Ok(())
    }

    /// Reads inside a string. Complete simple escapes are skipped here, for speed.
    fn text(&mut self, body: &[u8]) -> StepResult {
        loop {
            self.at += plain_prefix_len(body.get(self.at..).unwrap_or_default());
            let Some(&byte) = body.get(self.at) else { return Ok(()) };
            match byte {
                b'"' => return self.text_ended(),
                b'\\' => match body.get(self.at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
                    Some(_) | None => return self.advance(TokenizerState::Escape(EscapeStep::Letter)),
                },
                b'\n' | b'\r' | b'\t' => {
                    self.repairs.controls = true;
                    self.at += 1;
                }
                _ => return Err("a control character is inside a string"),
            }
        }
    }

    fn text_ended(&mut self) -> StepResult {
        if self.in_key {
            if self.nesting.depth() == self.base {
                self.members.key_ends(self.at);
            }
            return self.advance(TokenizerState::Colon);
        }
        self.value_ended(self.at, None);
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self, escape: EscapeStep, byte: u8) -> StepResult {
        let next = escape.read(byte)?;
        self.advance(next.map_or(TokenizerState::Text, TokenizerState::Escape))
    }

    fn number(&mut self, number: NumberState, byte: u8) -> StepResult {
        match number.read(byte) {
            NumberStep::GoesOn(number) => self.advance(TokenizerState::Number(number)),
            NumberStep::Ends => {
                self.value_ended(self.at, None);
                Ok(())
            }
            NumberStep::Breaks if number == NumberState::Zero => Err("a number must not begin with a zero"),
            NumberStep::Breaks => Err("a digit was expected"),
        }
    }

    fn literal(&mut self, word: JsonWord, matched: u8, byte: u8) -> StepResult {
        let expected = word.bytes().get(usize::from(matched));
        if expected != Some(&byte) {
            return Err(TokenizerState::Value.expected());
        }
        if usize::from(matched) + 1 == word.bytes().len() {
            self.at += 1;
            self.value_ended(self.at, None);
            return Ok(());
        }
        self.advance(TokenizerState::Word(word, matched + 1))
    }

    fn close_tag(&mut self, matched: u8, byte: u8) -> StepResult {
        if CLOSE.as_bytes().get(usize::from(matched)) == Some(&byte) {
            return self.advance(TokenizerState::Close(matched + 1));
        }
        Err(TokenizerState::Done.expected())
    }
}
