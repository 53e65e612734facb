//! Runs plans and single calls: every call passes the same twelve phases and ends in exactly one recorded result.
//!
//! Entry points: [`Engine::run_plan`] and [`Engine::resume`] for plans, and [`Engine::open_session`] for the single
//! calls of a client. Every front end makes its calls through one of these. [`driver::PlanExecution`] is for drivers that
//! execute plans by other means. This crate knows no tool and no wire format: tools come as a [`toolkit::Surface`], the
//! user as an [`Approver`], time and ids as [`Clock`] and [`IdSource`].

pub mod driver;

mod approval;
mod approval_source;
mod artifacts;
mod call;
mod call_inputs;
mod calls_under_way;
mod clock;
mod engine;
mod forecast;
mod hooks;
mod ids;
mod object_store;
mod observer;
mod panic_guard;
mod phase_trace;
mod phases;
mod policy;
mod question;
mod receipt_limits;
mod rules;
mod run_context;
mod run_report;
mod run_scope;
mod scheduler;
mod session;
mod timeout;
mod uncertain_call;
mod undo;

pub use approval::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, RememberScope, UncertainCall,
    UncertainDecision,
};
pub use approval_source::{ApprovalPolicy, ApprovalSource};
pub use call::CallRequest;
pub use clock::{Clock, ManualClock, SystemClock};
pub use driver::{ResumeError, ResumeRequest, RunCancel, RunError, RunPlace, RunRequest, continuation};
pub use engine::{Engine, EngineParts};
pub use forecast::{Forecast, ForecastCall, ForecastOutcome, Forecaster, Purpose};
pub use hooks::{
    AfterCall, AfterReply, BeforeCall, BeforeReply, CommandHook, Hook, HookDecision, HookError, HookWhen,
    PinnedFile,
};
pub use ids::{IdSource, SeededIds, SystemIds};
pub use observer::Observer;
pub use policy::{Mode, Policy, PolicyLimits};
pub use receipt_limits::ReceiptLimits;
pub use rules::{BadRule, Rule, RuleEffect};
pub use run_report::RunReport;
pub use run_scope::RunScope;
pub use session::{SessionRequest, SessionRun};
pub use undo::{CHANGES_A_CALL, IrreversibleCall, RunChanges, UndoHistory, inverse_changes, restore_plan};
