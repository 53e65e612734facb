//! Tools that send requests to their client on the connection, for clients with a session.
#![allow(deprecated, reason = "older clients log and sample as their version has it")]

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientResult, CreateMessageResult,
    ElicitRequest, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ServerRequest,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::tools::{read, said};

/// The suites expect notifications while a tool runs.
const WORK: Duration = Duration::from_millis(50);

type Cx = RequestContext<RoleServer>;

/// Returns `None` for other tools.
pub(super) async fn call(
    request: &CallToolRequestParams,
    cx: &Cx,
) -> Option<Result<CallToolResult, ErrorData>> {
    let argument = |name: &str| -> String {
        let found = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    Some(match &*request.name {
        "test_tool_with_logging" => logs(cx).await,
        "test_tool_with_progress" => progress(cx).await,
        "test_sampling" => samples(&argument("prompt"), cx).await,
        "test_elicitation" => asks(&argument("message"), who(), cx).await,
        "test_elicitation_sep1034_defaults" => asks("Is this right?", defaults(), cx).await,
        "test_elicitation_sep1330_enums" => asks("Choose", choices(), cx).await,
        "test_missing_capability" => needs_sampling(cx),
        _ => return None,
    })
}

fn needs_sampling(cx: &Cx) -> Result<CallToolResult, ErrorData> {
    if cx.client_capabilities().is_some_and(|can| can.sampling.is_some()) {
        return said("The client can be asked.");
    }
    let needed: ClientCapabilities = read(json!({ "sampling": {} }))?;
    Err(ErrorData::missing_required_client_capability(needed))
}

async fn logs(cx: &Cx) -> Result<CallToolResult, ErrorData> {
    for words in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(words));
        cx.peer.notify_logging_message(told).await.map_err(lost)?;
        tokio::time::sleep(WORK).await;
    }
    said("Told in three messages.")
}

async fn progress(cx: &Cx) -> Result<CallToolResult, ErrorData> {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = cx.meta.get_progress_token() {
            let told = ProgressNotificationParam::new(token, done).with_total(100.0);
            cx.peer.notify_progress(told).await.map_err(lost)?;
        }
        tokio::time::sleep(WORK).await;
    }
    said("Told in three steps.")
}

async fn samples(prompt: &str, cx: &Cx) -> Result<CallToolResult, ErrorData> {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let asked = read(json!({ "messages": [message], "maxTokens": 100 }))?;
    let answer: CreateMessageResult = cx.peer.create_message(asked).await.map_err(lost)?;
    let answer = serde_json::to_value(answer).unwrap_or_default();
    let words = answer.pointer("/content/text").or(answer.pointer("/content/0/text"));
    said(&format!("LLM response: {}", words.and_then(Value::as_str).unwrap_or_default()))
}

async fn asks(message: &str, schema: Value, cx: &Cx) -> Result<CallToolResult, ErrorData> {
    let form = read(json!({ "mode": "form", "message": message, "requestedSchema": schema }))?;
    let asked = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let answer = cx.peer.send_request(asked).await.map_err(lost)?;
    let ClientResult::ElicitResult(answer) = answer else {
        return Err(ErrorData::internal_error("this answers another question", None));
    };
    let answer = serde_json::to_value(answer).unwrap_or_default();
    let action = answer["action"].as_str().unwrap_or_default();
    said(&format!("Elicitation completed: action={action}, content={}", answer["content"]))
}

fn who() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
        "required": [],
    })
}

fn choices() -> Value {
    let plain = ["option1", "option2", "option3"];
    let titled = json!([
        { "const": "value1", "title": "First" },
        { "const": "value2", "title": "Second" },
        { "const": "value3", "title": "Third" },
    ]);
    let named = ["Option One", "Option Two", "Option Three"];
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": plain },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": named },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } },
        },
        "required": [],
    })
}

fn lost(error: ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
