//! The tools of a request in one shape, and the tool choice.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use toolkit::CompiledSchema;

/// A tool that a model can call, in whichever shape it was sent.
#[derive(Debug, Clone)]
pub struct OfferedTool {
    /// The name for the model: letters, digits, `_` and `-`, unique in the request.
    pub name: String,
    /// The name for the client.
    pub own_name: String,
    pub namespace: Option<String>,
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    /// The compiled `parameters`.
    pub schema: Arc<CompiledSchema>,
    pub strict: bool,
    pub kind: ToolKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    Function,
    /// Takes one text. For the model it is a function with the argument `input`.
    Custom,
}

/// `tool_choice`, enforced here in addition to the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
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
    /// Returns the payload for the client: of a custom tool, the text in the model's arguments.
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
    /// The compiled schema depends on the parameters only.
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

impl ToolChoice {
    /// Whether the model may call this tool.
    pub fn allows(&self, name: &str) -> bool {
        match self {
            ToolChoice::Auto | ToolChoice::Required => true,
            ToolChoice::None => false,
            ToolChoice::Tool(only) => only == name,
            ToolChoice::Allowed { names, .. } => names.iter().any(|allowed| allowed == name),
        }
    }

    /// Returns the same choice without the requirement of a call.
    pub fn without_requirement(self) -> ToolChoice {
        match self {
            ToolChoice::Auto | ToolChoice::Required => ToolChoice::Auto,
            ToolChoice::None => ToolChoice::None,
            ToolChoice::Tool(only) => ToolChoice::Allowed { names: vec![only], required: false },
            ToolChoice::Allowed { names, .. } => ToolChoice::Allowed { names, required: false },
        }
    }

    /// Whether an answer without a call is a failure.
    pub fn requires_a_call(&self) -> bool {
        match self {
            ToolChoice::Auto | ToolChoice::None => false,
            ToolChoice::Required | ToolChoice::Tool(_) => true,
            ToolChoice::Allowed { required, .. } => *required,
        }
    }
}
