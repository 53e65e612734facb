//! Runs the calls of Tollgate's own tools.

use std::sync::Arc;

use envelope::SessionId;
use serde_json::{Map, Value, json};

use super::toolbox::{ServerCall, ToolboxRun};
use super::turn_reader::ToolRequest;
use super::writer::{AnswerWriter, EndReason};
use crate::error::ApiError;
use crate::item::{ConversationItem, ItemContent, ItemRole};

/// The receipt of a call that was under way when the answer ended, for later answers.
const CUT_OFF_RECEIPT: &str =
    "cancelled before it ended; check whether it had its effect before you do it again";

/// Changes that the text about the limit of turns lists; more are counted.
const LISTED_CHANGES: usize = 20;

impl AnswerWriter<'_> {
    /// Runs one call and adds it to the conversation, with its receipt.
    ///
    /// `denied` is the name of a call of the same turn that was denied before. This one is not made then: the model decided on
    /// it in the belief that the other one would happen. Returns the name of the denied call, if there is one now.
    pub(super) async fn run_server_call(
        &mut self,
        call: ToolRequest,
        denied: Option<String>,
    ) -> Result<Option<String>, EndReason> {
        self.totals.server_calls += 1;
        let id = format!("sc_{}_{:03}", self.unique, self.totals.server_calls);
        let ToolRequest { name, arguments } = call;
        let called = format!("{name} {arguments}");
        let parsed: Map<String, Value> = serde_json::from_str(&arguments).unwrap_or_default();
        let item = ConversationItem::FunctionCall {
            id: Some(id.clone()),
            call_id: id.clone(),
            name: name.clone(),
            namespace: None,
            arguments,
        };
        let mut denied = denied;
        let receipt = if let Some(first) = &denied {
            format!(
                "not run: `{first}`, which came before it in this turn, was denied; call it again if it makes sense alone"
            )
        } else if self.request.max_tool_calls.is_some_and(|most| self.totals.server_calls > most) {
            "not run: the limit of tool calls for this answer is reached; answer with what you know"
                .to_owned()
        } else {
            let run = self.open_run()?;
            self.send_extension("tool.started", json!({ "id": id, "name": name, "run": run.run_id() }))
                .await?;
            let running = run.call(ServerCall { name: name.clone(), arguments: parsed });
            let result = match self.wait_for(running).await {
                Ok(result) => result,
                Err(cut) => {
                    self.add_call(item, id, CUT_OFF_RECEIPT.to_owned());
                    return Err(cut);
                }
            };
            let finished =
                json!({ "id": id, "name": name, "status": result.status, "receipt": result.receipt });
            self.send_extension("tool.finished", finished).await?;
            if result.is_denied {
                denied = Some(name);
            }
            if result.has_changes {
                self.changes.push(result.receipt.lines().next().unwrap_or_default().to_owned());
            }
            if let Some(outcome) = result.outcome {
                self.call_history.add(self.totals.turns, &id, &called, &result.receipt, *outcome);
            }
            result.receipt
        };
        self.add_call(item, id, receipt);
        Ok(denied)
    }

    /// Returns the last text of an answer that reached the limit of turns: what was changed, and how to go on.
    pub(super) fn turn_limit_text(&self, turns: u32) -> String {
        let mut text = format!("Stopped after {turns} turns with tools, before the task was finished.");
        if self.changes.is_empty() {
            text += " Nothing was changed.";
        } else {
            text += " Calls that changed something, or ran a command or a tool of another server:";
            for change in self.changes.iter().take(LISTED_CHANGES) {
                text += &format!("\n- {change}");
            }
            if self.changes.len() > LISTED_CHANGES {
                text += &format!("\n- and {} more", self.changes.len() - LISTED_CHANGES);
            }
        }
        text += match self.request.store {
            true => "\nTo go on, continue this response with `previous_response_id`.",
            false => "\nTo go on, send the conversation again; this response is not stored.",
        };
        if let Some(session) = self.session.as_ref().filter(|_| !self.changes.is_empty()) {
            text += &format!(" To take it back: `tollgate undo --session {session}`.");
        }
        text
    }

    /// Adds a call and its receipt to the conversation.
    fn add_call(&mut self, call: ConversationItem, call_id: String, receipt: String) {
        self.conversation.add(call);
        self.conversation.add(ConversationItem::FunctionCallOutput {
            id: None,
            call_id,
            output: vec![ItemContent::Text(receipt)],
        });
    }

    fn open_run(&mut self) -> Result<Arc<dyn ToolboxRun>, EndReason> {
        if let Some(run) = &self.run {
            return Ok(run.clone());
        }
        let toolbox = self.responder.parts.toolbox.as_ref().ok_or_else(|| {
            ApiError::server(500, "server_tools_off", "this server does not run tools of its own")
        })?;
        let (model, client) = (&self.request.model, self.request.client.as_ref());
        if self.session.is_none() {
            self.session = session_id(&self.unique);
        }
        let goal = run_goal(self.conversation.items());
        let run = toolbox.open(&goal, model, client, self.session.as_ref())?;
        self.run = Some(run.clone());
        Ok(run)
    }

    async fn send_extension(&mut self, name: &str, payload: Value) -> Result<(), EndReason> {
        if let Value::Object(payload) = payload {
            self.emitter.extension(name, payload);
        }
        Ok(self.flush().await?)
    }

    /// Waits for a future, and keeps the client's connection alive meanwhile.
    pub(super) async fn wait_for<T>(&mut self, work: impl Future<Output = T>) -> Result<T, EndReason> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                cause = self.stop.stopped() => return Err(cause.into()),
                () = self.deadlines.due() => {
                    // The work has a time limit of its own.
                    self.deadlines.note_event();
                    self.check_deadlines().await?;
                }
            }
        }
    }
}

/// Returns the goal of a run for the list of runs: the beginning of the user's last message.
fn run_goal(conversation: &[ConversationItem]) -> String {
    const LONGEST: usize = 120;
    let text = conversation.iter().rev().find_map(|item| match item {
        ConversationItem::Message { role: ItemRole::User, content, .. } => {
            content.iter().find_map(|part| match part {
                ItemContent::Text(text) => Some(text.as_str()),
                ItemContent::Image { .. } | ItemContent::Refusal(_) => None,
            })
        }
        ConversationItem::Message { .. }
        | ConversationItem::FunctionCall { .. }
        | ConversationItem::FunctionCallOutput { .. }
        | ConversationItem::CustomToolCall { .. }
        | ConversationItem::CustomToolCallOutput { .. }
        | ConversationItem::Reasoning { .. }
        | ConversationItem::Compaction { .. }
        | ConversationItem::Reference { .. } => None,
    });
    let text = text.unwrap_or("a conversation").split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(LONGEST).collect()
}

/// Returns the session of an answer. It tells nothing of the id of the response, which clients can continue.
fn session_id(unique: &str) -> Option<SessionId> {
    let hash: String = envelope::Hash::of(unique.as_bytes())
        .to_string()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    SessionId::parse(&format!("s{}", hash.get(2..34)?)).ok()
}
