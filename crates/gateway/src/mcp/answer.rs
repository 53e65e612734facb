//! A result as clients get it: the receipt as text, and the same facts as data.
//!
//! Some clients show the model only the text, others only the data, so each alone has to be enough, and neither may
//! be longer than a receipt may be. A failure is text: clients refuse data that does not match a tool's schema.

use engine::Policy;
use envelope::{Family, Fault, ToolResult};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource};
use serde_json::{Value, json};
use toolkit::preview::tokens::estimate;

/// The address of something that a run keeps, for clients that read resources.
pub(super) fn artifact_uri(run: &str, path: &str) -> String {
    format!("tollgate://runs/{run}/{path}")
}

/// What the client gets for a call that ended.
pub(super) fn told(result: &ToolResult, family: Family, policy: &Policy, structured: bool) -> CallToolResult {
    let receipt = result.receipt.clone().or_else(|| result.user_message.clone()).unwrap_or_default();
    let mut meta = MetaObject::new();
    meta.0.insert("tollgate/run".to_owned(), json!(result.run_id));
    meta.0.insert("tollgate/call".to_owned(), json!(result.call_id));
    if let Some(error) = &result.error {
        let told = json!({
            "code": error.code,
            "kind": error.kind,
            "retryable": error.retryable,
            "hint": error.recovery_hint,
        });
        meta.0.insert("tollgate/error".to_owned(), told);
        return CallToolResult::error(vec![ContentBlock::text(receipt)]).with_meta(Some(meta));
    }
    let mut content = vec![ContentBlock::text(receipt.clone())];
    content.extend(result.artifacts.iter().map(|artifact| {
        let uri = artifact_uri(result.run_id.as_str(), &artifact.path);
        ContentBlock::resource_link(Resource::new(uri, artifact.path.clone()).with_size(artifact.bytes))
    }));
    let mut told = CallToolResult::success(content).with_meta(Some(meta));
    if structured {
        let budget = policy.receipts.budget(family, None);
        told.structured_content = Some(data(result, receipt, budget));
    }
    told
}

/// All that the tool gave if a model may read that much, else the receipt.
fn data(result: &ToolResult, receipt: String, budget: usize) -> Value {
    let summary = result.canonical.as_ref().map_or_else(
        || receipt.lines().next().unwrap_or_default().to_owned(),
        |canonical| canonical.summary_text.clone(),
    );
    let fits = |data: &&Value| {
        let text = data.to_string();
        // An estimate costs a look at every byte; what is far too long needs none.
        text.len() <= budget.saturating_mul(16) && estimate(&text) <= budget
    };
    match result.data.as_ref().filter(fits) {
        Some(data) => json!({ "summary": summary, "data": data }),
        None => json!({ "summary": summary, "receipt": receipt }),
    }
}

/// A failure of ours, outside of any call.
pub(super) fn failed(fault: &Fault) -> CallToolResult {
    let hint = fault.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
    let mut meta = MetaObject::new();
    meta.0
        .insert("tollgate/error".to_owned(), json!({ "code": fault.failure.code(), "kind": fault.failure }));
    CallToolResult::error(vec![ContentBlock::text(format!("{}{hint}", fault.message))]).with_meta(Some(meta))
}
