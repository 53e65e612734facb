//! From the text of a plan to a run: parse, check, order, resolve, expand, and the run as a state machine.
//!
//! Everything here is pure. No I/O, no clock, no randomness, no tokio: what a plan means must not depend on
//! when or where it is asked, or a recorded run could not be derived again.

mod check;
mod checked;
mod finding;
mod literal;

pub use check::{CheckLimits, Report, check};
pub use checked::{CheckedForeach, CheckedPlan, CheckedStep};
pub use finding::{Finding, FindingCode, Severity};
pub use literal::literal;
