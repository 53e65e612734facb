//! An approver and hooks that answer as scripted.

use std::sync::Mutex;
use std::time::Duration;

use engine::{
    AfterCall, AfterReply, ApprovalDecision, ApprovalRequest, Approver, BeforeCall, BeforeReply,
    ConfirmAnswer, ConfirmRequest, Hook, HookError, HookWhen, UncertainCall, UncertainDecision,
};
use envelope::{ApprovalChannel, ToolName};
use serde_json::Value;
use toolkit::BoxFuture;

/// Answers every question the same way and remembers what was asked.
pub struct ScriptedApprover {
    confirm: fn() -> ConfirmAnswer,
    approve: fn() -> ApprovalDecision,
    settle: fn() -> UncertainDecision,
    answers: bool,
    pub questions: Mutex<Vec<String>>,
}

impl ScriptedApprover {
    pub fn new(confirm: fn() -> ConfirmAnswer, approve: fn() -> ApprovalDecision) -> ScriptedApprover {
        let settle = || UncertainDecision::Leave;
        ScriptedApprover { confirm, approve, settle, answers: true, questions: Mutex::default() }
    }

    pub fn nobody() -> ScriptedApprover {
        ScriptedApprover::new(
            || ConfirmAnswer::Unavailable { why: "a test".to_owned() },
            || ApprovalDecision::Unavailable { why: "a test".to_owned(), hint: None },
        )
    }

    pub fn yes() -> ScriptedApprover {
        ScriptedApprover::new(
            || ConfirmAnswer::Approved { channel: ApprovalChannel::Embedder },
            || ApprovalDecision::ApproveOnce { channel: ApprovalChannel::Embedder },
        )
    }

    pub fn no() -> ScriptedApprover {
        ScriptedApprover::new(
            || ConfirmAnswer::Declined { reason: "not today".to_owned() },
            || ApprovalDecision::Reject { reason: "not today".to_owned() },
        )
    }

    /// Is asked about a call and never answers.
    pub fn silent() -> ScriptedApprover {
        ScriptedApprover { answers: false, ..ScriptedApprover::nobody() }
    }

    pub fn asked(&self) -> Vec<String> {
        self.questions.lock().unwrap().clone()
    }

    fn note(&self, question: String) {
        self.questions.lock().unwrap().push(question);
    }
}

impl Approver for ScriptedApprover {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        self.note(request.text.clone());
        Box::pin(std::future::ready((self.confirm)()))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.note(format!("{}: {} because {}", request.tool, request.preview, request.why));
        if !self.answers {
            return Box::pin(std::future::pending());
        }
        Box::pin(std::future::ready((self.approve)()))
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        self.note(format!("{}: uncertain because {}", uncertain.tool, uncertain.why));
        Box::pin(std::future::ready((self.settle)()))
    }
}

type Before = Box<dyn Fn(&Value) -> Result<BeforeReply, HookError> + Send + Sync>;
type After = Box<dyn Fn(&Value) -> Result<AfterReply, HookError> + Send + Sync>;

/// A hook made of two closures.
pub struct Hooked {
    name: &'static str,
    before: Before,
    after: After,
    late: bool,
}

impl Hooked {
    pub fn before(
        name: &'static str,
        before: impl Fn(&Value) -> Result<BeforeReply, HookError> + Send + Sync + 'static,
    ) -> Hooked {
        Hooked { name, before: Box::new(before), after: Box::new(|_| Ok(AfterReply::default())), late: false }
    }

    pub fn after(
        name: &'static str,
        after: impl Fn(&Value) -> Result<AfterReply, HookError> + Send + Sync + 'static,
    ) -> Hooked {
        Hooked { name, before: Box::new(|_| Ok(BeforeReply::default())), after: Box::new(after), late: false }
    }

    /// Never answers.
    pub fn late(name: &'static str) -> Hooked {
        Hooked { late: true, ..Hooked::before(name, |_| Ok(BeforeReply::default())) }
    }
}

impl Hook for Hooked {
    fn name(&self) -> &str {
        self.name
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn when(&self) -> HookWhen {
        HookWhen::Both
    }

    fn watches(&self, _tool: &ToolName) -> bool {
        true
    }

    fn before<'a>(&'a self, call: &'a BeforeCall<'a>) -> BoxFuture<'a, Result<BeforeReply, HookError>> {
        if self.late {
            return Box::pin(std::future::pending());
        }
        Box::pin(async move { (self.before)(call.input) })
    }

    fn after<'a>(&'a self, call: &'a AfterCall<'a>) -> BoxFuture<'a, Result<AfterReply, HookError>> {
        Box::pin(async move { (self.after)(call.output) })
    }
}
