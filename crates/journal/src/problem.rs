//! The problems that `verify` can find, with their positions.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::log_kind::Seq;

/// One difference from the written record, with its exact position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalProblem {
    /// The file in the run folder, or the object.
    pub file: String,
    /// Line number, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Byte offset of the start of that line.
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
    /// The bytes of a record differ from the ones that were written.
    Changed,
    /// A record is gone.
    Missing,
    /// A record is at a wrong position or in a wrong log.
    Reordered,
    /// A log ends in the middle of a record, or before a record that is known to have existed.
    Truncated,
    /// A record occurs twice.
    Duplicated,
    /// A record belongs to another run or position.
    Foreign,
    /// `run.json` is not the one that the run was started with.
    HeaderChanged,
    /// The confirmation in `run.json` is not the recorded one, or not for this plan.
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
    /// The head of the chain differs from the expected one.
    HeadDiffers,
}

impl ProblemKind {
    /// Whether lines were changed or lost, so that their content is unknown.
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

impl fmt::Display for JournalProblem {
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
    /// Number of bytes of the line that are present.
    pub bytes: u64,
}
