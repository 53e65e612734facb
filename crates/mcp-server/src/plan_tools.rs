//! Plans as tools: a client can check, preview, run and undo a whole plan, which is approved once.

use std::sync::Arc;

use call_session::{PLAN_BUDGET, PlanRunOptions, PlanTool, PlanToolResult};
use engine::CallRequest;
use envelope::{Failure, Fault, ToolName, escape_invisible};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde_json::json;
use tokio::sync::mpsc;
use toolkit::BoxFuture;

use super::call_result;
use super::listing::{ListingOptions, ToolListing, object, output_schema, title};
use super::question::ClientQuestion;
use super::server::McpHandler;

/// Adds the plan tools to the list.
pub(super) fn add_plan_tools(listing: &mut ToolListing, show: &ListingOptions) {
    for which in PlanTool::ALL {
        let Ok(own) = ToolName::parse(which.own_name()) else { continue };
        let name = if show.dotted { own.to_string() } else { own.as_str().replace('.', "_") };
        let reads = which.reads_only();
        let hints =
            ToolAnnotations::new().read_only(reads).destructive(!reads).idempotent(reads).open_world(!reads);
        let mut tool = Tool::new(name, which.description(), object(&which.input_schema()))
            .with_title(title(own.as_str()))
            .with_annotations(hints);
        if show.output_schemas {
            tool = tool.with_raw_output_schema(object(&output_schema(&json!({ "type": "object" }))));
        }
        listing.add(own, tool);
    }
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
        let parts = &self.server.parts;
        let approvals = self.server.surface().policy.approval;
        let client = self.client(cx);
        let options = PlanRunOptions {
            approver: self.approver(&client, questions, approvals, false),
            progress: progress.unwrap_or_else(|| Arc::new(|_dropped| {})),
            cancel: cancel.clone(),
            session: self.session_of(&client, cx),
            client: client.to_string(),
        };
        let work = match which.begin(&*parts.plans, args, options) {
            Ok(work) => work,
            Err(fault) => return Box::pin(async move { call_result::error_result(&fault) }),
        };
        // An undo needs the changes of the calls so far, so their run ends before it. The next call begins another one.
        let closing = (which == PlanTool::Undo).then(|| self.close_run(&client, cx));
        let work = async move {
            if let Some(closing) = closing {
                closing.await?;
            }
            Ok(work.await)
        };
        let structured = parts.settings.structured;
        let result = self.server.runs.run_to_end(cancel, work);
        Box::pin(async move {
            match result.await {
                Some(Ok(result)) => plan_result(result, structured),
                Some(Err(fault)) => call_result::error_result(&fault),
                None => call_result::error_result(&Fault::new(
                    Failure::ExecutionFailed,
                    "this crashed; `tollgate runs` shows whether anything was begun",
                )),
            }
        })
    }
}

fn plan_result(result: PlanToolResult, structured: bool) -> CallToolResult {
    let PlanToolResult { ok, summary, text, data, run, .. } = result;
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
