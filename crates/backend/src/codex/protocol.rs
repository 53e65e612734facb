//! Messages of the app-server's protocol.
//!
//! A line is JSON-RPC without its version member. Notifications have a file of their own.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// One line, whatever it is.
#[derive(Debug, Deserialize)]
pub(super) struct RpcMessage<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) error: Option<RpcError>,
}

/// The app-server refused a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct RpcError {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
}

impl RpcError {
    /// It is overloaded; the request may be repeated.
    pub(super) const OVERLOADED: i64 = -32001;
}

/// A call that the app-server wants answered, by the thread and the id of the call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexToolCall {
    pub(super) thread_id: String,
    pub(super) call_id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct InitializeResult {
    #[serde(rename = "userAgent", default)]
    pub(super) user_agent: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadStarted {
    pub(super) thread: ObjectId,
    /// Files whose content codex adds to the instructions.
    #[serde(default)]
    pub(super) instruction_sources: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnStarted {
    pub(super) turn: ObjectId,
}

#[derive(Debug, Deserialize)]
pub(super) struct ObjectId {
    pub(super) id: String,
}

/// The settings that codex found.
#[derive(Debug, Deserialize)]
pub(super) struct ConfigResult {
    pub(super) config: CodexConfig,
}

#[derive(Debug, Deserialize)]
pub(super) struct CodexConfig {
    #[serde(default)]
    pub(super) mcp_servers: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelPage {
    pub(super) data: Vec<CatalogModel>,
    #[serde(default)]
    pub(super) next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CatalogModel {
    pub(super) id: String,
    #[serde(default)]
    pub(super) hidden: bool,
}
