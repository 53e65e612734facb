//! JSON as far as a call needs it: read while it arrives, decoded and mended once it is complete.

mod cursor;
mod escape;
mod members;
mod mend;
mod nesting;
mod number;
mod repairs;
mod state;
mod strings;

pub use self::cursor::Misstep;
pub(super) use self::cursor::{Cursor, Progress};
pub(super) use self::members::{Kind, MOST_MEMBERS, Member};
pub(super) use self::mend::mended;
pub(super) use self::strings::decoded;
