//! The tools of one answer: the client's, and Tollgate's own where they are offered.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::settings::AnswerSettings;
use super::toolbox::Toolbox;
use crate::responses::error::ApiError;
use crate::responses::prompt::Mode;
use crate::responses::request::{Request, ServerTools};
use crate::responses::tools::{Choice, OfferedTool};
use crate::sentinel::{CheckArguments, ToolNames};

pub(super) struct Tools {
    known: Arc<HashMap<String, Known>>,
    names: Arc<ToolNames>,
}

struct Known {
    tool: Arc<OfferedTool>,
    runs: Runs,
    /// Whether `tool_choice` lets the model call it.
    allowed: bool,
}

/// Who runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    Client,
    Here,
}

impl Tools {
    /// Adds Tollgate's tools to those of the request, if they are asked for or always offered.
    pub(super) fn of(
        request: &mut Request,
        toolbox: Option<&dyn Toolbox>,
        settings: &AnswerSettings,
    ) -> Result<Tools, ApiError> {
        let offered = server_tools(request, toolbox, settings)?;
        let clients = request.tools.len();
        for tool in offered {
            if let Some(twin) = request.tools.iter().find(|own| own.name == tool.name) {
                return Err(ApiError::invalid(
                    "tools",
                    "duplicate_tool",
                    format!(
                        "`{}` is also a tool of this server; rename yours, or name the server's tools that you want",
                        twin.name
                    ),
                ));
            }
            request.tools.push(Arc::new(tool));
        }
        let choice = std::mem::take(&mut request.choice);
        request.choice = meant(choice, &request.tools, toolbox)?;
        let known: HashMap<String, Known> = request
            .tools
            .iter()
            .enumerate()
            .map(|(at, tool)| {
                let runs = if at < clients { Runs::Client } else { Runs::Here };
                let allowed = request.choice.allows(&tool.name);
                (tool.name.clone(), Known { tool: tool.clone(), runs, allowed })
            })
            .collect();
        let names = known.values().filter(|known| known.allowed);
        let names = names.map(|known| (known.tool.name.clone(), known.tool.strict)).collect();
        Ok(Tools { known: Arc::new(known), names: Arc::new(names) })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The names that count as calls in text. A model with native tools calls through those alone.
    pub(super) fn names(&self, mode: Mode) -> Arc<ToolNames> {
        match mode {
            Mode::Sentinel => self.names.clone(),
            Mode::Native => Arc::default(),
        }
    }

    /// A tool that the model may call.
    pub(super) fn allowed(&self, name: &str) -> Option<(&OfferedTool, Runs)> {
        self.known.get(name).filter(|known| known.allowed).map(|known| (&*known.tool, known.runs))
    }

    /// Holds arguments against the schema of their tool.
    pub(super) fn checker(&self) -> Checker {
        Checker(self.known.clone())
    }

    pub(super) fn any_here(&self) -> bool {
        self.known.values().any(|known| known.runs == Runs::Here)
    }

    /// Whether a block that is no call can be a failure.
    pub(super) fn any_strict(&self) -> bool {
        self.known.values().any(|known| known.tool.strict && known.allowed)
    }
}

/// A client may choose one of the server's tools by its own name, with dots; the model sees another one.
fn meant(
    choice: Choice,
    tools: &[Arc<OfferedTool>],
    toolbox: Option<&dyn Toolbox>,
) -> Result<Choice, ApiError> {
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
        Choice::Auto | Choice::None | Choice::Required => choice,
        Choice::Tool(name) => Choice::Tool(find(name)?),
        Choice::Allowed { names, required } => {
            Choice::Allowed { names: names.into_iter().map(find).collect::<Result<_, _>>()?, required }
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

pub(super) struct Checker(Arc<HashMap<String, Known>>);

impl CheckArguments for Checker {
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
