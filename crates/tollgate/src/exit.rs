//! The exit codes of the command line, all of them.

use engine::RunReport;
use envelope::Failure;
use plan::{RunStatus, StepStatus};

/// How a command ended, as a script sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// It ran to its end, and something in it failed.
    Failures,
    BadInput,
    /// A rule, a mode, a hook or a person said no.
    Denied,
    /// A journal is not as it was written.
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

    /// For one call: the failure itself decides.
    pub(crate) fn of_failure(failure: Failure) -> Exit {
        match failure.exit_code() {
            2 => Exit::BadInput,
            3 => Exit::Denied,
            130 => Exit::Cancelled,
            _ => Exit::Failures,
        }
    }

    /// For a run: a run that failed only because it was denied is a denial, not a breakdown.
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
