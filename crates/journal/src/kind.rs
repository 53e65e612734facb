//! The three logs of a run and the position in their common order.

use envelope::Hash;
use serde::{Deserialize, Serialize};

/// The position of a record in a run: counts from 1 over all three logs.
pub type Seq = u64;

/// Which of the three logs a record belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Call,
    Result,
    Event,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Call, Kind::Result, Kind::Event];

    /// The name of the log in the run folder.
    pub const fn file(self) -> &'static str {
        match self {
            Kind::Call => "calls.jsonl",
            Kind::Result => "results.jsonl",
            Kind::Event => "events.jsonl",
        }
    }

    /// The byte that goes into the hash, so that a line moved to another log is noticed.
    pub(crate) const fn byte(self) -> u8 {
        match self {
            Kind::Call => 1,
            Kind::Result => 2,
            Kind::Event => 3,
        }
    }

    pub(crate) const fn from_byte(byte: u8) -> Option<Kind> {
        match byte {
            1 => Some(Kind::Call),
            2 => Some(Kind::Result),
            3 => Some(Kind::Event),
            _ => None,
        }
    }

    /// Position in arrays that hold one thing for each log.
    pub(crate) const fn index(self) -> usize {
        match self {
            Kind::Call => 0,
            Kind::Result => 1,
            Kind::Event => 2,
        }
    }
}

/// The newest record and its hash. Whoever keeps this elsewhere can later prove that nothing before it
/// was changed or cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    pub seq: Seq,
    pub hash: Hash,
}
