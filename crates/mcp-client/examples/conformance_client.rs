//! A client for the official conformance suite, with the HTTP transport of the product.
//!
//! The suite starts it as `PROGRAM URL` and passes the scenario and the protocol version in the environment.
//! Everything that a scenario requires beyond listing and calling is implemented here and not in the product: the
//! product has no user who could answer a server's question.
#![allow(
    clippy::print_stderr,
    clippy::exit,
    reason = "a program for a test says what went wrong and ends with it"
)]

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, Implementation, JsonObject, ProtocolVersion, Tool,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RequestContext, RunningService};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value, json};

/// Message limit, far more than any scenario sends.
const LONGEST: usize = 16 << 20;

type Failed = Box<dyn std::error::Error>;

/// Accepts every form with its default values.
#[derive(Clone)]
struct Willing;

impl ClientHandler for Willing {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = serde_json::from_value(json!({ "form": { "applyDefaults": true } })).ok();
        ClientConfig::new(
            capabilities,
            Implementation::new("tollgate-conformance", env!("CARGO_PKG_VERSION")),
        )
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let form = serde_json::to_value(&request).unwrap_or_default();
        let fields = form.pointer("/requestedSchema/properties").and_then(Value::as_object);
        let filled: Map<String, Value> = fields
            .into_iter()
            .flatten()
            .filter_map(|(name, field)| Some((name.clone(), proposed(field)?)))
            .collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(filled)))
    }
}

/// Returns the default value of a form field, or any valid value.
fn proposed(field: &Value) -> Option<Value> {
    if let Some(default) = field.get("default") {
        return Some(default.clone());
    }
    match field.get("type").and_then(Value::as_str)? {
        "boolean" => Some(json!(true)),
        "integer" | "number" => Some(json!(1)),
        "string" => Some(field.pointer("/enum/0").cloned().unwrap_or(json!("test"))),
        _ => None,
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let version = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
    let Some(url) = std::env::args().next_back() else { return };
    if let Err(error) = play(&scenario, &version, &url).await {
        eprintln!("{scenario}: {error}");
        std::process::exit(1);
    }
}

async fn play(scenario: &str, version: &str, url: &str) -> Result<(), Failed> {
    let transport = mcp_client::http::transport(url, None, LONGEST)?;
    let lifecycle = match version {
        "2026-07-28" => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::LATEST],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        _ => ClientLifecycleMode::Initialize,
    };
    let client = Willing.serve_with_lifecycle(transport, lifecycle).await?;
    let tools = client.list_all_tools().await?;
    match scenario {
        "initialize" => {}
        "json-schema-2020-12-preservation" => echo(&client, &tools).await?,
        _ => {
            for tool in &tools {
                call(&client, tool, scenario).await?;
            }
        }
    }
    client.cancel().await?;
    Ok(())
}

/// Passes the schema of the first tool to the tool that takes a schema, to show that no part of it was lost.
async fn echo(client: &RunningService<RoleClient, Willing>, tools: &[Tool]) -> Result<(), Failed> {
    let takes_schema =
        |tool: &&Tool| tool.input_schema.get("properties").is_some_and(|it| it.get("schema").is_some());
    let (Some(echo), Some(focal)) =
        (tools.iter().find(takes_schema), tools.iter().find(|tool| !takes_schema(tool)))
    else {
        return Err("the two tools of the scenario are not listed".into());
    };
    let schema = Value::Object(focal.input_schema.as_ref().clone());
    let arguments = Map::from_iter([("schema".to_owned(), schema)]);
    client.call_tool(CallToolRequestParams::new(echo.name.clone()).with_arguments(arguments)).await?;
    Ok(())
}

/// Calls a tool with arguments generated from its schema, or with those that the scenario provides.
async fn call(
    client: &RunningService<RoleClient, Willing>,
    tool: &Tool,
    scenario: &str,
) -> Result<(), Failed> {
    let context: Value = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let handed = context.get("toolCalls").and_then(Value::as_array).cloned().unwrap_or_default();
    let mine: Vec<&Value> = handed.iter().filter(|call| call["name"] == *tool.name).collect();
    let arguments: Vec<JsonObject> = match mine.is_empty() {
        true if handed.is_empty() => vec![made_up(&tool.input_schema)],
        true => Vec::new(),
        false => mine.iter().filter_map(|call| call["arguments"].as_object().cloned()).collect(),
    };
    for arguments in arguments {
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        let called = client.call_tool(params).await;
        // Some scenarios return an error on purpose and check only the request.
        if let Err(error) = called
            && scenario.starts_with("tools_call")
        {
            return Err(error.into());
        }
    }
    Ok(())
}

fn made_up(schema: &JsonObject) -> JsonObject {
    let fields = schema.get("properties").and_then(Value::as_object);
    let value = |field: &Value| match field.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some(_) | None => field.pointer("/enum/0").cloned().unwrap_or(json!("test")),
    };
    fields.into_iter().flatten().map(|(name, field)| (name.clone(), value(field))).collect()
}
