//! What a client asks for, once it is known to make sense.

use serde_json::Value;

use super::item::Item;
use super::tools::{Choice, OfferedTool};

/// A request to answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub model: String,
    pub instructions: Option<String>,
    pub input: Vec<Item>,
    pub previous_response_id: Option<String>,
    /// In the order of the request, one entry for each tool that a model can call.
    pub tools: Vec<OfferedTool>,
    /// The tools as they were sent, completed, for the answer to repeat.
    pub echoed_tools: Vec<Value>,
    pub choice: Choice,
    /// `tool_choice` as it was sent, for the answer to repeat.
    pub echoed_choice: Value,
    pub parallel_tool_calls: bool,
    pub max_tool_calls: Option<u64>,
    /// Whether Tollgate's own tools are offered to the model and run here.
    pub server_tools: ServerTools,
    pub stream: bool,
    pub store: bool,
    /// False for the warm-up that clients send over a WebSocket: nothing is generated.
    pub generate: bool,
    pub format: Format,
    pub verbosity: Option<String>,
    pub reasoning_effort: Option<String>,
    pub reasoning_summary: Option<String>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_output_tokens: Option<u64>,
    pub include: Vec<String>,
    pub metadata: Value,
    /// What the answer repeats and nothing here depends on, by name: `safety_identifier`, `prompt_cache_key`,
    /// `service_tier`, `truncation`, `user`, penalties.
    pub repeated: serde_json::Map<String, Value>,
    /// Fields that were asked for and cannot be honoured, for the answer's header and the log.
    pub ignored: Vec<&'static str>,
}

/// Whether, and which of, Tollgate's own tools are offered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ServerTools {
    /// Unless the server's settings say so.
    #[default]
    NotAsked,
    All,
    Named(Vec<String>),
}

/// `text.format`.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Format {
    #[default]
    Text,
    JsonObject,
    JsonSchema {
        name: String,
        description: Option<String>,
        schema: Value,
        strict: bool,
    },
}
