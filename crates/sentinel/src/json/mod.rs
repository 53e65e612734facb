//! JSON of calls: tokenized while it arrives, unescaped and repaired once it is complete.

mod lexer;
mod escape;
mod member_list;
mod repair;
mod nesting;
mod number;
mod repairs;
mod tokenizer_state;
mod strings;

pub use self::lexer::JsonError;
pub(super) use self::lexer::{JsonTokenizer, TokenizerProgress};
pub(super) use self::member_list::{MOST_MEMBERS, MemberKind, ObjectMember};
pub(super) use self::repair::repaired;
pub(super) use self::strings::unescape;
