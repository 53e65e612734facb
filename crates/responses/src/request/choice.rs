//! Parses `tool_choice`: which tools the model may or must call.
//!
//! The choice holds the names for the model. An unknown name is refused here, unless server-side tools were
//! requested: the toolbox checks those.

use serde_json::{Value, json};

use super::ServerTools;
use super::field_path::FieldPath;
use super::fields::{self, UnreadFields};
use super::tools::{ToolList, is_hosted};
use crate::error::ApiError;
use crate::tools::{OfferedTool, ToolChoice, ToolKind};

const WORDS: [&str; 3] = ["auto", "none", "required"];
const MAX_ALLOWED: usize = 1024;

/// Returns the choice, and the value that the answer repeats.
pub(super) fn read(value: Option<Value>, tools: &mut ToolList) -> Result<(ToolChoice, Value), ApiError> {
    let at = FieldPath::Root.key("tool_choice");
    let Some(value) = value else { return Ok((ToolChoice::Auto, json!("auto"))) };
    let echo = value.clone();
    let choice = match value {
        Value::String(word) => match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            other => return Err(fields::invalid(&at, &expected(), &fields::quoted(other))),
        },
        Value::Object(_) => read_object(value, &at, tools)?,
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            return Err(fields::wrong_type(&at, &expected(), &other));
        }
    };
    let can_be_met = !tools.offered.is_empty() || tools.server != ServerTools::NotAsked;
    if choice.requires_a_call() && !can_be_met {
        let message = "`tool_choice` requires a call, and `tools` has no tool that the model could call";
        return Err(ApiError::invalid("tool_choice", "invalid_value", message));
    }
    Ok((choice, echo))
}

fn expected() -> String {
    format!("{}, or an object that names tools", fields::one_of_words(&WORDS))
}

fn read_object(value: Value, at: &FieldPath<'_>, tools: &mut ToolList) -> Result<ToolChoice, ApiError> {
    let mut choice = UnreadFields::new(value, *at)?;
    let kind = choice.required_string("type")?;
    match kind.as_str() {
        "function" | "custom" => {
            let named = NamedTool::read(choice, &kind)?;
            find(&named, at, tools).map(ToolChoice::Tool)
        }
        "allowed_tools" => read_allowed(choice, tools),
        hosted if is_hosted(hosted) => Err(fields::unsupported(
            at,
            &format!(
                "`{hosted}` is a tool that this server does not run; choose a function of yours, or \"auto\""
            ),
        )),
        other => {
            let expected = fields::one_of_words(&["function", "custom", "allowed_tools"]);
            Err(fields::invalid(&at.key("type"), &expected, &fields::quoted(other)))
        }
    }
}

fn read_allowed(mut choice: UnreadFields<'_>, tools: &mut ToolList) -> Result<ToolChoice, ApiError> {
    // Chat completions put the same fields one level deeper.
    let deeper = choice.object("allowed_tools")?;
    let at = choice.at;
    let deeper_at = at.key("allowed_tools");
    let mut fields = match deeper {
        Some(map) => UnreadFields::new(Value::Object(map), deeper_at)?,
        None => choice,
    };
    let required = fields.word("mode", &["auto", "required"])?.as_deref() == Some("required");
    let at = fields.at;
    let list_at = at.key("tools");
    let list =
        fields.array("tools", MAX_ALLOWED)?.ok_or_else(|| fields::missing(&list_at, "an array of tools"))?;
    let mut names = Vec::with_capacity(list.len());
    for (index, entry) in list.into_iter().enumerate() {
        let at = list_at.index(index);
        let mut entry = UnreadFields::new(entry, at)?;
        let kind = entry.required_string("type")?;
        match kind.as_str() {
            "function" | "custom" => names.push(find(&NamedTool::read(entry, &kind)?, &at, tools)?),
            "namespace" => names.extend(find_namespace(&entry.required_string("name")?, &at, tools)?),
            hosted if is_hosted(hosted) => tools.ignored.push(format!("{at}.{hosted}")),
            other => {
                let expected = fields::one_of_words(&["function", "custom", "namespace"]);
                return Err(fields::invalid(&at.key("type"), &expected, &fields::quoted(other)));
            }
        }
    }
    if required && names.is_empty() {
        return Err(fields::invalid(&list_at, "a list of tools that the model can call", "without one"));
    }
    Ok(ToolChoice::Allowed { names, required })
}

/// A tool that a choice names.
struct NamedTool {
    kind: ToolKind,
    namespace: Option<String>,
    name: String,
}

impl NamedTool {
    fn read(mut entry: UnreadFields<'_>, kind: &str) -> Result<NamedTool, ApiError> {
        let namespace = entry.string("namespace")?;
        let name = match entry.object(kind)? {
            Some(deeper) => {
                let at = entry.at.key(kind);
                UnreadFields::new(Value::Object(deeper), at)?.required_string("name")?
            }
            None => entry.required_string("name")?,
        };
        let kind = if kind == "custom" { ToolKind::Custom } else { ToolKind::Function };
        Ok(NamedTool { kind, namespace, name })
    }

    /// Whether the choice names this tool. Without a namespace it matches a tool in any namespace.
    fn matches(&self, tool: &OfferedTool) -> bool {
        tool.kind == self.kind
            && tool.own_name == self.name
            && (self.namespace.is_none() || self.namespace == tool.namespace)
    }
}

/// Returns the name for the model. Fails if the tool is unknown or ambiguous.
fn find(named: &NamedTool, at: &FieldPath<'_>, tools: &ToolList) -> Result<String, ApiError> {
    let mut found = tools.offered.iter().filter(|tool| named.matches(tool));
    // A tool without a namespace takes precedence.
    let first = found.next();
    let others = found.count();
    let exact = tools.offered.iter().find(|tool| named.matches(tool) && tool.namespace == named.namespace);
    match (exact.or(first), exact.is_some() || others == 0) {
        (Some(tool), true) => Ok(tool.name.clone()),
        (Some(_), false) => {
            let message =
                format!("`{at}` names `{}`, which several namespaces have; add `namespace`", named.name);
            Err(ApiError::invalid(at.to_string(), "invalid_value", message))
        }
        (None, _) => match &tools.server {
            ServerTools::All { .. } => Ok(named.name.clone()),
            ServerTools::Named { names, .. } if names.contains(&named.name) => Ok(named.name.clone()),
            ServerTools::NotAsked | ServerTools::Named { .. } => Err(unknown_tool(at, &named.name)),
        },
    }
}

fn find_namespace(name: &str, at: &FieldPath<'_>, tools: &ToolList) -> Result<Vec<String>, ApiError> {
    let names: Vec<String> = tools
        .offered
        .iter()
        .filter(|tool| tool.namespace.as_deref() == Some(name))
        .map(|tool| tool.name.clone())
        .collect();
    if names.is_empty() { Err(unknown_tool(at, name)) } else { Ok(names) }
}

fn unknown_tool(at: &FieldPath<'_>, name: &str) -> ApiError {
    let name = fields::quoted(name);
    let message =
        format!("`{at}` names {name}, which is not among `tools`; add the tool or choose one that is there");
    ApiError::invalid(at.to_string(), "unknown_tool", message)
}
