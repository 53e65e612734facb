//! The gate: every call passes the same twelve phases and ends in exactly one recorded result.
//!
//! Two doors, [`Engine::run_plan`] and [`Engine::run_call`]; every face uses them. This crate knows no
//! tool and no wire format: tools come as a [`toolkit::Surface`], people as an [`Approver`], time and ids
//! as [`Clock`] and [`Ids`].

mod approval;
mod artifacts;
mod call;
mod catch;
mod clock;
mod confirm;
mod context;
mod forecast;
mod hooks;
mod ids;
mod inputs;
mod limit;
mod observer;
mod order;
mod phases;
mod policy;
mod question;
mod receipts;
mod report;
mod resume;
mod rules;
mod run;
mod schedule;
mod session;
mod store;
mod trace;
mod undo;
mod voice;

pub use approval::{
    Answer, ApprovalRequest, Approver, ConfirmRequest, Remembering, UncertainCall, UncertainVerdict, Verdict,
};
pub use call::{CallRequest, Engine, EngineParts, RunScope};
pub use clock::{Clock, ManualClock, SystemClock};
pub use forecast::{Forecast, ForecastCall, ForecastOutcome, Forecaster, Purpose};
pub use hooks::{
    AfterCall, AfterReply, BeforeCall, BeforeReply, CommandHook, Hook, HookDecision, HookError, HookWhen,
    PinnedFile,
};
pub use ids::{Ids, SeededIds, SystemIds};
pub use observer::Observer;
pub use policy::{Limits, Mode, Policy};
pub use receipts::Receipts;
pub use report::RunReport;
pub use resume::{ResumeError, ResumeRequest};
pub use rules::{BadRule, Rule, RuleEffect};
pub use run::{RunCancel, RunError, RunPlace, RunRequest};
pub use session::{SessionCall, SessionRequest, SessionRun};
pub use undo::{CHANGES_A_CALL, Irreversible, RunChanges, UndoHistory, restore_plan, taking_back};
pub use voice::{Approvals, Voice};
