//! The three logs of a run, and positions in their common order.

use envelope::Hash;
use serde::{Deserialize, Serialize};

/// The position of a record in a run, counted from 1 over all three logs.
pub type Seq = u64;

/// The log that a record belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogKind {
    Call,
    Result,
    Event,
}

impl LogKind {
    pub const ALL: [LogKind; 3] = [LogKind::Call, LogKind::Result, LogKind::Event];

    /// Returns the file name of the log in the run folder.
    pub const fn file(self) -> &'static str {
        match self {
            LogKind::Call => "calls.jsonl",
            LogKind::Result => "results.jsonl",
            LogKind::Event => "events.jsonl",
        }
    }

    /// Returns the byte that is part of the hash, so that a line moved to another log is detected.
    pub(crate) const fn byte(self) -> u8 {
        match self {
            LogKind::Call => 1,
            LogKind::Result => 2,
            LogKind::Event => 3,
        }
    }

    pub(crate) const fn from_byte(byte: u8) -> Option<LogKind> {
        match byte {
            1 => Some(LogKind::Call),
            2 => Some(LogKind::Result),
            3 => Some(LogKind::Event),
            _ => None,
        }
    }

    /// Returns the index in arrays with one element for each log.
    pub(crate) const fn index(self) -> usize {
        match self {
            LogKind::Call => 0,
            LogKind::Result => 1,
            LogKind::Event => 2,
        }
    }
}

/// The newest record and its hash. A copy kept elsewhere proves later that no earlier record was changed or
/// cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    pub seq: Seq,
    pub hash: Hash,
}
