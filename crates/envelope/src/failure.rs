//! Every way a call can end without doing its work, and what follows from each.

use serde::{Deserialize, Serialize};

use crate::Status;

/// Why a call ended without a result. Every way to fail is a variant here; nothing else is.
///
/// The code, the status, whether a retry can help, the hint and the exit code are total functions of the
/// variant: adding one forces a choice in each of them. No other crate declares a status or a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No tool has that name or alias.
    UnknownTool,
    /// The tool exists, but this run may not see it.
    BlockedTool,
    /// The tool is known by name only; its schema has to be loaded before it can be called.
    SchemaNotLoaded,
    /// The arguments do not match the tool's input schema.
    SchemaValidationFailed,
    /// The arguments have the right shape, but a value in them cannot be used.
    InvalidArguments,
    /// The tool needs something that is not set up here.
    SetupRequired,
    /// The call reaches outside the vault or into a protected place.
    SandboxViolation,
    /// The copy of the input that hooks and people see could not be made.
    InputMutationFailed,
    /// A hook stopped the call.
    HookBlocked,
    /// A hook crashed, was late or answered nonsense; the call is not let through.
    HookFailed,
    /// A rule denies the call.
    PermissionDenied,
    /// The person said no.
    ApprovalRejected,
    /// The mode of this run does not let such calls through, and nobody can be asked.
    PolicyBlocked,
    /// The run was cancelled.
    Canceled,
    /// A sibling failed and the run's policy cancels the others.
    SiblingCanceled,
    /// What the call names does not exist.
    NotFound,
    /// What the call would change has changed, or something is already there.
    Conflict,
    /// The tool's own precondition does not hold.
    PreconditionFailed,
    /// The tool failed for a reason of its own.
    ExecutionFailed,
    /// The call did not end in its time.
    Timeout,
    /// Something the tool relies on does not answer right now.
    DependencyUnavailable,
    /// The tool's output is not what the tool declared.
    ResultMappingFailed,
    /// A hook after the call failed; what the call did stays done.
    PostHookFailed,
    /// The result is larger than the policy lets a record be.
    ResultTooLarge,
}

impl Failure {
    /// Every variant, in the order of the pipeline.
    pub const ALL: [Failure; 24] = [
        Failure::UnknownTool,
        Failure::BlockedTool,
        Failure::SchemaNotLoaded,
        Failure::SchemaValidationFailed,
        Failure::InvalidArguments,
        Failure::SetupRequired,
        Failure::SandboxViolation,
        Failure::InputMutationFailed,
        Failure::HookBlocked,
        Failure::HookFailed,
        Failure::PermissionDenied,
        Failure::ApprovalRejected,
        Failure::PolicyBlocked,
        Failure::Canceled,
        Failure::SiblingCanceled,
        Failure::NotFound,
        Failure::Conflict,
        Failure::PreconditionFailed,
        Failure::ExecutionFailed,
        Failure::Timeout,
        Failure::DependencyUnavailable,
        Failure::ResultMappingFailed,
        Failure::PostHookFailed,
        Failure::ResultTooLarge,
    ];

    /// The stable name, as in `error.kind`.
    pub const fn name(self) -> &'static str {
        match self {
            Failure::UnknownTool => "unknown_tool",
            Failure::BlockedTool => "blocked_tool",
            Failure::SchemaNotLoaded => "schema_not_loaded",
            Failure::SchemaValidationFailed => "schema_validation_failed",
            Failure::InvalidArguments => "invalid_arguments",
            Failure::SetupRequired => "setup_required",
            Failure::SandboxViolation => "sandbox_violation",
            Failure::InputMutationFailed => "input_mutation_failed",
            Failure::HookBlocked => "hook_blocked",
            Failure::HookFailed => "hook_failed",
            Failure::PermissionDenied => "permission_denied",
            Failure::ApprovalRejected => "approval_rejected",
            Failure::PolicyBlocked => "policy_blocked",
            Failure::Canceled => "canceled",
            Failure::SiblingCanceled => "sibling_canceled",
            Failure::NotFound => "not_found",
            Failure::Conflict => "conflict",
            Failure::PreconditionFailed => "precondition_failed",
            Failure::ExecutionFailed => "execution_failed",
            Failure::Timeout => "timeout",
            Failure::DependencyUnavailable => "dependency_unavailable",
            Failure::ResultMappingFailed => "result_mapping_failed",
            Failure::PostHookFailed => "post_hook_failed",
            Failure::ResultTooLarge => "result_too_large",
        }
    }

    /// The code in `error.code`: the eight that every door and every client knows.
    pub const fn code(self) -> &'static str {
        match self {
            Failure::UnknownTool | Failure::NotFound => "NOT_FOUND",
            Failure::BlockedTool
            | Failure::SandboxViolation
            | Failure::HookBlocked
            | Failure::PermissionDenied
            | Failure::ApprovalRejected
            | Failure::PolicyBlocked => "POLICY_DENIED",
            Failure::SchemaValidationFailed | Failure::InvalidArguments => "VALIDATION_ERROR",
            Failure::SchemaNotLoaded | Failure::SetupRequired | Failure::PreconditionFailed => {
                "PRECONDITION_FAILED"
            }
            Failure::Conflict => "CONFLICT",
            Failure::Timeout => "TIMEOUT",
            Failure::Canceled | Failure::SiblingCanceled => "CANCELLED",
            Failure::InputMutationFailed
            | Failure::HookFailed
            | Failure::ExecutionFailed
            | Failure::DependencyUnavailable
            | Failure::ResultMappingFailed
            | Failure::PostHookFailed
            | Failure::ResultTooLarge => "INTERNAL_ERROR",
        }
    }

    /// The status of the result that reports it.
    pub const fn status(self) -> Status {
        match self {
            Failure::Timeout => Status::Timeout,
            Failure::Canceled | Failure::SiblingCanceled => Status::Cancelled,
            Failure::UnknownTool
            | Failure::BlockedTool
            | Failure::SchemaNotLoaded
            | Failure::SchemaValidationFailed
            | Failure::InvalidArguments
            | Failure::SetupRequired
            | Failure::SandboxViolation
            | Failure::InputMutationFailed
            | Failure::HookBlocked
            | Failure::HookFailed
            | Failure::PermissionDenied
            | Failure::ApprovalRejected
            | Failure::PolicyBlocked
            | Failure::NotFound
            | Failure::Conflict
            | Failure::PreconditionFailed
            | Failure::ExecutionFailed
            | Failure::DependencyUnavailable
            | Failure::ResultMappingFailed
            | Failure::PostHookFailed
            | Failure::ResultTooLarge => Status::Error,
        }
    }

    /// Whether the same call may succeed if it is tried again, as long as it cannot have had an effect.
    pub const fn retryable(self) -> bool {
        match self {
            Failure::Timeout | Failure::DependencyUnavailable | Failure::SiblingCanceled => true,
            Failure::UnknownTool
            | Failure::BlockedTool
            | Failure::SchemaNotLoaded
            | Failure::SchemaValidationFailed
            | Failure::InvalidArguments
            | Failure::SetupRequired
            | Failure::SandboxViolation
            | Failure::InputMutationFailed
            | Failure::HookBlocked
            | Failure::HookFailed
            | Failure::PermissionDenied
            | Failure::ApprovalRejected
            | Failure::PolicyBlocked
            | Failure::Canceled
            | Failure::NotFound
            | Failure::Conflict
            | Failure::PreconditionFailed
            | Failure::ExecutionFailed
            | Failure::ResultMappingFailed
            | Failure::PostHookFailed
            | Failure::ResultTooLarge => false,
        }
    }

    /// What to do about it, when the place that failed knows nothing more precise.
    pub const fn recovery_hint(self) -> &'static str {
        match self {
            Failure::UnknownTool => "call one of the tools that this run lists",
            Failure::BlockedTool => "use another tool, or ask the person to allow this one",
            Failure::SchemaNotLoaded => "load the tool's schema first, then call it again",
            Failure::SchemaValidationFailed => "send arguments that match the tool's input schema",
            Failure::InvalidArguments => "change the value that the message names",
            Failure::SetupRequired => "run `tollgate doctor` to see what is missing",
            Failure::SandboxViolation => {
                "use a path inside the vault, outside .obsidian, .git, .trash and .tollgate"
            }
            Failure::InputMutationFailed => {
                "send the arguments again without the field that the message names"
            }
            Failure::HookBlocked => "read the hook's reason; do not send the same call again",
            Failure::HookFailed => "ask the person to mend or remove the hook that the message names",
            Failure::PermissionDenied => "do not send the same call again; ask the person to change the rule",
            Failure::ApprovalRejected => "do not send the same call again unless the person asks for it",
            Failure::PolicyBlocked => "ask the person to run with another mode, or to say yes with `--yes`",
            Failure::Canceled => "the run was cancelled; start a new one if the work is still wanted",
            Failure::SiblingCanceled => "mend the sibling that failed, then run this again",
            Failure::NotFound => "list what exists and use one of those names",
            Failure::Conflict => "read the current state, then decide again",
            Failure::PreconditionFailed => "bring about what the message names, then try again",
            Failure::ExecutionFailed => "read the message; a retry without a change fails again",
            Failure::Timeout => "ask for less in one call, or allow more time with `timeoutMs`",
            Failure::DependencyUnavailable => "try again in a moment",
            Failure::ResultMappingFailed => {
                "the tool broke its own declaration; its effects are listed and stay done"
            }
            Failure::PostHookFailed => "the call's effects are listed and stay done; mend the hook",
            Failure::ResultTooLarge => "ask for less in one call, for example with a range or a limit",
        }
    }

    /// The exit code of the command line when this failure decides how the command ends.
    pub const fn exit_code(self) -> u8 {
        match self {
            Failure::UnknownTool | Failure::SchemaValidationFailed | Failure::InvalidArguments => 2,
            Failure::BlockedTool
            | Failure::SandboxViolation
            | Failure::HookBlocked
            | Failure::PermissionDenied
            | Failure::ApprovalRejected
            | Failure::PolicyBlocked => 3,
            Failure::Canceled => 130,
            Failure::SchemaNotLoaded
            | Failure::SetupRequired
            | Failure::InputMutationFailed
            | Failure::HookFailed
            | Failure::SiblingCanceled
            | Failure::NotFound
            | Failure::Conflict
            | Failure::PreconditionFailed
            | Failure::ExecutionFailed
            | Failure::Timeout
            | Failure::DependencyUnavailable
            | Failure::ResultMappingFailed
            | Failure::PostHookFailed
            | Failure::ResultTooLarge => 1,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;

    use super::Failure;

    #[test]
    fn every_failure_has_a_code_a_status_and_a_way_out() {
        let mut table = String::new();
        for failure in Failure::ALL {
            assert_eq!(serde_json::to_value(failure).unwrap(), failure.name());
            assert!(!failure.recovery_hint().is_empty());
            writeln!(
                table,
                "{failure} {} {:?} retryable={} exit={}",
                failure.code(),
                failure.status(),
                failure.retryable(),
                failure.exit_code()
            )
            .unwrap();
        }
        expect![[r"
            unknown_tool NOT_FOUND Error retryable=false exit=2
            blocked_tool POLICY_DENIED Error retryable=false exit=3
            schema_not_loaded PRECONDITION_FAILED Error retryable=false exit=1
            schema_validation_failed VALIDATION_ERROR Error retryable=false exit=2
            invalid_arguments VALIDATION_ERROR Error retryable=false exit=2
            setup_required PRECONDITION_FAILED Error retryable=false exit=1
            sandbox_violation POLICY_DENIED Error retryable=false exit=3
            input_mutation_failed INTERNAL_ERROR Error retryable=false exit=1
            hook_blocked POLICY_DENIED Error retryable=false exit=3
            hook_failed INTERNAL_ERROR Error retryable=false exit=1
            permission_denied POLICY_DENIED Error retryable=false exit=3
            approval_rejected POLICY_DENIED Error retryable=false exit=3
            policy_blocked POLICY_DENIED Error retryable=false exit=3
            canceled CANCELLED Cancelled retryable=false exit=130
            sibling_canceled CANCELLED Cancelled retryable=true exit=1
            not_found NOT_FOUND Error retryable=false exit=1
            conflict CONFLICT Error retryable=false exit=1
            precondition_failed PRECONDITION_FAILED Error retryable=false exit=1
            execution_failed INTERNAL_ERROR Error retryable=false exit=1
            timeout TIMEOUT Timeout retryable=true exit=1
            dependency_unavailable INTERNAL_ERROR Error retryable=true exit=1
            result_mapping_failed INTERNAL_ERROR Error retryable=false exit=1
            post_hook_failed INTERNAL_ERROR Error retryable=false exit=1
            result_too_large INTERNAL_ERROR Error retryable=false exit=1
        "]]
        .assert_eq(&table);
    }
}
