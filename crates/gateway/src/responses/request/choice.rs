//! `tool_choice`: which tools the model may or must call.
//!
//! The choice holds the names that the model sees. A name that no tool has is refused here, unless server-side
//! tools were asked for: their names are known to whoever offers them.

use serde_json::{Value, json};

use super::ServerTools;
use super::fields::{self, Fields};
use super::path::Path;
use super::tools::{Tools, is_hosted};
use crate::responses::error::ApiError;
use crate::responses::tools::{Choice, OfferedTool, ToolKind};

const WORDS: [&str; 3] = ["auto", "none", "required"];
const MAX_ALLOWED: usize = 1024;

/// Returns the choice, and how the answer repeats it.
pub(super) fn read(value: Option<Value>, tools: &mut Tools) -> Result<(Choice, Value), ApiError> {
    let at = Path::Root.key("tool_choice");
    let Some(value) = value else { return Ok((Choice::Auto, json!("auto"))) };
    let echo = value.clone();
    let choice = match value {
        Value::String(word) => match word.as_str() {
            "auto" => Choice::Auto,
            "none" => Choice::None,
            "required" => Choice::Required,
            other => return Err(fields::invalid(&at, &expected(), &fields::shown(other))),
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
    format!("{}, or an object that names tools", fields::one_of(&WORDS))
}

fn read_object(value: Value, at: &Path<'_>, tools: &mut Tools) -> Result<Choice, ApiError> {
    let mut choice = Fields::of(value, *at)?;
    let kind = choice.required_string("type")?;
    match kind.as_str() {
        "function" | "custom" => {
            let named = Named::read(choice, &kind)?;
            find(&named, at, tools).map(Choice::Tool)
        }
        "allowed_tools" => read_allowed(choice, tools),
        hosted if is_hosted(hosted) => Err(fields::unsupported(
            at,
            &format!(
                "`{hosted}` is a tool that this server does not run; choose a function of yours, or \"auto\""
            ),
        )),
        other => {
            let expected = fields::one_of(&["function", "custom", "allowed_tools"]);
            Err(fields::invalid(&at.key("type"), &expected, &fields::shown(other)))
        }
    }
}

fn read_allowed(mut choice: Fields<'_>, tools: &mut Tools) -> Result<Choice, ApiError> {
    // Chat completions put the same fields one level deeper.
    let deeper = choice.object("allowed_tools")?;
    let at = choice.at;
    let deeper_at = at.key("allowed_tools");
    let mut fields = match deeper {
        Some(map) => Fields::of(Value::Object(map), deeper_at)?,
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
        let mut entry = Fields::of(entry, at)?;
        let kind = entry.required_string("type")?;
        match kind.as_str() {
            "function" | "custom" => names.push(find(&Named::read(entry, &kind)?, &at, tools)?),
            "namespace" => names.extend(find_namespace(&entry.required_string("name")?, &at, tools)?),
            hosted if is_hosted(hosted) => tools.ignored.push(format!("{at}.{hosted}")),
            other => {
                let expected = fields::one_of(&["function", "custom", "namespace"]);
                return Err(fields::invalid(&at.key("type"), &expected, &fields::shown(other)));
            }
        }
    }
    if required && names.is_empty() {
        return Err(fields::invalid(&list_at, "a list of tools that the model can call", "without one"));
    }
    Ok(Choice::Allowed { names, required })
}

/// A tool as a choice names it.
struct Named {
    kind: ToolKind,
    namespace: Option<String>,
    name: String,
}

impl Named {
    fn read(mut entry: Fields<'_>, kind: &str) -> Result<Named, ApiError> {
        let namespace = entry.string("namespace")?;
        let name = match entry.object(kind)? {
            Some(deeper) => {
                let at = entry.at.key(kind);
                Fields::of(Value::Object(deeper), at)?.required_string("name")?
            }
            None => entry.required_string("name")?,
        };
        let kind = if kind == "custom" { ToolKind::Custom } else { ToolKind::Function };
        Ok(Named { kind, namespace, name })
    }

    /// Without a namespace, a tool of that name in a namespace is meant as well.
    fn means(&self, tool: &OfferedTool) -> bool {
        tool.kind == self.kind
            && tool.own_name == self.name
            && (self.namespace.is_none() || self.namespace == tool.namespace)
    }
}

/// The name that the model sees.
fn find(named: &Named, at: &Path<'_>, tools: &Tools) -> Result<String, ApiError> {
    let mut found = tools.offered.iter().filter(|tool| named.means(tool));
    // One without a namespace goes before those that have one.
    let first = found.next();
    let others = found.count();
    let exact = tools.offered.iter().find(|tool| named.means(tool) && tool.namespace == named.namespace);
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
            ServerTools::NotAsked | ServerTools::Named { .. } => Err(unknown(at, &named.name)),
        },
    }
}

fn find_namespace(name: &str, at: &Path<'_>, tools: &Tools) -> Result<Vec<String>, ApiError> {
    let names: Vec<String> = tools
        .offered
        .iter()
        .filter(|tool| tool.namespace.as_deref() == Some(name))
        .map(|tool| tool.name.clone())
        .collect();
    if names.is_empty() { Err(unknown(at, name)) } else { Ok(names) }
}

fn unknown(at: &Path<'_>, name: &str) -> ApiError {
    let name = fields::shown(name);
    let message =
        format!("`{at}` names {name}, which is not among `tools`; add the tool or choose one that is there");
    ApiError::invalid(at.to_string(), "unknown_tool", message)
}
