//! Parameters of the app-server's requests for one turn. Pure. A turn that they cannot express is an error before
//! anything runs.

use serde_json::{Map, Value, json};

use super::history_items::items;
use super::settings::CodexSettings;
use super::thread::PreparedTurn;
use super::tool_aliases::ToolAliases;
use super::turn_tracker::TurnTracker;
use crate::{BackendError, BackendErrorKind, ModelTurn, OutputSchema};

/// Values that codex takes for summaries of reasoning.
const SUMMARIES: [&str; 4] = ["auto", "concise", "detailed", "none"];

pub(super) fn prepared(turn: ModelTurn, settings: &CodexSettings) -> Result<PreparedTurn, BackendError> {
    let aliases = ToolAliases::of(&turn.tools)?;
    let items = items(&turn.history, &aliases)?;
    let mut wishes = Map::new();
    if let Some(effort) = turn.reasoning.effort {
        wishes.insert("effort".to_owned(), Value::String(effort));
    }
    if let Some(summary) = turn.reasoning.summary {
        if !SUMMARIES.contains(&summary.as_str()) {
            let message =
                format!("a summary of reasoning is one of {}, not `{summary}`", SUMMARIES.join(", "));
            return Err(BackendError::new(BackendErrorKind::BadRequest, message));
        }
        wishes.insert("summary".to_owned(), Value::String(summary));
    }
    let mut instructions = turn.instructions;
    match turn.output_schema {
        None => {}
        // Codex hands on every schema as a strict one, and a service refuses a loose schema in that place.
        Some(OutputSchema { schema, strict: true, .. }) => {
            wishes.insert("outputSchema".to_owned(), schema);
        }
        Some(schema) => describe(&schema, &mut instructions),
    }
    let mut thread = thread(settings, &turn.model, &instructions);
    if !turn.tools.is_empty() {
        let tools = turn.tools.iter().map(|tool| {
            let name = aliases.to_model(&tool.name);
            json!({"type": "function", "name": name, "description": tool.description, "inputSchema": tool.parameters})
        });
        thread["dynamicTools"] = tools.collect();
    }
    let progress = TurnTracker::new(!turn.tools.is_empty(), aliases, items.images);
    Ok(PreparedTurn { thread, items: items.list, turn: wishes, progress })
}

/// A thread with a tool, to see whether it is taken.
pub(super) fn probe(settings: &CodexSettings) -> Value {
    let mut thread = thread(settings, "", "");
    let schema = json!({"type": "object", "properties": {}});
    thread["dynamicTools"] =
        json!([{"type": "function", "name": "probe", "description": "", "inputSchema": schema}]);
    thread
}

fn thread(settings: &CodexSettings, model: &str, instructions: &str) -> Value {
    let mut thread = json!({
        "cwd": settings.folder,
        "ephemeral": true,
        "approvalPolicy": "never",
        "sandbox": "read-only",
        "environments": [],
        "baseInstructions": instructions,
        "experimentalRawEvents": true,
    });
    let model = settings.model.as_deref().unwrap_or(model);
    if !model.is_empty() {
        thread["model"] = Value::String(model.to_owned());
    }
    thread
}

fn describe(schema: &OutputSchema, instructions: &mut String) {
    if !instructions.is_empty() {
        instructions.push_str("\n\n");
    }
    instructions
        .push_str("Answer with one JSON value and nothing else. It must match this JSON Schema, named `");
    instructions.push_str(&schema.name);
    instructions.push_str("`:\n");
    instructions.push_str(&schema.schema.to_string());
}
