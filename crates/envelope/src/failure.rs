//! Every way a call can end without doing its work, with code, status and hint for each.

use serde::{Deserialize, Serialize};

use crate::Status;

/// Why a call ended without a result. Every way to fail is a variant here; nothing else is.
///
/// The code, the status, the retry rule and the hint are total functions of the variant: adding a variant forces
/// a choice in each of them. No other crate declares a status or a code.
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
    /// The call reaches outside the vault or into a protected folder.
    SandboxViolation,
    /// The copy of the input for hooks and people could not be created.
    InputMutationFailed,
    /// A hook stopped the call.
    HookBlocked,
    /// A hook crashed, timed out or returned an invalid answer, so the call is refused.
    HookFailed,
    /// A rule denies the call.
    PermissionDenied,
    /// The user declined the call.
    ApprovalRejected,
    /// The mode of this run does not allow such calls, or no one is available to approve them.
    PolicyBlocked,
    /// The run was cancelled.
    Canceled,
    /// A sibling failed and the run's policy cancels the others.
    SiblingCanceled,
    /// The target of the call does not exist.
    NotFound,
    /// The target of the call has changed, or it already exists.
    Conflict,
    /// A precondition of the tool is not met.
    PreconditionFailed,
    /// The tool failed for a reason of its own.
    ExecutionFailed,
    /// The call exceeded its time limit.
    Timeout,
    /// A dependency of the tool does not respond at the moment.
    DependencyUnavailable,
    /// The tool's output does not match its declaration.
    ResultMappingFailed,
    /// A hook after the call failed; the effects of the call remain.
    PostHookFailed,
    /// The result is larger than the policy allows for a record.
    ResultTooLarge,
}

impl Failure {
    /// All variants, in pipeline order.
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

    /// Returns the stable name, as in `error.kind`.
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

    /// Returns the code for `error.code`, one of eight that every interface and every client knows.
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

    /// Returns the status of the result that reports the failure.
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

    /// Whether a retry of the same call may succeed, provided that it cannot have had an effect.
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

    /// Returns a hint how to recover, for failures without a more specific hint.
    pub const fn recovery_hint(self) -> &'static str {
        match self {
            Failure::UnknownTool => "call one of the tools that this run lists",
            Failure::BlockedTool => "use another tool, or ask the user to allow this one",
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
            Failure::HookFailed => "ask the user to fix or remove the hook that the message names",
            Failure::PermissionDenied => "do not send the same call again; ask the user to change the rule",
            Failure::ApprovalRejected => "do not send the same call again unless the user asks for it",
            Failure::PolicyBlocked => {
                "ask the user to approve such calls, at a terminal or with `--yes`; in the mode `read-only`, to set another mode"
            }
            Failure::Canceled => "the run was cancelled; start a new one if the work is still wanted",
            Failure::SiblingCanceled => "fix the sibling that failed, then run this again",
            Failure::NotFound => "list what exists and use one of those names",
            Failure::Conflict => "read the current state, then decide again",
            Failure::PreconditionFailed => "bring about what the message names, then try again",
            Failure::ExecutionFailed => "read the message; a retry without a change fails again",
            Failure::Timeout => "ask for less in one call, or allow more time with `timeoutMs`",
            Failure::DependencyUnavailable => "try again in a moment",
            Failure::ResultMappingFailed => {
                "the tool violated its own declaration; its effects are listed and stay done"
            }
            Failure::PostHookFailed => "the call's effects are listed and stay done; fix the hook",
            Failure::ResultTooLarge => "ask for less in one call, for example with a range or a limit",
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

    // Conformance: envelope 4.2
    //     The status is one of ok, error, timeout, cancelled, skipped; `ok` says the same as a boolean.
    //     In: envelope/result.rs, envelope/failure.rs
    // Conformance: envelope 4.5
    //     A failure has an error with code, message, optional details, and whether a retry can help.
    //     In: envelope/fault.rs
    // Conformance: envelope 7.1
    //     The eight codes are used as they are listed; every failure of ours has exactly one of them.
    //     In: envelope/failure.rs
    #[test]
    fn every_failure_has_a_code_a_status_and_a_way_out() {
        let mut table = String::new();
        for failure in Failure::ALL {
            assert_eq!(serde_json::to_value(failure).unwrap(), failure.name());
            assert!(!failure.recovery_hint().is_empty());
            writeln!(
                table,
                "{failure} {} {:?} retryable={}",
                failure.code(),
                failure.status(),
                failure.retryable()
            )
            .unwrap();
        }
        expect![[r"
            unknown_tool NOT_FOUND Error retryable=false
            blocked_tool POLICY_DENIED Error retryable=false
            schema_not_loaded PRECONDITION_FAILED Error retryable=false
            schema_validation_failed VALIDATION_ERROR Error retryable=false
            invalid_arguments VALIDATION_ERROR Error retryable=false
            setup_required PRECONDITION_FAILED Error retryable=false
            sandbox_violation POLICY_DENIED Error retryable=false
            input_mutation_failed INTERNAL_ERROR Error retryable=false
            hook_blocked POLICY_DENIED Error retryable=false
            hook_failed INTERNAL_ERROR Error retryable=false
            permission_denied POLICY_DENIED Error retryable=false
            approval_rejected POLICY_DENIED Error retryable=false
            policy_blocked POLICY_DENIED Error retryable=false
            canceled CANCELLED Cancelled retryable=false
            sibling_canceled CANCELLED Cancelled retryable=true
            not_found NOT_FOUND Error retryable=false
            conflict CONFLICT Error retryable=false
            precondition_failed PRECONDITION_FAILED Error retryable=false
            execution_failed INTERNAL_ERROR Error retryable=false
            timeout TIMEOUT Timeout retryable=true
            dependency_unavailable INTERNAL_ERROR Error retryable=true
            result_mapping_failed INTERNAL_ERROR Error retryable=false
            post_hook_failed INTERNAL_ERROR Error retryable=false
            result_too_large INTERNAL_ERROR Error retryable=false
        "]]
        .assert_eq(&table);
    }
}
