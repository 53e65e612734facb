//! What `verify` can find wrong, and where.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kind::Seq;

/// One thing that is not as it was written, with its exact place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The file in the run folder, or the object.
    pub file: String,
    /// Counts from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Byte position where that line starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    pub what: ProblemKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The bytes of a record are not those that were written.
    Changed,
    /// A record is gone.
    Missing,
    /// A record stands at another place or in another log.
    Reordered,
    /// A log ends in the middle of a record, or before a record that is known to have been there.
    Truncated,
    /// A record is there twice.
    Duplicated,
    /// A record does not belong to this run, or not after the one before it.
    Foreign,
    /// `run.json` is not the one the run was started with.
    HeaderChanged,
    /// The confirmation in `run.json` is not the one that was recorded, or not for this plan.
    ConfirmationMismatch,
    /// A record contradicts itself.
    Invariant,
    /// A result without its call, or a second result of one call.
    OrphanResult,
    /// A finished run has a call that never ended.
    CallWithoutResult,
    ObjectMissing,
    ObjectChanged,
    ArtifactMissing,
    ArtifactChanged,
    /// The chain does not end in the head that was kept elsewhere.
    HeadDiffers,
}

impl ProblemKind {
    /// Whether lines are not as they were written, so that what they said is unknown.
    pub(crate) const fn is_damage(self) -> bool {
        match self {
            ProblemKind::Changed
            | ProblemKind::Missing
            | ProblemKind::Reordered
            | ProblemKind::Truncated
            | ProblemKind::Duplicated => true,
            ProblemKind::Foreign
            | ProblemKind::HeaderChanged
            | ProblemKind::ConfirmationMismatch
            | ProblemKind::Invariant
            | ProblemKind::OrphanResult
            | ProblemKind::CallWithoutResult
            | ProblemKind::ObjectMissing
            | ProblemKind::ObjectChanged
            | ProblemKind::ArtifactMissing
            | ProblemKind::ArtifactChanged
            | ProblemKind::HeadDiffers => false,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            ProblemKind::Changed => "changed",
            ProblemKind::Missing => "missing",
            ProblemKind::Reordered => "reordered",
            ProblemKind::Truncated => "truncated",
            ProblemKind::Duplicated => "duplicated",
            ProblemKind::Foreign => "foreign",
            ProblemKind::HeaderChanged => "header changed",
            ProblemKind::ConfirmationMismatch => "confirmation mismatch",
            ProblemKind::Invariant => "contradiction",
            ProblemKind::OrphanResult => "orphan result",
            ProblemKind::CallWithoutResult => "call without result",
            ProblemKind::ObjectMissing => "object missing",
            ProblemKind::ObjectChanged => "object changed",
            ProblemKind::ArtifactMissing => "artifact missing",
            ProblemKind::ArtifactChanged => "artifact changed",
            ProblemKind::HeadDiffers => "head differs",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what.name(), self.file)?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, " (byte {offset})")?;
        }
        if let Some(seq) = self.seq {
            write!(f, ", record {seq}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// The last line of a log, cut off in the middle. A crash can do that; the record was never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TornTail {
    pub file: String,
    pub line: u64,
    pub offset: u64,
    /// How many bytes of the line are there.
    pub bytes: u64,
}
