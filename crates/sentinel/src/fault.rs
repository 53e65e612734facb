//! Faults of blocks, worded so that a model can correct them.

use super::json::JsonError;

/// Why a block is not a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockFault {
    #[error("the block is not JSON: at byte {at}, {what}", at = .0.at, what = .0.what)]
    MalformedJson(JsonError),
    #[error("`{key}` is there twice; give each key once")]
    DuplicateKey { key: String },
    #[error("the block has more than {most} keys; it needs `name` and `arguments` only")]
    TooManyKeys { most: usize },
    #[error("the block has no `name`; name one of the tools")]
    NameMissing,
    #[error("`name` is not a string; give the name of a tool in double quotes")]
    NameNotAString,
    #[error("no tool is named `{name}`; name one of the tools, letter by letter")]
    UnknownName { name: String },
    #[error("`{key}` is not a key of a call; put every argument into `arguments`")]
    UnexpectedKey { key: String },
    #[error("`arguments` is neither a string nor an object; give a string that holds a JSON object")]
    ArgumentsNotAString,
    #[error("`arguments` does not hold a JSON object; it must begin with `{{`")]
    ArgumentsNotAnObject,
    #[error("`arguments` does not hold JSON: at byte {at}, {what}", at = .0.at, what = .0.what)]
    ArgumentsMalformed(JsonError),
    #[error("`arguments` cannot be read: {reason}")]
    ArgumentsUnreadable { reason: String },
    #[error("the call would have to be repaired ({what}), which a strict tool does not allow")]
    NeedsRepair { what: &'static str },
    #[error("the block is longer than {limit} bytes; give fewer or shorter arguments")]
    TooLarge { limit: usize },
    #[error("the text ends inside the block; close it with `</tool_call>`")]
    Unterminated,
}
