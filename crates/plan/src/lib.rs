//! From the text of a plan to a run: parse, check, order, resolve, expand, and the run as a state machine.
//!
//! Everything here is pure: no I/O, no clock, no randomness, no tokio. The meaning of a plan must not depend
//! on the time or place of its evaluation, or a recorded run could not be replayed.

mod check;
mod checked;
mod finding;
mod json_pointer;
mod literal;
mod machine;
mod reference;
mod template;

pub use check::{CheckLimits, CheckReport, check, check_recorded};
pub use checked::{CheckedForeach, CheckedPlan, CheckedStep};
pub use finding::{FindingCode, PlanFinding, Severity};
pub use literal::literal;
pub use machine::{
    CarriedCall, CarriedCalls, MachineInput, MachineOutput, RunLimits, RunMachine, RunOutcome, RunQuestion,
    RunSpec, RunStatus, SiblingPolicy, StepStatus, StepSummary, TimerId,
};
pub use reference::{BraceRule, PathSegment, Reference, ReferenceRoot, TemplateScope};
pub use template::{
    NoteKind, ReferencePosition, Template, TemplateBindings, TemplateNote, TemplatePiece,
    UnresolvedReference, ValueSource,
};
