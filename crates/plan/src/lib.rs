//! From the text of a plan to a run: parse, check, order, resolve, expand, and the run as a state machine.
//!
//! Everything here is pure. No I/O, no clock, no randomness, no tokio: what a plan means must not depend on
//! when or where it is asked, or a recorded run could not be derived again.

mod check;
mod checked;
mod finding;
mod literal;
mod machine;
mod reference;
mod template;

pub use check::{CheckLimits, Report, check};
pub use checked::{CheckedForeach, CheckedPlan, CheckedStep};
pub use finding::{Finding, FindingCode, Severity};
pub use literal::literal;
pub use machine::{
    Input, Machine, Output, Question, RunLimits, RunOutcome, RunSpec, RunStatus, SiblingPolicy, StepStatus,
    StepSummary, TimerId,
};
pub use reference::{Reference, Root, Scope, Segment};
pub use template::{Bindings, Dangling, NoteKind, Piece, Position, Template, TemplateNote, Values};
