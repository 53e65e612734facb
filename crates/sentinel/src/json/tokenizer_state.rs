//! The states of the tokenizer.

use super::escape::EscapeStep;
use super::number::NumberState;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TokenizerState {
    #[default]
    Start,
    /// In the backticks of a code fence before the object.
    FenceOpen,
    /// In the word after these backticks, up to the end of the line.
    FenceWord,
    /// After the first line of the fence.
    Fenced,
    /// In the backticks of the fence after the object; so many are missing.
    FenceClose(u8),
    /// After the bracket of an array around the object.
    Wrapper,
    FirstKey,
    /// After a comma.
    Key,
    Colon,
    Value,
    FirstItem,
    /// After a comma.
    Item,
    /// After a value.
    Next,
    Text,
    Escape(EscapeStep),
    Number(NumberState),
    /// So many letters of a literal matched.
    Word(JsonWord, u8),
    /// After the object.
    Done,
    /// So many bytes of the close tag matched.
    Close(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonWord {
    True,
    False,
    Null,
}

impl JsonWord {
    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            JsonWord::True => b"true",
            JsonWord::False => b"false",
            JsonWord::Null => b"null",
        }
    }
}

impl TokenizerState {
    /// Returns the expected token, for an error.
    pub(super) fn expected(self) -> &'static str {
        match self {
            TokenizerState::Start
            | TokenizerState::FenceOpen
            | TokenizerState::FenceWord
            | TokenizerState::Fenced
            | TokenizerState::Wrapper => "an object was expected",
            TokenizerState::FirstKey | TokenizerState::Key => "a key in double quotes was expected",
            TokenizerState::Colon => "a colon was expected",
            TokenizerState::Value
            | TokenizerState::FirstItem
            | TokenizerState::Item
            | TokenizerState::Number(_)
            | TokenizerState::Word(..) => "a value was expected",
            TokenizerState::Next => "a comma or a closing bracket was expected",
            TokenizerState::Text | TokenizerState::Escape(_) => "the end of a string was expected",
            TokenizerState::FenceClose(_) => "the end of the code fence was expected",
            TokenizerState::Done | TokenizerState::Close(_) => {
                "nothing but the end was expected behind the object"
            }
        }
    }
}
