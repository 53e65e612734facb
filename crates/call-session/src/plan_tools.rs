//! The tools about whole plans and their undo, as front ends list and call them.
//!
//! These are tools of the server, not of the registry: a plan cannot contain a plan, and the run of a plan or an undo is
//! recorded on its own rather than as a call of another run.

use envelope::{Failure, Fault, ToolName};
use serde_json::{Map, Value, json};
use toolkit::BoxFuture;

use crate::plan_runner::{PlanRunOptions, PlanRunner, PlanSource, PlanToolResult, UndoRequest};

/// Token budget for the text about a plan. The [`PlanRunner`] keeps its texts within it.
pub const PLAN_BUDGET: usize = 4_000;

/// A tool about plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanTool {
    Check,
    Preview,
    Run,
    Undo,
}

impl PlanTool {
    pub const ALL: [PlanTool; 4] = [PlanTool::Check, PlanTool::Preview, PlanTool::Run, PlanTool::Undo];

    /// Returns the name in the spelling of the registry.
    pub const fn own_name(self) -> &'static str {
        match self {
            PlanTool::Check => "plan.check",
            PlanTool::Preview => "plan.preview",
            PlanTool::Run => "plan.run",
            PlanTool::Undo => "run.undo",
        }
    }

    pub const fn description(self) -> &'static str {
        match self {
            PlanTool::Check => "Check a plan without running it: every error with its place and a hint.",
            PlanTool::Preview => "Show with diffs what a plan would do; nothing changes.",
            PlanTool::Run => {
                "Run a plan, which the user approves once. Changes by vault tools can be undone; effects of commands cannot."
            }
            PlanTool::Undo => "Undo all changes of this session, or of one run. The user is asked.",
        }
    }

    /// Returns whether it changes nothing.
    pub const fn reads_only(self) -> bool {
        match self {
            PlanTool::Check | PlanTool::Preview => true,
            PlanTool::Run | PlanTool::Undo => false,
        }
    }

    pub fn of(tool: &ToolName) -> Option<PlanTool> {
        PlanTool::ALL.into_iter().find(|which| which.own_name() == tool.as_str())
    }

    /// Returns the schema of the arguments. The form of a plan is listed once, with the tool that runs it.
    pub fn input_schema(self) -> Value {
        match self {
            PlanTool::Check => {
                json!({ "type": "object", "properties": { "plan": { "type": "object" } }, "required": ["plan"] })
            }
            PlanTool::Preview => json!({
                "type": "object",
                "properties": { "plan": { "type": "object" }, "previewId": { "type": "string" } },
            }),
            PlanTool::Run => json!({
                "type": "object",
                "properties": {
                    "plan": plan_schema(),
                    "previewId": { "type": "string", "description": "In place of a plan that was checked or previewed." },
                },
            }),
            PlanTool::Undo => json!({ "type": "object", "properties": { "run": { "type": "string" } } }),
        }
    }

    /// Starts the work of a call. Fails if its arguments cannot be used.
    pub fn begin(
        self,
        plans: &dyn PlanRunner,
        args: Map<String, Value>,
        with: PlanRunOptions,
    ) -> Result<BoxFuture<'static, PlanToolResult>, Fault> {
        Ok(match self {
            PlanTool::Check => plans.check(plan_text(args)?, with.session),
            PlanTool::Preview => plans.preview(plan_source(args)?, with.session, with.cancel),
            PlanTool::Run => plans.run(plan_source(args)?, with),
            PlanTool::Undo => plans.undo(undo_request(args)?, with),
        })
    }
}

fn plan_schema() -> Value {
    json!({
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
                        "tool": { "type": "string" },
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
    })
}

fn bad(what: String) -> Fault {
    Fault::new(Failure::SchemaValidationFailed, what)
}

/// Returns the plan as text. Models send an object or its JSON text.
fn plan_text(mut args: Map<String, Value>) -> Result<String, Fault> {
    let plan = match args.remove("plan") {
        Some(Value::String(text)) => text,
        Some(plan @ Value::Object(_)) => plan.to_string(),
        Some(_) => return Err(bad("`plan` is not an object".to_owned())),
        None => return Err(bad("`plan` is missing".to_owned()).hint("give {\"plan\": {...}}")),
    };
    refuse_others(&args, "the only one is `plan`")?;
    Ok(plan)
}

/// Returns the plan, or the id of one that was checked or previewed.
fn plan_source(mut args: Map<String, Value>) -> Result<PlanSource, Fault> {
    match args.remove("previewId") {
        None if args.contains_key("plan") => plan_text(args).map(PlanSource::Text),
        None => Err(bad("`plan` is missing".to_owned()).hint(
            "give {\"plan\": {...}}, or {\"previewId\": \"...\"} of a plan that was checked or previewed",
        )),
        Some(_) if args.contains_key("plan") => {
            Err(bad("`plan` and `previewId` exclude each other".to_owned()).hint("give one of them"))
        }
        Some(Value::String(id)) => {
            refuse_others(&args, "there are only `plan` and `previewId`")?;
            Ok(PlanSource::Previewed(id))
        }
        Some(_) => Err(bad("`previewId` is not a string".to_owned())),
    }
}

fn undo_request(mut args: Map<String, Value>) -> Result<UndoRequest, Fault> {
    let request = match args.remove("run") {
        None => UndoRequest::Session,
        Some(Value::String(run)) => UndoRequest::Run(run),
        Some(_) => {
            return Err(bad("`run` is not a string".to_owned()).hint("give the id of a run, or nothing"));
        }
    };
    refuse_others(&args, "the only one is `run`")?;
    Ok(request)
}

fn refuse_others(args: &Map<String, Value>, hint: &str) -> Result<(), Fault> {
    match args.keys().next() {
        Some(other) => {
            let shown: String = other.chars().take(80).flat_map(char::escape_debug).collect();
            Err(bad(format!("there is no argument `{shown}`")).hint(hint))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{plan_source, plan_text, undo_request};
    use crate::plan_runner::{PlanSource, UndoRequest};

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

    #[test]
    fn a_plan_that_was_previewed_is_named_by_its_id_alone() {
        let source = |args: serde_json::Value| {
            let args = args.as_object().cloned().unwrap_or_default();
            plan_source(args).map_err(|fault| fault.message)
        };
        assert_eq!(source(json!({ "previewId": "p1" })), Ok(PlanSource::Previewed("p1".to_owned())));
        assert_eq!(source(json!({ "plan": "{}" })), Ok(PlanSource::Text("{}".to_owned())));
        for (wrong, why) in [
            (json!({ "plan": {}, "previewId": "p1" }), "`plan` and `previewId` exclude each other"),
            (json!({ "previewId": 1 }), "`previewId` is not a string"),
            (json!({ "previewId": "p1", "yes": true }), "there is no argument `yes`"),
            (json!({}), "`plan` is missing"),
        ] {
            assert_eq!(source(wrong), Err(why.to_owned()));
        }
    }

    #[test]
    fn an_undo_names_a_run_or_means_the_session() {
        let request = |args: serde_json::Value| {
            let args = args.as_object().cloned().unwrap_or_default();
            undo_request(args).map_err(|fault| fault.message)
        };
        assert_eq!(request(json!({})), Ok(UndoRequest::Session));
        assert_eq!(request(json!({ "run": "0199" })), Ok(UndoRequest::Run("0199".to_owned())));
        assert_eq!(request(json!({ "run": null })), Err("`run` is not a string".to_owned()));
        assert_eq!(request(json!({ "last": true })), Err("there is no argument `last`".to_owned()));
    }
}
