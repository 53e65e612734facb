//! JSON as far as a call needs it: read while it arrives, decoded and mended once it is complete.

mod cursor;
mod mend;
mod nesting;
mod number;
mod strings;

pub use self::cursor::Misstep;
pub(super) use self::cursor::{Cursor, Kind, MOST_MEMBERS, Member, Progress};
pub(super) use self::mend::mended;
pub(super) use self::strings::decoded;
