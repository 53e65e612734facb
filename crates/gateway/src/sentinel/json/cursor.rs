//! Reads the object of a block while it arrives, every byte once, and says where it ends or where it breaks.
//!
//! The grammar is checked in full and at once. That is what keeps the scanner linear: of two blocks that are
//! tried at the same stretch of text one is inside a string where the other is not, and an open tag outside of
//! a string breaks a block on the spot, so no byte is ever inside more than two tries.

use std::ops::Range;

use super::escape::Escape;
use super::members::{Kind, Members};
use super::nesting::{Bracket, Nesting};
use super::number::{Effect, Number};
use super::repairs::Repairs;
use super::state::{State, Word};
use super::strings::{is_plain, plain_stretch};
use crate::sentinel::close_tag::CLOSE;

/// Where JSON breaks, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misstep {
    /// Counted from the first byte behind the open tag, or from the first byte of the arguments.
    pub at: usize,
    pub what: &'static str,
}

pub(in crate::sentinel) enum Progress {
    /// Everything that is there was read, and it is not the end.
    More,
    /// The close tag was read.
    Closed,
    Broken(Misstep),
}

#[derive(Debug, Default)]
pub(in crate::sentinel) struct Cursor {
    at: usize,
    state: State,
    nesting: Nesting,
    /// How deep the members of the call are; 0 until its bracket was read.
    base: u8,
    /// Whether the string being read is a key.
    in_key: bool,
    /// The bracket that the last value ended with.
    last_closed: Option<Bracket>,
    object: Range<usize>,
    members: Members,
    repairs: Repairs,
}

type Step = Result<(), &'static str>;

impl Cursor {
    /// Ready for another object.
    pub(in crate::sentinel) fn restart(&mut self) {
        let members = std::mem::take(&mut self.members).cleared();
        *self = Cursor { members, ..Cursor::default() };
    }

    /// Reads on. `body` is everything from the beginning, of which only what is new is looked at.
    pub(in crate::sentinel) fn read(&mut self, body: &[u8]) -> Progress {
        while let Some(&byte) = body.get(self.at) {
            let step = match self.state {
                State::Text => self.text(body),
                State::Start
                | State::Wrapper
                | State::FirstKey
                | State::Key
                | State::Colon
                | State::Value
                | State::FirstItem
                | State::Item
                | State::Next
                | State::Done => self.structure(byte),
                State::Escape(escape) => self.escape(escape, byte),
                State::Number(number) => self.number(number, byte),
                State::Word(word, matched) => self.word(word, matched, byte),
                State::Close(matched) => {
                    if usize::from(matched) + 1 == CLOSE.len() && byte == b'>' {
                        self.at += 1;
                        return Progress::Closed;
                    }
                    self.close_tag(matched, byte)
                }
            };
            if let Err(what) = step {
                return Progress::Broken(Misstep { at: self.at, what });
            }
        }
        Progress::More
    }

    /// Steps over a short piece that comes next, if it is inside a string and does nothing there. Says whether
    /// it did, and nothing if it did not even look at the piece.
    #[inline]
    pub(in crate::sentinel) fn pass(&mut self, piece: &[u8]) -> Option<bool> {
        if self.state != State::Text {
            return None;
        }
        let passes = is_plain(piece)?;
        self.at += if passes { piece.len() } else { 0 };
        Some(passes)
    }

    /// How far it has read.
    pub(in crate::sentinel) fn at(&self) -> usize {
        self.at
    }

    /// Whether the bracket of the object was there.
    pub(in crate::sentinel) fn has_begun(&self) -> bool {
        self.base > 0
    }

    /// Whether the object is complete and nothing stands behind it.
    pub(in crate::sentinel) fn is_complete(&self) -> bool {
        self.state == State::Done
    }

    pub(in crate::sentinel) fn members(&self) -> &Members {
        &self.members
    }

    /// Where the object stands, once it is complete; without an array around it.
    pub(in crate::sentinel) fn object(&self) -> Range<usize> {
        self.object.clone()
    }

    pub(in crate::sentinel) fn repairs(&self) -> Repairs {
        self.repairs
    }

    fn goto(&mut self, state: State) -> Step {
        self.state = state;
        self.at += 1;
        Ok(())
    }

    fn structure(&mut self, byte: u8) -> Step {
        match (self.state, byte) {
            (_, b' ' | b'\n' | b'\t' | b'\r') => self.goto(self.state),
            (State::FirstKey | State::Key, b'"') => {
                self.in_key = true;
                if self.nesting.depth() == self.base {
                    self.members.key_begins(self.at + 1);
                }
                self.goto(State::Text)
            }
            (State::Colon, b':') => self.goto(State::Value),
            (State::Next, b',') => self.comma(),
            (State::Key, b'}') | (State::Item, b']') => {
                self.repairs.commas = true;
                self.close()
            }
            (State::Item, _) if self.nesting.depth() < self.base => Err("the array holds more than one call"),
            (State::FirstKey, b'}') | (State::FirstItem, b']') => self.close(),
            (State::Value | State::FirstItem | State::Item, _) => self.begin_value(byte),
            (State::Next | State::Done, b'}') => self.end_or_stray(Bracket::Object),
            (State::Next | State::Done, b']') => self.end_or_stray(Bracket::Array),
            (State::Done, b'<') => self.goto(State::Close(1)),
            (State::Start | State::Wrapper, b'{') => {
                self.object.start = self.at;
                self.base = self.nesting.depth() + 1;
                self.open(Bracket::Object)
            }
            (State::Start, b'[') => {
                self.repairs.wrapped = true;
                self.open(Bracket::Array)?;
                self.state = State::Wrapper;
                Ok(())
            }
            (state, _) => Err(state.expected()),
        }
    }

    fn open(&mut self, bracket: Bracket) -> Step {
        if !self.nesting.open(bracket) {
            return Err("it is nested too deeply");
        }
        self.goto(match bracket {
            Bracket::Object => State::FirstKey,
            Bracket::Array => State::FirstItem,
        })
    }

    fn begin_value(&mut self, byte: u8) -> Step {
        let (state, kind, start) = match byte {
            b'"' => (State::Text, Kind::Text, self.at + 1),
            b'{' => (State::FirstKey, Kind::Object, self.at),
            b'[' => (State::FirstItem, Kind::Other, self.at),
            b't' => (State::Word(Word::True, 1), Kind::Other, self.at),
            b'f' => (State::Word(Word::False, 1), Kind::Other, self.at),
            b'n' => (State::Word(Word::Null, 1), Kind::Other, self.at),
            _ => {
                let number = Number::begin(byte).ok_or(State::Value.expected())?;
                (State::Number(number), Kind::Other, self.at)
            }
        };
        self.in_key = false;
        if self.nesting.depth() == self.base {
            self.members.value_begins(start, kind);
        }
        match byte {
            b'{' => self.open(Bracket::Object),
            b'[' => self.open(Bracket::Array),
            _ => self.goto(state),
        }
    }

    /// The value that ends before `end` is complete. A closing quote stands behind a string.
    fn value_ended(&mut self, end: usize, closed: Option<Bracket>) {
        self.last_closed = closed;
        let depth = self.nesting.depth();
        self.state = if depth == 0 { State::Done } else { State::Next };
        if depth + 1 == self.base {
            self.object.end = end;
        } else if depth == self.base {
            self.members.value_ends(end);
        }
    }

    fn comma(&mut self) -> Step {
        let inner = self.nesting.innermost();
        if let Some(bracket) = inner.filter(|_| self.last_closed == inner) {
            self.repairs.comma_behind(bracket);
        }
        self.goto(if inner == Some(Bracket::Object) { State::Key } else { State::Item })
    }

    fn close(&mut self) -> Step {
        let closed = self.nesting.innermost();
        self.nesting.close();
        self.at += 1;
        self.value_ended(self.at, closed);
        Ok(())
    }

    fn end_or_stray(&mut self, bracket: Bracket) -> Step {
        if self.nesting.innermost() == Some(bracket) {
            return self.close();
        }
        if !self.repairs.drop_bracket(self.at, bracket) {
            return Err("a bracket is closed that is not open");
        }
        self.at += 1;
        Ok(())
    }

    /// Inside a string. Ordinary escapes that are there whole are stepped over here, for speed.
    fn text(&mut self, body: &[u8]) -> Step {
        loop {
            self.at += plain_stretch(body.get(self.at..).unwrap_or_default());
            let Some(&byte) = body.get(self.at) else { return Ok(()) };
            match byte {
                b'"' => return self.text_ended(),
                b'\\' => match body.get(self.at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
                    Some(_) | None => return self.goto(State::Escape(Escape::Letter)),
                },
                b'\n' | b'\r' | b'\t' => {
                    self.repairs.controls = true;
                    self.at += 1;
                }
                _ => return Err("a control character is inside a string"),
            }
        }
    }

    fn text_ended(&mut self) -> Step {
        if self.in_key {
            if self.nesting.depth() == self.base {
                self.members.key_ends(self.at);
            }
            return self.goto(State::Colon);
        }
        self.value_ended(self.at, None);
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self, escape: Escape, byte: u8) -> Step {
        let next = escape.read(byte)?;
        self.goto(next.map_or(State::Text, State::Escape))
    }

    fn number(&mut self, number: Number, byte: u8) -> Step {
        match number.read(byte) {
            Effect::GoesOn(number) => self.goto(State::Number(number)),
            Effect::Ends => {
                self.value_ended(self.at, None);
                Ok(())
            }
            Effect::Breaks if number == Number::Zero => Err("a number must not begin with a zero"),
            Effect::Breaks => Err("a digit was expected"),
        }
    }

    fn word(&mut self, word: Word, matched: u8, byte: u8) -> Step {
        let expected = word.bytes().get(usize::from(matched));
        if expected != Some(&byte) {
            return Err(State::Value.expected());
        }
        if usize::from(matched) + 1 == word.bytes().len() {
            self.at += 1;
            self.value_ended(self.at, None);
            return Ok(());
        }
        self.goto(State::Word(word, matched + 1))
    }

    fn close_tag(&mut self, matched: u8, byte: u8) -> Step {
        if CLOSE.as_bytes().get(usize::from(matched)) == Some(&byte) {
            return self.goto(State::Close(matched + 1));
        }
        Err(State::Done.expected())
    }
}
