//! A run, explained: what the records say, gathered into a story and told to a person.

mod bounded;
mod call;
mod step;
mod story;
mod text;
mod transcript;

pub(crate) use story::Story;
pub(crate) use text::tell;
pub(crate) use transcript::Transcript;

use envelope::Timestamp;

/// A time as people read it.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
