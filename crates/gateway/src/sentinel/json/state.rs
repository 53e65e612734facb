//! Where in its grammar the JSON of a block stands.

use super::escape::Escape;
use super::number::Number;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
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
    Escape(Escape),
    Number(Number),
    /// So many letters of a word were read.
    Word(Word, u8),
    /// Behind the object.
    Done,
    /// So many bytes of the close tag were read.
    Close(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    True,
    False,
    Null,
}

impl Word {
    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            Word::True => b"true",
            Word::False => b"false",
            Word::Null => b"null",
        }
    }
}

impl State {
    /// What belongs where something else was found.
    pub(super) fn expected(self) -> &'static str {
        match self {
            State::Start | State::Wrapper => "an object was expected",
            State::FirstKey | State::Key => "a key in double quotes was expected",
            State::Colon => "a colon was expected",
            State::Value | State::FirstItem | State::Item | State::Number(_) | State::Word(..) => {
                "a value was expected"
            }
            State::Next => "a comma or a closing bracket was expected",
            State::Text | State::Escape(_) => "the end of a string was expected",
            State::Done | State::Close(_) => "nothing but the end was expected behind the object",
        }
    }
}
