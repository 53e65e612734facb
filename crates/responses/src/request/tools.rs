//! Parses the tools of a request, in every shape that clients send, into one list for the model.
//!
//! Tools that a service would run itself (`web_search` and the like) cannot be offered. They are accepted, because
//! clients send them by default, and named in [`ToolList::ignored`]; a `tool_choice` that names one is refused.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::ServerTools;
use super::field_path::FieldPath;
use super::fields::{self, UnreadFields};
use super::schema_cache::SchemaCache;
use super::tool_definition::ToolDefinition;
use super::tool_names::{self, NameAllocator};
use crate::error::ApiError;
use crate::tools::OfferedTool;

/// The most tools of a request, with those in namespaces.
const MAX_TOOLS: usize = 512;

/// Tools that a service runs itself. Dated variants have a suffix after an underscore.
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

/// The parsed tools of a request.
pub(super) struct ToolList {
    pub(super) offered: Vec<Arc<OfferedTool>>,
    /// As they were sent in `tools`, completed.
    pub(super) echoed: Vec<Value>,
    pub(super) server: ServerTools,
    pub(super) ignored: Vec<String>,
}

/// Parses `tools`, and the lists in the input.
pub(super) fn read(
    listed: Vec<Value>,
    additional: Vec<(usize, Vec<Value>)>,
    schemas: &SchemaCache,
) -> Result<ToolList, ApiError> {
    let mut reader = ToolListReader::new(schemas);
    let tools = FieldPath::Root.key("tools");
    for (index, tool) in listed.into_iter().enumerate() {
        let echo = reader.tool(tool, tools.index(index), DuplicateTool::Refused)?;
        reader.echoed.push(echo);
    }
    let input = FieldPath::Root.key("input");
    for (item, list) in additional {
        let item = input.index(item);
        let tools = item.key("tools");
        for (index, tool) in list.into_iter().enumerate() {
            // A client that changes its tools sends another list; the later one counts.
            reader.tool(tool, tools.index(index), DuplicateTool::Replaces)?;
        }
    }
    Ok(reader.finish())
}

/// What happens to a second tool of the same name.
#[derive(Clone, Copy)]
enum DuplicateTool {
    Refused,
    Replaces,
}

struct ToolListReader<'c> {
    schemas: &'c SchemaCache,
    definitions: Vec<ToolDefinition>,
    /// Indexes in `definitions`, by namespace and name.
    known: HashMap<(Option<String>, String), usize>,
    echoed: Vec<Value>,
    server: ServerTools,
    ignored: Vec<String>,
}

impl ToolListReader<'_> {
    fn new(schemas: &SchemaCache) -> ToolListReader<'_> {
        ToolListReader {
            schemas,
            definitions: Vec::new(),
            known: HashMap::new(),
            echoed: Vec::new(),
            server: ServerTools::NotAsked,
            ignored: Vec::new(),
        }
    }

    /// Parses one entry of a list, and returns it in its complete form.
    fn tool(&mut self, value: Value, at: FieldPath<'_>, again: DuplicateTool) -> Result<Value, ApiError> {
        let kind = tool_type(&value, &at)?;
        match kind.as_str() {
            "function" | "custom" => self.callable(value, None, at, again),
            "namespace" => self.namespace(value, at, again),
            "tollgate" => self.server_tools(value, at),
            hosted if is_hosted(hosted) => {
                self.ignored.push(format!("{at}.{hosted}"));
                Ok(remove_credentials(value))
            }
            other => {
                let expected = "\"function\", \"custom\", \"namespace\", \"tollgate\" or a known hosted tool";
                Err(fields::invalid(&at.key("type"), expected, &fields::quoted(other)))
            }
        }
    }

    fn callable(
        &mut self,
        value: Value,
        namespace: Option<&str>,
        at: FieldPath<'_>,
        again: DuplicateTool,
    ) -> Result<Value, ApiError> {
        let definition = ToolDefinition::read(value, namespace, at, self.schemas)?;
        if definition.has_grammar() {
            self.ignored.push(format!("{at}.format.grammar"));
        }
        let echo = definition.echo();
        let key = (definition.namespace.clone(), definition.own_name.clone());
        match (self.known.get(&key), again) {
            (None, _) => {
                if self.definitions.len() == MAX_TOOLS {
                    let message =
                        format!("the request has more than {MAX_TOOLS} tools, counting those in namespaces");
                    return Err(ApiError::invalid(at.to_string(), "array_above_max_length", message));
                }
                self.known.insert(key, self.definitions.len());
                self.definitions.push(definition);
            }
            (Some(place), DuplicateTool::Replaces) => self.definitions[*place] = definition,
            (Some(_), DuplicateTool::Refused) => {
                let message =
                    format!("`{at}` has the name `{}`, which another tool has already", definition.own_name);
                return Err(ApiError::invalid(at.key("name").to_string(), "duplicate_tool", message));
            }
        }
        Ok(echo)
    }

    fn namespace(
        &mut self,
        value: Value,
        at: FieldPath<'_>,
        again: DuplicateTool,
    ) -> Result<Value, ApiError> {
        let mut fields = UnreadFields::new(value, at)?;
        let name = fields.required_string("name")?;
        if !tool_names::is_allowed(&name) {
            return Err(fields::invalid(&at.key("name"), tool_names::EXPECTED, &fields::quoted(&name)));
        }
        let description = fields.string("description")?;
        let list = fields.array("tools", MAX_TOOLS)?;
        let place = at.key("tools");
        let mut echoed = Vec::new();
        for (index, tool) in list.unwrap_or_default().into_iter().enumerate() {
            let at = place.index(index);
            let kind = tool_type(&tool, &at)?;
            if matches!(kind.as_str(), "function" | "custom") {
                echoed.push(self.callable(tool, Some(&name), at, again)?);
            } else if is_hosted(&kind) {
                self.ignored.push(format!("{at}.{kind}"));
                echoed.push(remove_credentials(tool));
            } else {
                let expected = fields::one_of_words(&["function", "custom"]);
                return Err(fields::invalid(&at.key("type"), &expected, &fields::quoted(&kind)));
            }
        }
        Ok(json!({ "type": "namespace", "name": name, "description": description, "tools": echoed }))
    }

    /// Parses `{"type": "tollgate"}`, an extension that requests server-side tools.
    fn server_tools(&mut self, value: Value, at: FieldPath<'_>) -> Result<Value, ApiError> {
        if self.server != ServerTools::NotAsked {
            let message =
                format!("`{at}` asks for server-side tools a second time; put all names into one list");
            return Err(ApiError::invalid(at.to_string(), "duplicate_tool", message));
        }
        let mut fields = UnreadFields::new(value, at)?;
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

    /// Assigns the names for the model.
    fn finish(self) -> ToolList {
        let ToolListReader { definitions, echoed, server, ignored, .. } = self;
        let mut names = NameAllocator::default();
        let keeps: Vec<bool> = definitions
            .iter()
            .map(|definition| {
                definition.namespace.is_none()
                    && tool_names::is_plain(&definition.own_name)
                    && names.claim(&definition.own_name)
            })
            .collect();
        let named = definitions.into_iter().zip(keeps).map(|(definition, keeps)| {
            let name = if keeps {
                definition.own_name.clone()
            } else {
                names.make(definition.namespace.as_deref(), &definition.own_name)
            };
            Arc::new(definition.into_offered(name))
        });
        ToolList { offered: named.collect(), echoed, server, ignored }
    }
}

fn tool_type(value: &Value, at: &FieldPath<'_>) -> Result<String, ApiError> {
    let Some(object) = value.as_object() else {
        return Err(fields::wrong_type(at, "an object", value));
    };
    match object.get("type") {
        Some(Value::String(kind)) => Ok(kind.clone()),
        None | Some(Value::Null) => Err(fields::missing(&at.key("type"), "the type of the tool")),
        Some(other) => Err(fields::wrong_type(&at.key("type"), "a string", other)),
    }
}

/// Removes credentials of other services: the answer repeats the tools, and is stored.
fn remove_credentials(mut tool: Value) -> Value {
    if let Some(fields) = tool.as_object_mut() {
        fields.shift_remove("authorization");
        fields.shift_remove("headers");
    }
    tool
}
