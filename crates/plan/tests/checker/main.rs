//! The checker, fed with plans as models write them: good, odd and wrong ones, and with what is no plan at all.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod arbitrary;
mod catalog;
mod plan_files;
mod published_schema;
mod reading;
mod validator;

use plan::{CheckLimits, Report};

const LIMITS: CheckLimits = CheckLimits { max_attempts: 5, max_call_timeout_ms: 600_000 };

/// The only place in these tests that calls the checker.
fn check(text: &str) -> Report {
    plan::check(text, catalog::shared(), &LIMITS)
}
