//! Follows the imagined run and keeps the little that a preview tells of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::{
    Answer, ApprovalRequest, Approver, ConfirmRequest, Observer, UncertainCall, UncertainVerdict, Verdict,
};
use envelope::{Channel, EventType, ExecutionEvent, StepId, ToolResult};
use serde_json::Value;
use toolkit::BoxFuture;

use crate::visible::{count, one_line, short};

/// Calls of one step that are told by name; a loop over a thousand notes must not fill the screen.
const TOLD: usize = 3;
const TOLD_CHARS: usize = 160;

/// Says yes to everything, since nothing happens, and remembers what was asked.
#[derive(Default)]
pub(super) struct Spectator {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// What the first calls of each step would do, in words.
    told: HashMap<StepId, Vec<String>>,
    /// Questions about the size of a loop.
    loops: Vec<String>,
    /// Reasons to ask about calls, and about how many.
    calls: BTreeMap<String, u64>,
    links: Links,
}

/// Links that moves of notes would rewrite.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Links {
    pub(super) links: u64,
    pub(super) notes: u64,
}

impl Spectator {
    pub(super) fn told(&self, step: &StepId) -> Vec<String> {
        self.seen().told.get(step).cloned().unwrap_or_default()
    }

    pub(super) fn links(&self) -> Links {
        self.seen().links
    }

    pub(super) fn questions(&self) -> Vec<String> {
        let seen = self.seen();
        let calls = seen.calls.iter().map(|(why, calls)| {
            format!("{} would need a yes of their own: {}", count(*calls, "call"), one_line(why))
        });
        seen.loops.iter().cloned().chain(calls).collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Spectator {
    fn event(&self, event: &ExecutionEvent) {
        let (EventType::StepStarted, Some(step)) = (event.event_type, &event.step_id) else { return };
        let mut seen = self.seen();
        let told = seen.told.entry(step.clone()).or_default();
        if told.len() < TOLD {
            told.push(short(&event.message, TOLD_CHARS));
        }
    }

    fn result(&self, result: &ToolResult) {
        let Some(data) = result.data.as_ref().filter(|data| data.get("dryRun") != Some(&Value::Bool(true)))
        else {
            return;
        };
        let number = |key: &str| data.get(key).and_then(Value::as_u64);
        if let Some(links) = number("linksUpdated").filter(|links| *links > 0) {
            let mut seen = self.seen();
            seen.links.links += links;
            seen.links.notes += number("filesUpdated").unwrap_or_default();
        }
    }
}

impl Approver for Spectator {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, Answer> {
        if !request.whole_plan {
            let question = request.text.lines().next().unwrap_or_default();
            self.seen().loops.push(one_line(question));
        }
        Box::pin(std::future::ready(Answer::Yes { channel: Channel::Embedder }))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        *self.seen().calls.entry(request.why.clone()).or_default() += 1;
        Box::pin(std::future::ready(Verdict::Once { channel: Channel::Embedder }))
    }

    fn settle<'a>(&'a self, _: &'a UncertainCall) -> BoxFuture<'a, UncertainVerdict> {
        Box::pin(std::future::ready(UncertainVerdict::Leave))
    }
}
