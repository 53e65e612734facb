//! The exit codes of the command line.

use app::ErrorKind;
use app::preview::PreviewVerdict;
use engine::RunReport;
use envelope::Failure;
use plan::{RunStatus, StepStatus};

/// The outcome of a command, as a script sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// The command finished, and something in it failed.
    Failures,
    BadInput,
    /// Denied by a rule, a mode or a hook, or declined by the user.
    Denied,
    /// A journal is damaged.
    Damaged,
    Cancelled,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failures => 1,
            Exit::BadInput => 2,
            Exit::Denied => 3,
            Exit::Damaged => 4,
            Exit::Cancelled => 130,
        }
    }

    /// The exit code for an error of the library.
    pub(crate) const fn of_kind(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::BadInput => Exit::BadInput,
            ErrorKind::Failed => Exit::Failures,
            ErrorKind::Denied => Exit::Denied,
            ErrorKind::Damaged => Exit::Damaged,
            ErrorKind::Cancelled => Exit::Cancelled,
        }
    }

    /// The exit code for one call: its failure decides.
    pub(crate) fn of_failure(failure: Failure) -> Exit {
        Exit::of_kind(ErrorKind::of_failure(failure))
    }

    /// The exit code for a forecast: the one that the run would have.
    pub(crate) const fn of_verdict(verdict: PreviewVerdict) -> Exit {
        match verdict {
            PreviewVerdict::Works => Exit::Done,
            PreviewVerdict::Fails => Exit::Failures,
            PreviewVerdict::Denied => Exit::Denied,
            PreviewVerdict::Cancelled => Exit::Cancelled,
        }
    }

    /// The exit code for a run. A run that failed only because of denials is denied.
    pub(crate) fn of_report(report: &RunReport) -> Exit {
        match report.status {
            _ if report.journal_error.is_some() => Exit::Failures,
            RunStatus::Ok => Exit::Done,
            RunStatus::Cancelled => Exit::Cancelled,
            RunStatus::Declined => Exit::Denied,
            RunStatus::Failed => {
                let mut failed =
                    report.steps.iter().filter(|step| step.status == StepStatus::Failed).peekable();
                let denied = failed.peek().is_some()
                    && failed.all(|step| {
                        let kind = step.error.as_ref().and_then(|error| error.kind);
                        kind.is_some_and(|kind| Exit::of_failure(kind) == Exit::Denied)
                    });
                if denied { Exit::Denied } else { Exit::Failures }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use envelope::Failure;
    use expect_test::expect;

    use super::Exit;

    #[test]
    fn every_failure_has_its_exit_code() {
        let mut table = String::new();
        for failure in Failure::ALL {
            writeln!(table, "{failure} {}", Exit::of_failure(failure).code()).unwrap();
        }
        expect![[r"
            unknown_tool 2
            blocked_tool 3
            schema_not_loaded 1
            schema_validation_failed 2
            invalid_arguments 2
            setup_required 1
            sandbox_violation 3
            input_mutation_failed 1
            hook_blocked 3
            hook_failed 1
            permission_denied 3
            approval_rejected 3
            policy_blocked 3
            canceled 130
            sibling_canceled 1
            not_found 1
            conflict 1
            precondition_failed 1
            execution_failed 1
            timeout 1
            dependency_unavailable 1
            result_mapping_failed 1
            post_hook_failed 1
            result_too_large 1
        "]]
        .assert_eq(&table);
    }
}
