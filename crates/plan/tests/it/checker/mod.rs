//! Tests of the checker, with plans as models write them (good, odd and wrong ones) and with texts that are
//! not plans.

mod arbitrary;
mod catalog;
mod plan_files;
mod published_schema;
mod reading;
mod validator;

use plan::{CheckLimits, CheckReport};

const LIMITS: CheckLimits = CheckLimits { max_attempts: 5, max_call_timeout_ms: 600_000 };

/// Calls the checker; the only function in these tests that does.
fn check(text: &str) -> CheckReport {
    plan::check(text, catalog::shared(), &LIMITS)
}
