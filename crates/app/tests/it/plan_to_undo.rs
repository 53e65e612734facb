//! One plan from its text to its undo.

use std::path::Path;
use std::sync::Arc;

use app::diff::DiffLimits;
use app::plan_service::{PlanWork, check_plan, run_plan};
use app::preview::{ForecastRules, ForecastRun, PreviewVerdict};
use app::report::read_run_details;
use app::run_list::list_runs;
use app::undo::{ConflictPolicy, UndoOutlook, UndoScope, UndoTarget, prepare_undo, redo_target, undo_target};
use app::{ErrorKind, ReceiptCollector, Settings, TextStyle, Toolset, VaultContext, toolset};
use engine::{
    ApprovalDecision as CallVerdict, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, RunCancel,
    UncertainCall, UncertainDecision,
};
use envelope::ApprovalChannel;
use plan::RunStatus;
use shell::ProcessLifetime;
use toolkit::BoxFuture;

/// A front end that says yes.
pub(crate) struct SaysYes;

impl Approver for SaysYes {
    fn confirm<'a>(&'a self, _: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(std::future::ready(ConfirmAnswer::Approved { channel: ApprovalChannel::Embedder }))
    }

    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, CallVerdict> {
        Box::pin(std::future::ready(CallVerdict::ApproveOnce { channel: ApprovalChannel::Embedder }))
    }

    fn settle<'a>(&'a self, _: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(std::future::ready(UncertainDecision::Leave))
    }
}

const PLAN: &str = r##"{
    "version": "1.0",
    "goal": "Write a note",
    "riskLevel": "writes",
    "steps": [{ "id": "write", "tool": "vault.createFile", "args": { "path": "New.md", "content": "# New\n" } }]
}"##;

/// A vault with one note, under the default settings whatever the home of this machine holds.
pub(crate) fn vault(dir: &Path) -> VaultContext {
    std::fs::create_dir_all(dir.join(".tollgate")).unwrap();
    std::io::Write::write_all(&mut std::fs::File::create(dir.join("Old.md")).unwrap(), b"# Old\n").unwrap();
    VaultContext { vault: dir.canonicalize().unwrap(), settings: Settings::cautious() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_checked_forecast_run_reported_and_undone_through_the_library_alone() {
    let dir = tempfile::tempdir().unwrap();
    let context = vault(dir.path());
    let note = context.vault.join("New.md");
    let tools = Arc::new(Toolset::open(&context, ProcessLifetime::Run).unwrap());

    let wrong =
        check_plan(&PLAN.replace("vault.createFile", "vault.createFlie"), &tools.surface, &context.settings);
    assert!(wrong.plan.is_none() && !wrong.findings.is_empty());
    let plan = check_plan(PLAN, &tools.surface, &context.settings).plan.unwrap();

    let rehearsal = ForecastRun::new(&ForecastRules::of(&context.settings), tools.clone(), &plan);
    let preview = rehearsal.perform(DiffLimits::screen(), RunCancel::new()).await.unwrap();
    assert_eq!(preview.verdict(), PreviewVerdict::Works);
    assert_eq!(preview.headline, "Creates 1 note: New.md.");
    assert!(!note.exists(), "a forecast writes nothing");

    let receipts = Arc::new(ReceiptCollector::of_run());
    let engine = toolset::build_engine(&context, &tools, Arc::new(SaysYes), receipts.clone(), None).unwrap();
    let report = run_plan(&engine, PlanWork::new(plan), &context, RunCancel::new()).await.unwrap();
    assert_eq!(report.status, RunStatus::Ok);
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "# New\n");
    assert_eq!(receipts.receipts(&report.steps[0].id).len(), 1);

    let run_dir = context.run_dir("last").unwrap();
    let story = read_run_details(&context, &run_dir, true).unwrap();
    assert_eq!((&story.run_id, story.goal.as_str(), story.damaged), (&report.run_id, "Write a note", false));
    assert_eq!(story.effects.created.len(), 1);
    assert_eq!(list_runs(&context, Some("note"), 20).unwrap().found, 1);

    undo(&context, report.run_id.as_str()).await;
    assert!(!note.exists());
    assert_eq!(
        read_run_details(&context, &run_dir, false).unwrap().undone_by.as_ref(),
        Some(&newest(&context))
    );
    let again = undo_target(&context, report.run_id.as_str()).err().unwrap();
    assert_eq!((again.kind, again.code), (ErrorKind::BadInput, "already_undone"));
    assert_eq!(redo_target(&context, "last").unwrap().run_id, report.run_id);
    assert_eq!(std::fs::read_to_string(context.vault.join("Old.md")).unwrap(), "# Old\n");
}

async fn undo(context: &VaultContext, run: &str) {
    let target = undo_target(context, run).unwrap();
    let outlook =
        prepare_undo(context, target, ConflictPolicy::Refuse, DiffLimits::screen(), TextStyle::plain())
            .unwrap();
    let UndoOutlook::Ready(prepared) = outlook else { panic!("there is something to undo") };
    assert_eq!(prepared.preview.render(TextStyle::plain()).unwrap()[0], "This would remove 1 file.");
    let receipts = Arc::new(ReceiptCollector::of_run());
    let report = prepared.run(context, Arc::new(SaysYes), receipts, true, RunCancel::new()).await.unwrap();
    assert_eq!(report.status, RunStatus::Ok);
}

fn newest(context: &VaultContext) -> envelope::RunId {
    list_runs(context, None, 1).unwrap().rows.remove(0).run_id
}

const TWO_NOTES: &str = r##"{
    "version": "1.0",
    "goal": "Write two notes",
    "riskLevel": "writes",
    "steps": [
        { "id": "new", "tool": "vault.createFile", "args": { "path": "In/New.md", "content": "new" } },
        { "id": "old", "tool": "vault.writeFile", "args": { "path": "Old.md", "content": "changed" } },
        { "id": "gone", "tool": "vault.delete", "args": { "path": "Gone.md" } }
    ]
}"##;

async fn revert(context: &VaultContext, target: UndoTarget) {
    let outlook =
        prepare_undo(context, target, ConflictPolicy::Refuse, DiffLimits::screen(), TextStyle::plain())
            .unwrap();
    let UndoOutlook::Ready(prepared) = outlook else { panic!("there is something to undo") };
    let receipts = Arc::new(ReceiptCollector::of_run());
    let report = prepared.run(context, Arc::new(SaysYes), receipts, true, RunCancel::new()).await.unwrap();
    assert_eq!(report.status, RunStatus::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_run_is_undone_and_the_rest_later() {
    let dir = tempfile::tempdir().unwrap();
    let context = vault(dir.path());
    let gone = context.vault.join("Gone.md");
    std::io::Write::write_all(&mut std::fs::File::create(&gone).unwrap(), b"gone").unwrap();
    let text = |path: &str| std::fs::read_to_string(context.vault.join(path)).ok();
    let state = || (text("In/New.md"), text("Old.md").unwrap(), text("Gone.md"));
    let tools = Arc::new(Toolset::open(&context, ProcessLifetime::Run).unwrap());
    let plan = check_plan(TWO_NOTES, &tools.surface, &context.settings).plan.unwrap();
    let receipts = Arc::new(ReceiptCollector::of_run());
    let engine = toolset::build_engine(&context, &tools, Arc::new(SaysYes), receipts, None).unwrap();
    let report = run_plan(&engine, PlanWork::new(plan), &context, RunCancel::new()).await.unwrap();
    let run = report.run_id.as_str();
    let done = (Some("new".to_owned()), "changed".to_owned(), None);
    assert_eq!(state(), done);

    let owned = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>();
    let limited = |only: &[&str], keep: &[&str]| {
        undo_target(&context, run).unwrap().limited_to(UndoScope { only: owned(only), keep: owned(keep) })
    };
    for wrong in ["Other.md", "In/Other.md"] {
        let error = limited(&[wrong], &[]).err().unwrap();
        assert_eq!((error.code, error.kind), ("path_not_changed", ErrorKind::BadInput));
        assert!(error.message.ends_with(&format!("did not change `{wrong}`")), "{}", error.message);
    }
    assert_eq!(limited(&[], &["../x"]).err().unwrap().code, "bad_path");

    revert(&context, limited(&["Gone.md", "Old.md"], &["Old.md"]).unwrap()).await;
    let partly = (Some("new".to_owned()), "changed".to_owned(), Some("gone".to_owned()));
    assert_eq!(state(), partly);
    revert(&context, redo_target(&context, run).unwrap()).await;
    assert_eq!(state(), done, "the redo of a part");
    revert(&context, limited(&["In/"], &[]).unwrap()).await;
    assert_eq!(state(), (None, "changed".to_owned(), None));
    revert(&context, undo_target(&context, run).unwrap()).await;
    assert_eq!(state(), (None, "# Old\n".to_owned(), Some("gone".to_owned())), "and then the rest");
    revert(&context, redo_target(&context, run).unwrap()).await;
    assert_eq!(state(), done, "the redo of both parts");
}
