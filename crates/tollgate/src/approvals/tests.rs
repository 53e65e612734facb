//! What counts as an answer, and for what.

mod forged;
mod kinds;
mod late;
mod many;
mod owners;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::{ApprovalRequest, Approver, ManualClock, Remembering, Verdict};
use envelope::{CallId, Channel, ClientId, Risk, RunId, StepId, Timestamp, ToolName};
use gateway::FrontEnd;
use serde_json::{Value, json};
use tokio::join;

use super::Broker;
use crate::desk::{Folder, Question, Reply, WAIT, Word};

/// A desk in a folder of its own, with the person who sits at it.
struct Office {
    home: tempfile::TempDir,
    clock: Arc<ManualClock>,
    broker: Arc<Broker>,
    /// The approver of the client `default`.
    desk: Arc<dyn Approver>,
    folder: Folder,
}

impl Office {
    fn new() -> Office {
        Office::with(WAIT, |broker| broker)
    }

    fn with(wait: Duration, change: impl FnOnce(Broker) -> Broker) -> Office {
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap()));
        let path = home.path().join("state/approvals");
        let broker = Broker::new(path.clone(), "/notes".as_ref(), "a client".to_owned(), wait, clock.clone());
        let broker = Arc::new(change(broker));
        let desk = (broker.approvers())(&ClientId::default_token(), FrontEnd::Mcp);
        Office { home, clock, broker, desk, folder: Folder::new(path) }
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

    fn waiting(&self) -> Vec<Question> {
        self.folder.waiting(self.now()).unwrap()
    }

    #[track_caller]
    fn only(&self) -> Question {
        let mut waiting = self.waiting();
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        waiting.remove(0)
    }

    fn say(&self, question: &Question, word: Word) {
        self.folder.answer(&question.id, &Reply::to(question, word)).unwrap();
    }

    /// How a call ends that nobody answers while it waits.
    async fn unheard(&self, request: &ApprovalRequest) -> String {
        in_words(self.desk.approve(request).await)
    }

    /// How it ends when the person says this while it waits.
    async fn heard(&self, request: &ApprovalRequest, word: Word) -> String {
        let (verdict, ()) = join!(biased; self.desk.approve(request), async { self.say(&self.only(), word) });
        in_words(verdict)
    }

    /// Everything in the folder.
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
        remembering: Remembering::Reasons,
        client: None,
        policy: envelope::Hash::of(b"policy"),
    }
}

fn note() -> ApprovalRequest {
    request(json!({ "path": "a.md", "content": "x" }))
}

fn in_words(verdict: Verdict) -> String {
    let by = |channel: Channel| json!(channel).as_str().unwrap().to_owned();
    match verdict {
        Verdict::Once { channel } => format!("once ({})", by(channel)),
        Verdict::Remember { channel } => format!("remember ({})", by(channel)),
        Verdict::Reject { reason } => format!("no: {reason}"),
        Verdict::Nobody { why, .. } => format!("nobody: {why}"),
    }
}
