//! The tools of a request, in every shape that clients send them, as one list that a model can be shown.
//!
//! Tools that a service would run itself (`web_search` and the like) cannot be offered. They are accepted, because
//! clients send them by default, and named in [`Tools::ignored`]; forcing one is refused with the choice.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::ServerTools;
use super::draft::Draft;
use super::fields::{self, Fields};
use super::names::{self, Names};
use super::path::Path;
use crate::responses::error::ApiError;
use crate::responses::event::json_line;
use crate::responses::tools::OfferedTool;

/// In a request, counting those in namespaces.
const MAX_TOOLS: usize = 512;

/// What a service runs itself. Dated variants follow after an underscore.
pub(super) const HOSTED: [&str; 12] = [
    "apply_patch",
    "code_interpreter",
    "computer",
    "computer_use_preview",
    "file_search",
    "image_generation",
    "local_shell",
    "mcp",
    "shell",
    "tool_search",
    "web_search",
    "web_search_preview",
];

/// Whether a type of tool is one of those.
pub(super) fn is_hosted(kind: &str) -> bool {
    HOSTED.iter().any(|hosted| {
        kind.strip_prefix(hosted).is_some_and(|rest| {
            rest.is_empty()
                || rest.strip_prefix('_').is_some_and(|date| date.starts_with(|c: char| c.is_ascii_digit()))
        })
    })
}

/// What became of the tools of a request.
#[derive(Clone)]
pub(super) struct Tools {
    pub(super) offered: Vec<Arc<OfferedTool>>,
    /// As they were sent in `tools`, completed: a JSON list on one line.
    pub(super) echoed: Arc<str>,
    pub(super) server: ServerTools,
    pub(super) ignored: Vec<String>,
}

/// Reads `tools`, and the lists that stand in the input.
pub(super) fn read(listed: Vec<Value>, additional: Vec<(usize, Vec<Value>)>) -> Result<Tools, ApiError> {
    let mut reader = Reader::default();
    let tools = Path::Root.key("tools");
    for (index, tool) in listed.into_iter().enumerate() {
        let echo = reader.tool(tool, tools.index(index), Again::Refused)?;
        reader.echoed.push(echo);
    }
    let input = Path::Root.key("input");
    for (item, list) in additional {
        let item = input.index(item);
        let tools = item.key("tools");
        for (index, tool) in list.into_iter().enumerate() {
            // A client that changes its tools on the way sends another list; the later one is meant.
            reader.tool(tool, tools.index(index), Again::Replaces)?;
        }
    }
    Ok(reader.finish())
}

/// What a second tool of the same name is.
#[derive(Clone, Copy)]
enum Again {
    Refused,
    Replaces,
}

#[derive(Default)]
struct Reader {
    drafts: Vec<Draft>,
    /// Namespace and name, to the place in `drafts`.
    known: HashMap<(Option<String>, String), usize>,
    echoed: Vec<Value>,
    server: ServerTools,
    ignored: Vec<String>,
}

impl Reader {
    /// Takes one entry of a list, and returns it in its complete form.
    fn tool(&mut self, value: Value, at: Path<'_>, again: Again) -> Result<Value, ApiError> {
        let kind = kind_of(&value, &at)?;
        match kind.as_str() {
            "function" | "custom" => self.callable(value, None, at, again),
            "namespace" => self.namespace(value, at, again),
            "tollgate" => self.server_tools(value, at),
            hosted if is_hosted(hosted) => {
                self.ignored.push(format!("{at}.{hosted}"));
                Ok(without_secrets(value))
            }
            other => {
                let expected = "\"function\", \"custom\", \"namespace\", \"tollgate\" or a known hosted tool";
                Err(fields::invalid(&at.key("type"), expected, &fields::shown(other)))
            }
        }
    }

    fn callable(
        &mut self,
        value: Value,
        namespace: Option<&str>,
        at: Path<'_>,
        again: Again,
    ) -> Result<Value, ApiError> {
        let draft = Draft::read(value, namespace, at)?;
        if draft.has_grammar() {
            self.ignored.push(format!("{at}.format.grammar"));
        }
        let echo = draft.echo();
        let key = (draft.namespace.clone(), draft.own_name.clone());
        match (self.known.get(&key), again) {
            (None, _) => {
                if self.drafts.len() == MAX_TOOLS {
                    let message =
                        format!("the request has more than {MAX_TOOLS} tools, counting those in namespaces");
                    return Err(ApiError::invalid(at.to_string(), "array_above_max_length", message));
                }
                self.known.insert(key, self.drafts.len());
                self.drafts.push(draft);
            }
            (Some(place), Again::Replaces) => self.drafts[*place] = draft,
            (Some(_), Again::Refused) => {
                let message =
                    format!("`{at}` has the name `{}`, which another tool has already", draft.own_name);
                return Err(ApiError::invalid(at.key("name").to_string(), "duplicate_tool", message));
            }
        }
        Ok(echo)
    }

    fn namespace(&mut self, value: Value, at: Path<'_>, again: Again) -> Result<Value, ApiError> {
        let mut fields = Fields::of(value, at)?;
        let name = fields.required_string("name")?;
        if !names::is_allowed(&name) {
            return Err(fields::invalid(&at.key("name"), names::EXPECTED, &fields::shown(&name)));
        }
        let description = fields.string("description")?;
        let list = fields.array("tools", MAX_TOOLS)?;
        let place = at.key("tools");
        let mut echoed = Vec::new();
        for (index, tool) in list.unwrap_or_default().into_iter().enumerate() {
            let at = place.index(index);
            let kind = kind_of(&tool, &at)?;
            if matches!(kind.as_str(), "function" | "custom") {
                echoed.push(self.callable(tool, Some(&name), at, again)?);
            } else if is_hosted(&kind) {
                self.ignored.push(format!("{at}.{kind}"));
                echoed.push(without_secrets(tool));
            } else {
                let expected = fields::one_of(&["function", "custom"]);
                return Err(fields::invalid(&at.key("type"), &expected, &fields::shown(&kind)));
            }
        }
        Ok(json!({ "type": "namespace", "name": name, "description": description, "tools": echoed }))
    }

    /// `{"type": "tollgate"}`: an extension that asks for tools that are run here.
    fn server_tools(&mut self, value: Value, at: Path<'_>) -> Result<Value, ApiError> {
        if self.server != ServerTools::NotAsked {
            let message =
                format!("`{at}` asks for server-side tools a second time; put all names into one list");
            return Err(ApiError::invalid(at.to_string(), "duplicate_tool", message));
        }
        let mut fields = Fields::of(value, at)?;
        let events = fields.boolean("events")?.unwrap_or(false);
        let Some(list) = fields.array("names", MAX_TOOLS)? else {
            self.server = ServerTools::All { events };
            return Ok(json!({ "type": "tollgate", "events": events }));
        };
        let place = at.key("names");
        let mut names = Vec::new();
        for (index, name) in list.into_iter().enumerate() {
            match name.as_str() {
                Some(name) if !name.is_empty() => names.push(name.to_owned()),
                Some(_) | None => {
                    return Err(fields::wrong_type(&place.index(index), "the name of a tool", &name));
                }
            }
        }
        let echo = json!({ "type": "tollgate", "names": names, "events": events });
        self.server = ServerTools::Named { names, events };
        Ok(echo)
    }

    /// Gives out the names that the model will see.
    fn finish(self) -> Tools {
        let Reader { drafts, echoed, server, ignored, .. } = self;
        let mut names = Names::default();
        let keeps: Vec<bool> = drafts
            .iter()
            .map(|draft| {
                draft.namespace.is_none() && names::is_plain(&draft.own_name) && names.claim(&draft.own_name)
            })
            .collect();
        let named = drafts.into_iter().zip(keeps).map(|(draft, keeps)| {
            let name = if keeps {
                draft.own_name.clone()
            } else {
                names.make(draft.namespace.as_deref(), &draft.own_name)
            };
            Arc::new(draft.named(name))
        });
        Tools { offered: named.collect(), echoed: json_line(&echoed).into(), server, ignored }
    }
}

fn kind_of(value: &Value, at: &Path<'_>) -> Result<String, ApiError> {
    let Some(object) = value.as_object() else {
        return Err(fields::wrong_type(at, "an object", value));
    };
    match object.get("type") {
        Some(Value::String(kind)) => Ok(kind.clone()),
        None | Some(Value::Null) => Err(fields::missing(&at.key("type"), "the type of the tool")),
        Some(other) => Err(fields::wrong_type(&at.key("type"), "a string", other)),
    }
}

/// The answer repeats the tools, and is kept; what opens another service must not be in it.
fn without_secrets(mut tool: Value) -> Value {
    if let Some(fields) = tool.as_object_mut() {
        fields.shift_remove("authorization");
        fields.shift_remove("headers");
    }
    tool
}
