//! The tools of a request in one shape, and which of them the model may or must call.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::known_schema::KnownSchema;

/// A tool that a model can call, whichever of the two shapes it was sent in.
#[derive(Debug, Clone)]
pub struct OfferedTool {
    /// By which the model calls it: letters, digits, `_` and `-`, and unlike every other tool's of the request.
    pub name: String,
    /// As the client calls it.
    pub own_name: String,
    pub namespace: Option<String>,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// Screened and compiled once.
    pub schema: Arc<KnownSchema>,
    pub strict: bool,
    pub kind: ToolKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    Function,
    /// Takes one text. The model is shown a function with the one argument `input`.
    Custom,
}

/// `tool_choice`, enforced here and not only asked of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    #[default]
    Auto,
    None,
    Required,
    /// Exactly this tool.
    Tool(String),
    /// These tools only.
    Allowed {
        names: Vec<String>,
        required: bool,
    },
}

impl OfferedTool {
    /// What the client is sent for the arguments that the model wrote. A custom tool takes the text in them.
    pub fn payload<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        match self.kind {
            ToolKind::Function => Cow::Borrowed(arguments),
            ToolKind::Custom => match serde_json::from_str::<Value>(arguments) {
                Ok(Value::Object(mut fields)) => match fields.remove("input") {
                    Some(Value::String(input)) => Cow::Owned(input),
                    Some(_) | None => Cow::Borrowed(arguments),
                },
                Ok(_) | Err(_) => Cow::Borrowed(arguments),
            },
        }
    }
}

impl PartialEq for OfferedTool {
    /// The compiled schema follows from the parameters.
    fn eq(&self, other: &OfferedTool) -> bool {
        self.name == other.name
            && self.own_name == other.own_name
            && self.namespace == other.namespace
            && self.description == other.description
            && self.parameters == other.parameters
            && self.strict == other.strict
            && self.kind == other.kind
    }
}

impl Choice {
    /// Whether the model may call this tool.
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Choice::Auto | Choice::Required => true,
            Choice::None => false,
            Choice::Tool(only) => only == name,
            Choice::Allowed { names, .. } => names.iter().any(|allowed| allowed == name),
        }
    }

    /// The same tools, none of which has to be called any more.
    pub fn without_the_need(self) -> Choice {
        match self {
            Choice::Auto | Choice::Required => Choice::Auto,
            Choice::None => Choice::None,
            Choice::Tool(only) => Choice::Allowed { names: vec![only], required: false },
            Choice::Allowed { names, .. } => Choice::Allowed { names, required: false },
        }
    }

    /// Whether an answer without a call is a failure.
    pub fn requires_a_call(&self) -> bool {
        match self {
            Choice::Auto | Choice::None => false,
            Choice::Required | Choice::Tool(_) => true,
            Choice::Allowed { required, .. } => *required,
        }
    }
}
