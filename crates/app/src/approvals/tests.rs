//! Tests of the approval broker: valid answers, and the calls that they apply to.

mod forged;
mod kinds;
mod late;
mod many;
mod owners;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::approvals::FrontEnd;
use engine::{ApprovalDecision, ApprovalRequest, Approver, ManualClock, RememberScope};
use envelope::{ApprovalChannel, CallId, ClientId, Risk, RunId, StepId, Timestamp, ToolName};
use serde_json::{Value, json};
use tokio::join;

use super::ApprovalBroker;
use crate::approval_queue::{
    ANSWER_TIMEOUT, ApprovalAnswer, ApprovalQuestion, QuestionFolder, QuestionReply,
};

/// A broker with a folder of its own, and the user who answers.
struct BrokerFixture {
    home: tempfile::TempDir,
    clock: Arc<ManualClock>,
    broker: Arc<ApprovalBroker>,
    /// The approver of the client `default`.
    approver: Arc<dyn Approver>,
    folder: QuestionFolder,
}

impl BrokerFixture {
    fn new() -> BrokerFixture {
        BrokerFixture::with(ANSWER_TIMEOUT, |broker| broker)
    }

    fn with(wait: Duration, change: impl FnOnce(ApprovalBroker) -> ApprovalBroker) -> BrokerFixture {
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap()));
        let path = home.path().join("state/approvals");
        let broker =
            ApprovalBroker::new(path.clone(), "/notes".as_ref(), "a client".to_owned(), wait, clock.clone());
        let broker = Arc::new(change(broker));
        let approver = (broker.approvers())(&ClientId::default_token(), FrontEnd::Mcp);
        BrokerFixture { home, clock, broker, approver, folder: QuestionFolder::new(path) }
    }

    /// The approver of another client.
    fn client(&self, id: &str) -> Arc<dyn Approver> {
        (self.broker.approvers())(&ClientId::parse(id).unwrap(), FrontEnd::Mcp)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("state/approvals").join(name)
    }

    fn now(&self) -> Timestamp {
        engine::Clock::now(&*self.clock)
    }

    fn waiting(&self) -> Vec<ApprovalQuestion> {
        self.folder.waiting(self.now()).unwrap()
    }

    #[track_caller]
    fn only(&self) -> ApprovalQuestion {
        let mut waiting = self.waiting();
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        waiting.remove(0)
    }

    fn say(&self, question: &ApprovalQuestion, word: ApprovalAnswer) {
        self.folder.add_answer(&question.id, &QuestionReply::to(question, word)).unwrap();
    }

    /// Returns how a call ends without an answer while it waits.
    async fn unanswered(&self, request: &ApprovalRequest) -> String {
        in_words(self.approver.approve(request).await)
    }

    /// Returns how a call ends with this answer while it waits.
    async fn answered(&self, request: &ApprovalRequest, word: ApprovalAnswer) -> String {
        let (verdict, ()) =
            join!(biased; self.approver.approve(request), async { self.say(&self.only(), word) });
        in_words(verdict)
    }

    /// Returns every file in the folder.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn request(input: Value) -> ApprovalRequest {
    ApprovalRequest {
        run_id: RunId::parse("01890000-0000-7000-8000-000000000001").unwrap(),
        step_id: StepId::parse("call").unwrap(),
        call_id: CallId::parse("01890000-0000-7000-8000-000000000002").unwrap(),
        tool: ToolName::parse("vault.createFile").unwrap(),
        risk: Risk::Writes,
        text: "Creates 1 note: a.md.".to_owned(),
        differs: false,
        covered_by_plan: true,
        preview: "Create a.md".to_owned(),
        exact: envelope::canonical_hash(&input),
        input,
        why: "the mode asks about writes".to_owned(),
        remembering: RememberScope::Reasons,
        client: None,
        policy: envelope::Hash::of(b"policy"),
    }
}

fn note() -> ApprovalRequest {
    request(json!({ "path": "a.md", "content": "x" }))
}

fn in_words(verdict: ApprovalDecision) -> String {
    let by = |channel: ApprovalChannel| json!(channel).as_str().unwrap().to_owned();
    match verdict {
        ApprovalDecision::ApproveOnce { channel } => format!("once ({})", by(channel)),
        ApprovalDecision::ApproveAndRemember { channel } => format!("remember ({})", by(channel)),
        ApprovalDecision::Reject { reason } => format!("no: {reason}"),
        ApprovalDecision::Unavailable { why, .. } => format!("unavailable: {why}"),
    }
}
