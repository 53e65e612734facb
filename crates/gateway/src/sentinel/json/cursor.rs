//! Reads the object of a block while it arrives, every byte once, and says where it ends or where it breaks.
//!
//! The grammar is checked in full and at once. That is what keeps the scanner linear: of two blocks that are
//! tried at the same stretch of text one is inside a string where the other is not, and an open tag outside of
//! a string breaks a block on the spot, so no byte is ever inside more than two tries.

use std::ops::Range;

use super::nesting::{Bracket, Nesting};
use super::number::{Effect, Number};
use super::strings::plain_stretch;
use crate::sentinel::close_tag::CLOSE;

/// More members than this are no call. It bounds what is remembered of a block.
pub(in crate::sentinel) const MOST_MEMBERS: usize = 16;

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

/// A member of the outermost object, by its place in the text.
#[derive(Debug, Clone)]
pub(in crate::sentinel) struct Member {
    /// Without the quotes.
    pub(in crate::sentinel) key: Range<usize>,
    /// Without the quotes as well, if it is a string.
    pub(in crate::sentinel) value: Range<usize>,
    pub(in crate::sentinel) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sentinel) enum Kind {
    Text,
    Object,
    Other,
}

/// What was wrong and can be mended.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::sentinel) struct Repairs {
    commas: bool,
    controls: bool,
    wrapped: bool,
    /// Where the bracket stands that is one too many.
    stray: Option<usize>,
}

impl Repairs {
    pub(in crate::sentinel) fn what(&self) -> Option<&'static str> {
        if self.commas {
            Some("a comma before a closing bracket")
        } else if self.controls {
            Some("a line break or a tab inside a string")
        } else if self.wrapped {
            Some("an array around the object")
        } else {
            self.stray.map(|_| "a closing bracket too many")
        }
    }

    /// Where the bracket that is one too many stands in a part of the text, if it is there.
    pub(in crate::sentinel) fn stray_in(&self, part: &Range<usize>) -> Option<usize> {
        self.stray.filter(|at| part.contains(at)).map(|at| at - part.start)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Start,
    /// Behind the bracket of an array around the object.
    Wrapper,
    FirstKey,
    /// Behind a comma.
    Key,
    Colon,
    Value,
    FirstItem,
    /// Behind a comma.
    Item,
    /// Behind a value.
    Next,
    Text,
    Escape,
    /// So many hexadecimal digits are still to come.
    Hex(u8),
    /// The first half of a surrogate pair was read; the second must follow.
    LowBackslash,
    LowLetter,
    Number(Number),
    Word(Word, u8),
    /// Behind the object.
    Done,
    /// So many bytes of the close tag were read.
    Close(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    True,
    False,
    Null,
}

impl Word {
    fn bytes(self) -> &'static [u8] {
        match self {
            Word::True => b"true",
            Word::False => b"false",
            Word::Null => b"null",
        }
    }
}

/// The code unit of an escape, as far as it was read.
#[derive(Debug, Clone, Copy, Default)]
struct Unit {
    value: u16,
    /// Whether it must be the second half of a surrogate pair.
    is_second: bool,
}

/// Whether a bracket of this kind closed a value in front of a comma, in a parent of the same kind. From then on
/// one bracket too many could be that one, or any later one.
#[derive(Debug, Clone, Copy, Default)]
struct BeforeComma {
    object: bool,
    array: bool,
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
    unit: Unit,
    /// The bracket that the last value ended with.
    last_closed: Option<Bracket>,
    before_comma: BeforeComma,
    object: Range<usize>,
    key: Range<usize>,
    value: usize,
    kind: Option<Kind>,
    members: Vec<Member>,
    more_members: bool,
    repairs: Repairs,
}

type Step = Result<(), &'static str>;

impl Cursor {
    /// Ready for another object.
    pub(in crate::sentinel) fn restart(&mut self) {
        let mut members = std::mem::take(&mut self.members);
        members.clear();
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
                State::Escape | State::Hex(_) | State::LowBackslash | State::LowLetter => self.escape(byte),
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

    /// The members that are complete, and whether there are more than are remembered.
    pub(in crate::sentinel) fn members(&self) -> (&[Member], bool) {
        (&self.members, self.more_members)
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
                    self.key.start = self.at + 1;
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
            (state, _) => Err(expected(state)),
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
        let is_member = self.nesting.depth() == self.base;
        if is_member {
            self.value = self.at;
        }
        let (state, kind) = match byte {
            b'"' => {
                self.in_key = false;
                if is_member {
                    self.value += 1;
                }
                (State::Text, Kind::Text)
            }
            b'{' => (State::FirstKey, Kind::Object),
            b't' => (State::Word(Word::True, 1), Kind::Other),
            b'f' => (State::Word(Word::False, 1), Kind::Other),
            b'n' => (State::Word(Word::Null, 1), Kind::Other),
            b'[' => (State::FirstItem, Kind::Other),
            _ => (State::Number(Number::begin(byte).ok_or("a value was expected")?), Kind::Other),
        };
        if is_member {
            self.kind = Some(kind);
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
        self.state = State::Next;
        let depth = self.nesting.depth();
        if depth == 0 {
            self.state = State::Done;
        }
        if depth + 1 == self.base {
            self.object.end = end;
        } else if depth == self.base
            && let Some(kind) = self.kind.take()
        {
            if self.members.len() < MOST_MEMBERS {
                self.members.push(Member { key: self.key.clone(), value: self.value..end, kind });
            } else {
                self.more_members = true;
            }
        }
    }

    fn comma(&mut self) -> Step {
        let inner = self.nesting.innermost();
        if self.last_closed.is_some() && self.last_closed == inner {
            match inner {
                Some(Bracket::Object) => self.before_comma.object = true,
                Some(Bracket::Array) => self.before_comma.array = true,
                None => {}
            }
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
        let unclear = match bracket {
            Bracket::Object => self.before_comma.object,
            Bracket::Array => self.before_comma.array,
        };
        if unclear || self.repairs.stray.is_some() {
            return Err("a bracket is closed that is not open");
        }
        self.repairs.stray = Some(self.at);
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
                    Some(_) | None => return self.goto(State::Escape),
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
                self.key.end = self.at;
            }
            return self.goto(State::Colon);
        }
        self.value_ended(self.at, None);
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self, byte: u8) -> Step {
        match (self.state, byte) {
            (State::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.goto(State::Text),
            (State::Escape | State::LowLetter, b'u') => {
                self.unit.value = 0;
                self.goto(State::Hex(4))
            }
            (State::LowBackslash, b'\\') => self.goto(State::LowLetter),
            (State::Hex(left), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                self.unit.value = self.unit.value << 4 | digit as u16;
                if left > 1 { self.goto(State::Hex(left - 1)) } else { self.unit_ended() }
            }
            (State::LowBackslash | State::LowLetter, _) => Err("half of a surrogate pair stands alone"),
            (State::Hex(_), _) => Err("four hexadecimal digits were expected"),
            _ => Err("a backslash is followed by a letter that is no escape"),
        }
    }

    fn unit_ended(&mut self) -> Step {
        let (is_high, is_low) =
            (matches!(self.unit.value, 0xD800..=0xDBFF), matches!(self.unit.value, 0xDC00..=0xDFFF));
        if is_low != self.unit.is_second {
            return Err("half of a surrogate pair stands alone");
        }
        self.unit.is_second = is_high;
        self.goto(if is_high { State::LowBackslash } else { State::Text })
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
            return Err("a value was expected");
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
        Err(expected(State::Done))
    }
}

/// What belongs where something else was found.
fn expected(state: State) -> &'static str {
    match state {
        State::Start | State::Wrapper => "an object was expected",
        State::FirstKey | State::Key => "a key in double quotes was expected",
        State::Colon => "a colon was expected",
        State::Value | State::FirstItem | State::Item | State::Number(_) | State::Word(..) => {
            "a value was expected"
        }
        State::Next => "a comma or a closing bracket was expected",
        State::Text | State::Escape | State::Hex(_) | State::LowBackslash | State::LowLetter => {
            "the end of a string was expected"
        }
        State::Done | State::Close(_) => "nothing but the end was expected behind the object",
    }
}
