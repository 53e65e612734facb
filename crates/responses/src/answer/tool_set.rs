//! The tools of one answer: the client's, and Tollgate's own where they are offered.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::settings::AnswerSettings;
use super::toolbox::Toolbox;
use crate::error::ApiError;
use crate::prompt::ToolPromptMode;
use crate::request::{Request, ServerTools};
use crate::tools::{OfferedTool, ToolChoice};
use sentinel::{CheckArguments, ToolNames};

/// The tools that the model is offered.
pub(super) struct ToolSet {
    known: Arc<HashMap<String, KnownTool>>,
    names: Arc<ToolNames>,
}

struct KnownTool {
    tool: Arc<OfferedTool>,
    location: ToolLocation,
    /// Whether `tool_choice` lets the model call it.
    allowed: bool,
}

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolLocation {
    Client,
    Server,
}

impl ToolSet {
    /// Adds Tollgate's tools to those of the request, if they are requested or always offered. Fails if a name occurs
    /// twice, or if `tool_choice` names an unknown tool.
    pub(super) fn new(
        request: &mut Request,
        toolbox: Option<&dyn Toolbox>,
        settings: &AnswerSettings,
    ) -> Result<ToolSet, ApiError> {
        let offered = server_tools(request, toolbox, settings)?;
        let clients = request.tools.len();
        for tool in offered {
            if let Some(duplicate) = request.tools.iter().find(|own| own.name == tool.name) {
                return Err(ApiError::invalid(
                    "tools",
                    "duplicate_tool",
                    format!(
                        "`{}` is also a tool of this server; rename yours, or name the server's tools that you want",
                        duplicate.name
                    ),
                ));
            }
            request.tools.push(Arc::new(tool));
        }
        let choice = std::mem::take(&mut request.choice);
        request.choice = resolve_choice(choice, &request.tools, toolbox)?;
        let known: HashMap<String, KnownTool> = request
            .tools
            .iter()
            .enumerate()
            .map(|(at, tool)| {
                let location = if at < clients { ToolLocation::Client } else { ToolLocation::Server };
                let allowed = request.choice.allows(&tool.name);
                (tool.name.clone(), KnownTool { tool: tool.clone(), location, allowed })
            })
            .collect();
        let names = known.values().filter(|known| known.allowed);
        let mut names: ToolNames = names.map(|known| (known.tool.name.clone(), known.tool.strict)).collect();
        for known_tool in known.values().filter(|known| known.allowed) {
            for other in other_names(&known_tool.tool) {
                // A name of another tool means that tool, also if it may not be called.
                let is_taken = known.values().any(|rival| {
                    rival.tool.name != known_tool.tool.name
                        && (rival.tool.name == other || rival.tool.own_name == other)
                });
                if other == known_tool.tool.own_name || !is_taken {
                    names.add_other_name(other, &known_tool.tool.name);
                }
            }
        }
        Ok(ToolSet { known: Arc::new(known), names: Arc::new(names) })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns the names that count as calls in text: none for a model with native tools.
    pub(super) fn names(&self, mode: ToolPromptMode) -> Arc<ToolNames> {
        match mode {
            ToolPromptMode::Sentinel => self.names.clone(),
            ToolPromptMode::Native => Arc::default(),
        }
    }

    /// Returns a tool that the model may call, by any of its names.
    pub(super) fn allowed_tool(&self, name: &str) -> Option<(&OfferedTool, ToolLocation)> {
        let (name, _strict) = self.names.resolve(name)?;
        self.known.get(name).filter(|known| known.allowed).map(|known| (&*known.tool, known.location))
    }

    /// Returns a checker of arguments against the schemas of the tools.
    pub(super) fn checker(&self) -> ArgumentsChecker {
        ArgumentsChecker(self.known.clone())
    }

    pub(super) fn any_on_server(&self) -> bool {
        self.known.values().any(|known| known.location == ToolLocation::Server)
    }

    /// Whether a malformed block can be a failure.
    pub(super) fn any_strict(&self) -> bool {
        self.known.values().any(|known| known.tool.strict && known.allowed)
    }
}

/// Returns the other names by which a model may call a tool: those of the client, and the last part of a dotted one.
fn other_names(tool: &OfferedTool) -> Vec<String> {
    let own = &tool.own_name;
    let mut names = vec![own.clone()];
    if let Some(namespace) = &tool.namespace {
        names.extend([format!("{namespace}.{own}"), format!("{namespace}__{own}")]);
    }
    names.extend(own.rsplit_once('.').map(|(_, last)| last.to_owned()));
    // The server's own tools: the model sees `vault_createFile` and may have read of `vault.createFile`.
    names.extend(own.split_once('_').map(|(first, rest)| format!("{first}.{rest}")));
    names
}

/// Replaces the server's own names, with dots, by the names that the model sees.
fn resolve_choice(
    choice: ToolChoice,
    tools: &[Arc<OfferedTool>],
    toolbox: Option<&dyn Toolbox>,
) -> Result<ToolChoice, ApiError> {
    let find = |name: String| -> Result<String, ApiError> {
        if tools.iter().any(|tool| tool.name == name) {
            return Ok(name);
        }
        let alias = toolbox.and_then(|toolbox| toolbox.tools(Some(std::slice::from_ref(&name))).ok());
        let alias = alias.and_then(|found| found.into_iter().next()).map(|tool| tool.name);
        alias.filter(|alias| tools.iter().any(|tool| tool.name == *alias)).ok_or_else(|| {
            ApiError::invalid(
                "tool_choice",
                "unknown_tool",
                format!("`tool_choice` names `{name}`, which is not among the tools of this request"),
            )
        })
    };
    Ok(match choice {
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => choice,
        ToolChoice::Tool(name) => ToolChoice::Tool(find(name)?),
        ToolChoice::Allowed { names, required } => {
            ToolChoice::Allowed { names: names.into_iter().map(find).collect::<Result<_, _>>()?, required }
        }
    })
}

fn server_tools(
    request: &Request,
    toolbox: Option<&dyn Toolbox>,
    settings: &AnswerSettings,
) -> Result<Vec<OfferedTool>, ApiError> {
    let names = match &request.server_tools {
        ServerTools::NotAsked if settings.offer_tools && request.tools.is_empty() => None,
        ServerTools::NotAsked => return Ok(Vec::new()),
        ServerTools::All { .. } => None,
        ServerTools::Named { names, .. } => Some(names.as_slice()),
    };
    match toolbox {
        Some(toolbox) => toolbox.tools(names),
        None => Err(ApiError::invalid(
            "tools",
            "server_tools_off",
            "this server does not run tools of its own; start it with `tollgate serve --tools`",
        )),
    }
}

pub(super) struct ArgumentsChecker(Arc<HashMap<String, KnownTool>>);

impl CheckArguments for ArgumentsChecker {
    fn check(&self, name: &str, arguments: &Value) -> Result<(), String> {
        let Some(known) = self.0.get(name) else { return Ok(()) };
        let problems = known.tool.schema.validate(arguments);
        match problems.first() {
            None => Ok(()),
            Some(first) => {
                let place = if first.pointer.is_empty() { "the arguments" } else { &first.pointer };
                let more = match problems.len() - 1 {
                    0 => String::new(),
                    more => format!(" (and {more} more)"),
                };
                Err(format!("{place}: {}{more}", first.message))
            }
        }
    }
}
