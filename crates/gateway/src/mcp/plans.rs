//! Plans as tools: a client has a whole batch checked, previewed, approved with one yes and run.
//!
//! These are tools of the face, not of the registry: a plan cannot contain a plan, and the run of a plan is a record
//! of its own rather than a call in another.

use std::sync::Arc;

use engine::Approver;
use envelope::{Failure, Fault, ToolName, escape_invisible};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};
use toolkit::{BoxFuture, CancelToken, ProgressSink};

use super::answer;
use super::calls::Line;
use super::face::McpHandler;
use super::listing::{Listing, Show, object, output_schema, title};

/// What a model may be given to read of a plan, in tokens. The text is kept within it by whoever writes it.
pub const PLAN_BUDGET: usize = 4_000;

/// Whoever can check, foresee and run plans.
pub trait Plans: Send + Sync {
    fn check(&self, plan: String) -> BoxFuture<'static, PlanAnswer>;
    fn preview(&self, plan: String, cancel: CancelToken) -> BoxFuture<'static, PlanAnswer>;
    fn run(&self, plan: String, with: PlanRun) -> BoxFuture<'static, PlanAnswer>;
}

/// What a plan runs with.
pub struct PlanRun {
    /// Who is asked, where that is not whoever answers for the engine.
    pub approver: Option<Arc<dyn Approver>>,
    pub progress: ProgressSink,
    pub cancel: CancelToken,
    /// Who wrote the plan, for the record.
    pub client: String,
}

/// What the client is told.
pub struct PlanAnswer {
    pub ok: bool,
    /// One line.
    pub summary: String,
    /// Everything a model has to know, within [`PLAN_BUDGET`] tokens.
    pub text: String,
    /// The same for programs.
    pub data: Value,
    /// The run, where there was one.
    pub run: Option<String>,
}

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
            PlanTool::Check => {
                "Check a plan without running it: every error with its step, place and a hint. Nothing is asked and nothing changes."
            }
            PlanTool::Preview => {
                "Show what a plan would do, with diffs, on the vault as it is now. Nothing is asked and nothing changes."
            }
            PlanTool::Run => {
                "Run a plan: the person sees what it would do and says yes once, then all its steps run and are recorded as one run that can be undone."
            }
        }
    }

    pub(super) fn of(tool: &ToolName) -> Option<PlanTool> {
        ALL.into_iter().find(|which| which.own_name() == tool.as_str())
    }
}

/// Adds the tools to the list.
pub(super) fn list(listing: &mut Listing, show: Show) {
    for which in ALL {
        let Ok(own) = ToolName::parse(which.own_name()) else { continue };
        let name = if show.dotted { own.to_string() } else { own.as_str().replace('.', "_") };
        let reads = which != PlanTool::Run;
        let hints =
            ToolAnnotations::new().read_only(reads).destructive(!reads).idempotent(reads).open_world(!reads);
        let mut tool = Tool::new(name, which.description(), object(&input_schema()))
            .with_title(title(own.as_str()))
            .with_annotations(hints);
        if show.structured {
            tool = tool.with_raw_output_schema(object(&output_schema(&json!({ "type": "object" }))));
        }
        listing.add(own, tool);
    }
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "plan": {
                "type": "object",
                "description": "The plan.",
                "properties": {
                    "version": { "const": "1.0" },
                    "goal": { "type": "string", "description": "What it is for, in one sentence." },
                    "riskLevel": { "enum": ["read-only", "writes", "commands"], "description": "The worst that its tools do." },
                    "vars": { "type": "object", "description": "Values that steps refer to as $vars.<name>." },
                    "steps": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": { "type": "string", "description": "A letter, then letters, digits, _ or -." },
                                "tool": { "type": "string", "description": "The name of a tool, such as vault.createFile." },
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
        args: Map<String, Value>,
        line: Line,
        cx: &RequestContext<RoleServer>,
    ) -> BoxFuture<'static, CallToolResult> {
        let plan = match plan_text(args) {
            Ok(plan) => plan,
            Err(fault) => return Box::pin(async move { answer::failed(&fault) }),
        };
        let parts = &self.face.parts;
        let cancel = line.cancel.clone();
        let work = match which {
            PlanTool::Check => parts.plans.check(plan),
            PlanTool::Preview => parts.plans.preview(plan, line.cancel),
            PlanTool::Run => {
                let approvals = self.face.surface().policy.approval;
                let approver = self.approver(line.questions, approvals, Value::Null, false);
                let progress = line.progress.unwrap_or_else(|| Arc::new(|_unheard| {}));
                let client = self.client(cx);
                let with = PlanRun { approver, progress, cancel: line.cancel, client };
                parts.plans.run(plan, with)
            }
        };
        let structured = parts.settings.structured;
        let done = self.face.runs.carry(cancel, work);
        Box::pin(async move {
            match done.await {
                Some(done) => told(done, structured),
                None => answer::failed(&Fault::new(
                    Failure::ExecutionFailed,
                    "this crashed; `tollgate runs` shows whether anything was begun",
                )),
            }
        })
    }
}

/// The plan as text. An object, or the text of one: models send either.
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

fn told(done: PlanAnswer, structured: bool) -> CallToolResult {
    let PlanAnswer { ok, summary, text, data, run } = done;
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
    let mut told = CallToolResult::success(content).with_meta(Some(meta));
    if structured {
        told.structured_content = Some(answer::data(Some(data), summary, &text, PLAN_BUDGET));
    }
    told
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
