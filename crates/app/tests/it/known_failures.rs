//! A call or plan that is certain to fail is not asked about: the model gets the failure, and the record shows why.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use app::plan_service::{PlanWork, check_plan, run_plan};
use app::preview::OverlayForecaster;
use app::report::read_run_details;
use app::{ReceiptCollector, Toolset, VaultContext, toolset};
use engine::{
    ApprovalDecision, ApprovalRequest, Approver, CallRequest, ConfirmAnswer, ConfirmRequest, RunCancel,
    RunPlace, RunReport, SessionRequest, UncertainCall, UncertainDecision,
};
use envelope::{ApprovalChannel, Failure, ToolName};
use plan::RunStatus;
use serde_json::{Value, json};
use shell::ProcessLifetime;
use toolkit::{BoxFuture, CancelToken};

use crate::plan_to_undo::vault;

/// Approves every call, declines every plan, and counts the questions.
#[derive(Default)]
struct Counting(AtomicU32);

impl Approver for Counting {
    fn confirm<'a>(&'a self, _: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(ConfirmAnswer::Declined { reason: "the user declined".to_owned() }))
    }

    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(ApprovalDecision::ApproveOnce { channel: ApprovalChannel::Embedder }))
    }

    fn settle<'a>(&'a self, _: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(std::future::ready(UncertainDecision::Leave))
    }
}

const MISSING_TEXT: &str = "nowhere in the note";

fn replace(find: &str) -> Value {
    json!({ "path": "Old.md", "find": find, "replace": "new" })
}

/// Runs a plan of these steps. Returns the report and the number of questions.
async fn run(context: &VaultContext, steps: Value, refuses: bool) -> (RunReport, u32) {
    let tools = Arc::new(Toolset::open(context, ProcessLifetime::Run).unwrap());
    let risk = if steps.to_string().contains("ExecCommand") { "commands" } else { "writes" };
    let plan = json!({ "version": "1.0", "goal": "Change a note", "riskLevel": risk, "steps": steps });
    let plan = check_plan(&plan.to_string(), &tools.surface, &context.settings).plan.unwrap();
    let forecaster = OverlayForecaster::new(&context.settings, &tools);
    let forecaster = Arc::new(if refuses { forecaster.refusing_failures() } else { forecaster });
    let (approver, receipts) = (Arc::new(Counting::default()), Arc::new(ReceiptCollector::of_run()));
    let engine =
        toolset::build_engine(context, &tools, approver.clone(), receipts, Some(forecaster.clone())).unwrap();
    let work = PlanWork { forecaster: Some(forecaster), ..PlanWork::new(plan) };
    let report = run_plan(&engine, work, context, RunCancel::new()).await.unwrap();
    (report, approver.0.load(Ordering::SeqCst))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_certain_to_fail_ends_with_its_failure_and_no_one_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let context = vault(dir.path());
    let tools = Arc::new(Toolset::open(&context, ProcessLifetime::Run).unwrap());
    let forecaster = Arc::new(OverlayForecaster::new(&context.settings, &tools));
    let (approver, receipts) = (Arc::new(Counting::default()), Arc::new(ReceiptCollector::of_run()));
    let engine =
        toolset::build_engine(&context, &tools, approver.clone(), receipts, Some(forecaster)).unwrap();
    let name = ToolName::parse("vault.replaceText").unwrap();
    let request = SessionRequest {
        place: RunPlace::Disk(context.prepare_runs().unwrap()),
        session: None,
        goal: "calls".to_owned(),
        planner_version: None,
        tools: vec![name.clone()],
    };
    let session = engine.open_session(request).unwrap();
    let mut results = Vec::new();
    for find in [MISSING_TEXT, "Old"] {
        let Value::Object(args) = replace(find) else { panic!("arguments are an object") };
        results.push(session.call(CallRequest::new(name.clone(), args, CancelToken::new())).await);
    }
    session.close(None).await;
    let asked = approver.0.load(Ordering::SeqCst);
    assert_eq!((results[0].ok, results[1].ok, asked), (false, true, 1), "{:?}", results[0]);
    let error = results[0].error.as_ref().unwrap();
    assert!(matches!(error.kind, Some(Failure::NotFound | Failure::PreconditionFailed)), "{error:?}");
    assert!(error.recovery_hint.is_some() && results[0].changes.is_empty());
    let record = serde_json::to_string(&results[0].phases).unwrap();
    assert!(record.contains("certain to fail, so no one was asked"), "{record}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_is_certain_to_fail_is_declined_and_no_one_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let context = vault(dir.path());
    let steps = json!([
        { "id": "new", "tool": "vault.createFile", "args": { "path": "New.md", "content": "new" } },
        { "id": "change", "tool": "vault.replaceText", "args": replace(MISSING_TEXT) },
    ]);
    let (report, asked) = run(&context, steps.clone(), true).await;
    assert_eq!((report.status, asked), (RunStatus::Declined, 0));
    let reason = report.reason.unwrap();
    assert!(reason.starts_with("no one was asked, because step change is certain to fail: "), "{reason}");
    assert!(!context.vault.join("New.md").exists());
    let details = read_run_details(&context, &report.run_dir.unwrap(), true).unwrap();
    assert!(details.ending.unwrap().contains("step change is certain to fail"));

    // A person sees the preview and decides.
    let (report, asked) = run(&context, steps, false).await;
    assert_eq!((report.status, asked), (RunStatus::Declined, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_may_work_is_asked_about() {
    let dir = tempfile::tempdir().unwrap();
    let context = vault(dir.path());
    let change = json!({ "id": "change", "tool": "vault.replaceText", "args": replace(MISSING_TEXT) });
    let command = json!({ "id": "command", "tool": "ExecCommand", "args": { "cmd": "true" } });
    let mut skipped = change.clone();
    skipped["onError"] = json!("skip");
    let mut after = command.clone();
    after["dependsOn"] = json!(["change"]);
    for (steps, questions) in [
        // The run goes on after it.
        (json!([skipped]), 1),
        // The command may write what the step looks for.
        (json!([command.clone(), change.clone()]), 1),
        (json!([change.clone(), after]), 0),
    ] {
        let (report, asked) = run(&context, steps.clone(), true).await;
        assert_eq!((report.status, asked), (RunStatus::Declined, questions), "{steps}");
    }
}
