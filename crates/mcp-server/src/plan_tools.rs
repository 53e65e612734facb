//! Plans as tools: a client can check, preview and run a whole plan, which is approved once.
//!
//! These are tools of the server, not of the registry: a plan cannot contain a plan, and the run of a plan is
//! recorded on its own rather than as a call of another run.

use std::sync::Arc;

use call_session::{PlanRunOptions, PlanToolResult};
use engine::CallRequest;
use envelope::{Failure, Fault, ToolName, escape_invisible};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use toolkit::BoxFuture;

use super::call_result;
use super::listing::{ListingOptions, ToolListing, object, output_schema, title};
use super::question::ClientQuestion;
use super::server::McpHandler;

/// Token budget for the text about a plan. The [`PlanRunner`] keeps its texts within it.
pub const PLAN_BUDGET: usize = 4_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanTool {
    Check,
    Preview,
    Run,
}

const ALL: [PlanTool; 3] = [PlanTool::Check, PlanTool::Preview, PlanTool::Run];

impl PlanTool {
    const fn own_name(self) -> &'static str {
        match self {
            PlanTool::Check => "plan.check",
            PlanTool::Preview => "plan.preview",
            PlanTool::Run => "plan.run",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            PlanTool::Check => "Check a plan without running it: every error with its place and a hint.",
            PlanTool::Preview => "Show with diffs what a plan would do; nothing changes.",
            PlanTool::Run => {
                "Run a plan, which the user approves once. Changes by vault tools can be undone; effects of commands cannot."
            }
        }
    }

    pub(super) fn of(tool: &ToolName) -> Option<PlanTool> {
        ALL.into_iter().find(|which| which.own_name() == tool.as_str())
    }
}

/// Adds the plan tools to the list.
pub(super) fn add_plan_tools(listing: &mut ToolListing, show: &ListingOptions) {
    for which in ALL {
        let Ok(own) = ToolName::parse(which.own_name()) else { continue };
        let name = if show.dotted { own.to_string() } else { own.as_str().replace('.', "_") };
        let reads = which != PlanTool::Run;
        let hints =
            ToolAnnotations::new().read_only(reads).destructive(!reads).idempotent(reads).open_world(!reads);
        let mut tool = Tool::new(name, which.description(), object(&input_schema(which)))
            .with_title(title(own.as_str()))
            .with_annotations(hints);
        if show.output_schemas {
            tool = tool.with_raw_output_schema(object(&output_schema(&json!({ "type": "object" }))));
        }
        listing.add(own, tool);
    }
}

/// Returns the schema of the arguments. The form of a plan is listed once, with the tool that runs it.
fn input_schema(which: PlanTool) -> Value {
    if which != PlanTool::Run {
        return json!({
            "type": "object",
            "properties": { "plan": { "type": "object", "description": "As for `plan.run`." } },
            "required": ["plan"],
            "additionalProperties": false,
        });
    }
    json!({
        "type": "object",
        "properties": {
            "plan": {
                "type": "object",

                "properties": {
                    "version": { "const": "1.0" },
                    "goal": { "type": "string" },
                    "riskLevel": { "enum": ["read-only", "writes", "commands"], "description": "The highest risk of its tools." },
                    "vars": { "type": "object", "description": "Values that steps refer to as $vars.<name>." },
                    "steps": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": { "type": "string", "description": "Letters, digits, _ or -." },
                                "tool": { "type": "string", "description": "Such as vault.createFile." },
                                "args": { "type": "object", "description": "Its arguments. A string that is wholly $steps.<id>.<field> takes that field of an earlier step's output." },
                                "dependsOn": { "type": "array", "items": { "type": "string" } },
                                "foreach": { "type": "object", "description": "{from, itemName}: runs the step for each item; {item.x} in strings is replaced." },
                                "onError": { "enum": ["stop", "skip", "retry"] },
                            },
                            "required": ["id", "tool", "args"],
                        },
                    },
                },
                "required": ["version", "goal", "riskLevel", "steps"],
            },
        },
        "required": ["plan"],
        "additionalProperties": false,
    })
}

impl McpHandler {
    pub(super) fn plan_call(
        &self,
        which: PlanTool,
        request: CallRequest,
        questions: Option<mpsc::Sender<ClientQuestion>>,
        cx: &RequestContext<RoleServer>,
    ) -> BoxFuture<'static, CallToolResult> {
        let CallRequest { args, progress, cancel, .. } = request;
        let plan = match plan_text(args) {
            Ok(plan) => plan,
            Err(fault) => return Box::pin(async move { call_result::error_result(&fault) }),
        };
        let parts = &self.server.parts;
        let work = match which {
            PlanTool::Check => parts.plans.check(plan),
            PlanTool::Preview => parts.plans.preview(plan, cancel.clone()),
            PlanTool::Run => {
                let approvals = self.server.surface().policy.approval;
                let client = self.client(cx);
                let approver = self.approver(&client, questions, approvals, false);
                let progress = progress.unwrap_or_else(|| Arc::new(|_dropped| {}));
                let session = self.session_of(&client, cx);
                let client = client.to_string();
                let options = PlanRunOptions { approver, progress, cancel: cancel.clone(), client, session };
                parts.plans.run(plan, options)
            }
        };
        let structured = parts.settings.structured;
        let result = self.server.runs.run_to_end(cancel, work);
        Box::pin(async move {
            match result.await {
                Some(result) => plan_result(result, structured),
                None => call_result::error_result(&Fault::new(
                    Failure::ExecutionFailed,
                    "this crashed; `tollgate runs` shows whether anything was begun",
                )),
            }
        })
    }
}

/// Returns the plan as text. Models send an object or its JSON text.
fn plan_text(mut args: Map<String, Value>) -> Result<String, Fault> {
    let bad = |what: String| Fault::new(Failure::SchemaValidationFailed, what);
    let plan = match args.remove("plan") {
        Some(Value::String(text)) => text,
        Some(plan @ Value::Object(_)) => plan.to_string(),
        Some(_) => return Err(bad("`plan` is not an object".to_owned())),
        None => return Err(bad("`plan` is missing".to_owned()).hint("give {\"plan\": {...}}")),
    };
    match args.keys().next() {
        Some(other) => {
            let shown: String = other.chars().take(80).flat_map(char::escape_debug).collect();
            Err(bad(format!("there is no argument `{shown}`")).hint("the only one is `plan`"))
        }
        None => Ok(plan),
    }
}

fn plan_result(result: PlanToolResult, structured: bool) -> CallToolResult {
    let PlanToolResult { ok, summary, text, data, run } = result;
    let mut meta = MetaObject::new();
    if let Some(run) = run {
        meta.0.insert("tollgate/run".to_owned(), json!(run));
    }
    let text = escape_invisible(&text).into_owned();
    let content = vec![ContentBlock::text(text.clone())];
    if !ok {
        meta.0.insert("tollgate/plan".to_owned(), data);
        return CallToolResult::error(content).with_meta(Some(meta));
    }
    let mut result = CallToolResult::success(content).with_meta(Some(meta));
    if structured {
        result.structured_content =
            Some(call_result::structured_content(Some(data), summary, &text, PLAN_BUDGET));
    }
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::plan_text;

    #[test]
    fn a_plan_is_an_object_or_the_text_of_one() {
        let text = |args: serde_json::Value| {
            let args = args.as_object().cloned().unwrap_or_default();
            plan_text(args).map_err(|fault| fault.message)
        };
        assert_eq!(text(json!({ "plan": { "goal": "x" } })), Ok("{\"goal\":\"x\"}".to_owned()));
        assert_eq!(text(json!({ "plan": "{}" })), Ok("{}".to_owned()));
        assert_eq!(text(json!({ "plan": 7 })), Err("`plan` is not an object".to_owned()));
        assert_eq!(text(json!({})), Err("`plan` is missing".to_owned()));
        assert_eq!(text(json!({ "plan": {}, "yes": true })), Err("there is no argument `yes`".to_owned()));
    }
}
