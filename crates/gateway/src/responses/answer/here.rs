//! Runs the calls of Tollgate's own tools, and waits for them without leaving the client in the dark.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::ear::MadeCall;
use super::toolbox::{ServerCall, ToolboxRun};
use super::write::{Cut, Writer};
use crate::responses::error::ApiError;
use crate::responses::item::{Content, Item, Role};

/// What a later answer is told of a call that was under way when this one ended.
const CUT_OFF: &str = "cancelled before it ended; look whether it had its effect before you do it again";

impl Writer<'_> {
    /// Runs one call and adds it, with what the model is told, to the conversation.
    pub(super) async fn run_here(&mut self, call: MadeCall) -> Result<(), Cut> {
        self.here_calls += 1;
        let id = format!("sc_{}_{:03}", self.unique, self.here_calls);
        let MadeCall { name, arguments } = call;
        let parsed: Map<String, Value> = serde_json::from_str(&arguments).unwrap_or_default();
        let item = Item::FunctionCall {
            id: Some(id.clone()),
            call_id: id.clone(),
            name: name.clone(),
            namespace: None,
            arguments,
        };
        let receipt = if self.request.max_tool_calls.is_some_and(|most| self.here_calls > most) {
            "not run: the most calls of this answer have been made; answer with what you know".to_owned()
        } else {
            let run = self.open_run()?;
            self.tell("tool.started", json!({ "id": id, "name": name, "run": run.run_id() })).await?;
            let running = run.call(ServerCall { name: name.clone(), arguments: parsed });
            let result = match self.waiting(running).await {
                Ok(result) => result,
                Err(cut) => {
                    self.note_call(item, id, CUT_OFF.to_owned());
                    return Err(cut);
                }
            };
            let told = json!({ "id": id, "name": name, "status": result.status, "receipt": result.receipt });
            self.tell("tool.finished", told).await?;
            result.receipt
        };
        self.note_call(item, id, receipt);
        Ok(())
    }

    /// A call, and what the model is told of it, as parts of the conversation.
    fn note_call(&mut self, call: Item, call_id: String, told: String) {
        self.trail.push(call);
        self.trail.push(Item::FunctionCallOutput { id: None, call_id, output: vec![Content::Text(told)] });
    }

    fn open_run(&mut self) -> Result<Arc<dyn ToolboxRun>, Cut> {
        if let Some(run) = &self.run {
            return Ok(run.clone());
        }
        let toolbox = self.responder.parts.toolbox.as_ref().ok_or_else(|| {
            ApiError::server(500, "server_tools_off", "this server does not run tools of its own")
        })?;
        let (model, client) = (&self.request.model, self.request.client.as_ref());
        let run = toolbox.open(&goal(&self.conversation), model, client)?;
        self.run = Some(run.clone());
        Ok(run)
    }

    async fn tell(&mut self, name: &str, payload: Value) -> Result<(), Cut> {
        if let Value::Object(payload) = payload {
            self.emitter.extension(name, &payload);
        }
        Ok(self.flush().await?)
    }

    /// Waits for something that the client hears nothing of.
    pub(super) async fn waiting<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Cut> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = self.cancelled.said() => return Err(Cut::Cancelled),
                () = self.pulse.as_mut() => {
                    // What is waited for has a time limit of its own.
                    self.last_heard = Instant::now();
                    self.beat().await?;
                }
            }
        }
    }
}

/// What a run is for, as the list of runs shows it: the beginning of what was asked.
fn goal(conversation: &[Item]) -> String {
    const LONGEST: usize = 120;
    let asked = conversation.iter().rev().find_map(|item| match item {
        Item::Message { role: Role::User, content, .. } => content.iter().find_map(|part| match part {
            Content::Text(text) => Some(text.as_str()),
            Content::Image { .. } | Content::Refusal(_) => None,
        }),
        Item::Message { .. }
        | Item::FunctionCall { .. }
        | Item::FunctionCallOutput { .. }
        | Item::CustomToolCall { .. }
        | Item::CustomToolCallOutput { .. }
        | Item::Reasoning { .. }
        | Item::Compaction { .. }
        | Item::Reference { .. } => None,
    });
    let asked = asked.unwrap_or("a conversation").split_whitespace().collect::<Vec<_>>().join(" ");
    asked.chars().take(LONGEST).collect()
}
