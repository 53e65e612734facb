//! Sessions are undone as a whole: single calls and plans that change the same notes in turn, in one undo and one redo.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use app::diff::DiffLimits;
use app::plan_service::{PlanWork, check_plan, run_plan};
use app::report::read_run_details;
use app::run_list::list_runs;
use app::undo::{
    ConflictChoice, ConflictPolicy, PreparedUndo, UndoOutlook, UndoScope, UndoTarget, prepare_undo,
    session_redo_target, session_undo_target, undo_target, undo_target_with_later,
};
use app::{AppError, ReceiptCollector, TextStyle, Toolset, VaultContext, toolset};
use engine::{CallRequest, Engine, RunCancel, RunPlace, SessionRequest, SessionRun};
use envelope::{RunId, SessionId, ToolName};
use plan::RunStatus;
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use serde_json::{Value, json};
use shell::ProcessLifetime;
use toolkit::CancelToken;

use crate::plan_to_undo::{SaysYes, vault};

/// Files and folders of the vault, without Tollgate's own and without the trash.
type Tree = BTreeMap<String, Option<String>>;

fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if name == ".tollgate" || name == ".trash" {
                continue;
            }
            let text = path.is_file().then(|| std::fs::read_to_string(&path).unwrap());
            if path.is_dir() {
                folders.push(path);
            }
            found.insert(name, text);
        }
    }
    found
}

/// A vault whose clients make calls.
struct Rig {
    context: VaultContext,
    engine: Engine,
    tools: Arc<Toolset>,
    _dir: tempfile::TempDir,
}

impl Rig {
    fn new() -> Rig {
        let dir = tempfile::tempdir().unwrap();
        let context = vault(dir.path());
        let tools = Arc::new(Toolset::open(&context, ProcessLifetime::Run).unwrap());
        let receipts = Arc::new(ReceiptCollector::of_run());
        let engine = toolset::build_engine(&context, &tools, Arc::new(SaysYes), receipts, None).unwrap();
        Rig { context, engine, tools, _dir: dir }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.context.vault.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), text.as_bytes()).unwrap();
    }

    fn tree(&self) -> Tree {
        tree(&self.context.vault)
    }

    fn open_session(&self, session: &str) -> SessionRun {
        let tools = ["vault.writeFile", "vault.rename", "vault.delete", "vault.createFile"];
        let request = SessionRequest {
            place: RunPlace::Disk(self.context.prepare_runs().unwrap()),
            session: SessionId::parse(session).ok(),
            goal: "calls of a client".to_owned(),
            planner_version: None,
            tools: tools.map(|tool| ToolName::parse(tool).unwrap()).to_vec(),
        };
        self.engine.open_session(request).unwrap()
    }

    async fn plan(&self, session: Option<&str>, steps: &[(&str, Value)]) -> RunId {
        let steps: Vec<Value> = steps
            .iter()
            .enumerate()
            .map(|(number, (tool, args))| {
                json!({ "id": format!("s{number}"), "tool": tool, "args": args, "onError": "skip" })
            })
            .collect();
        let plan = json!({ "version": "1.0", "goal": "Change notes", "riskLevel": "writes", "steps": steps });
        let plan = check_plan(&plan.to_string(), &self.tools.surface, &self.context.settings).plan.unwrap();
        let session = session.and_then(|session| SessionId::parse(session).ok());
        let work = PlanWork { session, ..PlanWork::new(plan) };
        run_plan(&self.engine, work, &self.context, RunCancel::new()).await.unwrap().run_id
    }

    fn prepare(&self, target: UndoTarget, policy: ConflictPolicy<'_>) -> Result<Box<PreparedUndo>, AppError> {
        let (limits, style) = (DiffLimits::screen(), TextStyle::plain());
        match prepare_undo(&self.context, target, policy, limits, style)? {
            UndoOutlook::Ready(prepared) => Ok(prepared),
            UndoOutlook::Nothing(nothing) => panic!("there is something to undo: {}", nothing.why),
        }
    }

    async fn revert(&self, target: UndoTarget) -> RunId {
        let prepared = self.prepare(target, ConflictPolicy::Refuse).unwrap();
        self.run(&prepared).await
    }

    async fn run(&self, prepared: &PreparedUndo) -> RunId {
        let receipts = Arc::new(ReceiptCollector::of_run());
        let report =
            prepared.run(&self.context, Arc::new(SaysYes), receipts, true, RunCancel::new()).await.unwrap();
        assert_eq!(report.status, RunStatus::Ok);
        report.run_id
    }
}

async fn call(session: &SessionRun, tool: &str, args: Value) -> bool {
    let Value::Object(args) = args else { panic!("arguments are an object") };
    let request = CallRequest::new(ToolName::parse(tool).unwrap(), args, CancelToken::new());
    session.call(request).await.ok
}

fn write_file(path: &str, text: &str) -> (&'static str, Value) {
    ("vault.writeFile", json!({ "path": path, "content": text }))
}

/// A session that changed `Old.md` with a call, a plan and a call. Returns the plan's run.
async fn changed_in_turn(rig: &Rig) -> RunId {
    let session = rig.open_session("s1");
    let (tool, args) = write_file("Old.md", "by the first call");
    assert!(call(&session, tool, args).await);
    let plan = rig.plan(Some("s1"), &[write_file("Old.md", "by the plan")]).await;
    let (tool, args) = write_file("Old.md", "by the second call");
    assert!(call(&session, tool, args).await);
    session.close(None).await;
    plan
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_plans_that_change_one_note_in_turn_are_undone_as_one_and_redone_as_one() {
    let rig = Rig::new();
    let before = rig.tree();
    changed_in_turn(&rig).await;
    let after = rig.tree();
    let target = session_undo_target(&rig.context, "last").unwrap();
    assert_eq!(target.undoes.len(), 2);
    let undo = rig.revert(target).await;
    assert_eq!(rig.tree(), before);
    let rows = list_runs(&rig.context, None, 9).unwrap().rows;
    let told: Vec<_> = rows.iter().map(|row| (row.session.is_some(), row.undone_by.as_ref())).collect();
    assert_eq!(told, [(false, None), (true, Some(&undo)), (true, Some(&undo))]);
    let error = session_undo_target(&rig.context, "s1").err().unwrap();
    assert_eq!(error.code, "already_undone");
    assert_eq!(error.hint.as_deref(), Some("to redo it: `tollgate redo --session s1`"));
    rig.revert(session_redo_target(&rig.context, "last").unwrap()).await;
    assert_eq!(rig.tree(), after);
    // Named by one of its runs.
    let run = rows[1].run_id.as_str();
    rig.revert(session_undo_target(&rig.context, run).unwrap()).await;
    assert_eq!(rig.tree(), before);
    let details = read_run_details(&rig.context, &rows[1].run_dir, false).unwrap();
    assert_eq!(details.session, SessionId::parse("s1").ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_run_names_the_later_runs_and_the_command_that_undoes_them_too() {
    let rig = Rig::new();
    let before = rig.tree();
    let plan = changed_in_turn(&rig).await;
    let refused = rig.prepare(undo_target(&rig.context, plan.as_str()).unwrap(), ConflictPolicy::Refuse);
    let error = refused.err().unwrap();
    assert_eq!(error.code, "changed_since");
    assert!(
        error.message.contains("by run ") && error.message.contains("(calls of a client)"),
        "{}",
        error.message
    );
    let command = format!("`tollgate undo {plan} --with-later`");
    assert!(error.hint.as_deref().unwrap().starts_with(&command), "{:?}", error.hint);
    let asked = std::cell::RefCell::new(Vec::new());
    let ask = |conflict: &app::undo::EditConflict<'_>| {
        asked.borrow_mut().push((conflict.words(), conflict.command_with_later()));
        Ok(None::<ConflictChoice>)
    };
    let target = undo_target(&rig.context, plan.as_str()).unwrap();
    assert!(rig.prepare(target, ConflictPolicy::Ask(&ask)).is_err());
    assert_eq!(asked.borrow()[0].1.as_deref(), Some(command.trim_matches('`')));

    let target = undo_target_with_later(&rig.context, plan.as_str()).unwrap();
    assert_eq!(target.undoes.len(), 2);
    rig.revert(target).await;
    assert_eq!(rig.tree(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_runs_that_changed_the_same_files_are_undone_with_a_run() {
    let rig = Rig::new();
    let first = rig.plan(None, &[write_file("Old.md", "1")]).await;
    rig.plan(None, &[("vault.createFile", json!({ "path": "Other.md", "content": "other" }))]).await;
    rig.plan(None, &[("vault.rename", json!({ "fromPath": "Old.md", "toPath": "In/New.md" }))]).await;
    rig.plan(None, &[write_file("In/New.md", "2"), write_file("Third.md", "3")]).await;
    let target = undo_target_with_later(&rig.context, first.as_str()).unwrap();
    assert_eq!(target.undoes.len(), 3);
    rig.revert(target).await;
    let left: Vec<(String, Option<String>)> = rig.tree().into_iter().collect();
    let note = |path: &str, text: &str| (path.to_owned(), Some(text.to_owned()));
    assert_eq!(left, [note("Old.md", "# Old\n"), note("Other.md", "other")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_another_program_between_two_calls_is_asked_about() {
    let rig = Rig::new();
    let session = rig.open_session("s1");
    let (tool, args) = write_file("Old.md", "by the first call");
    assert!(call(&session, tool, args).await);
    rig.write("Old.md", "mine");
    let append = json!({ "path": "Old.md", "content": " and more", "mode": "append" });
    assert!(call(&session, "vault.writeFile", append).await);
    session.close(None).await;
    let after = rig.tree();
    let target = || session_undo_target(&rig.context, "s1").unwrap();
    let error = rig.prepare(target(), ConflictPolicy::Refuse).err().unwrap();
    assert_eq!(error.code, "changed_since");
    assert!(error.message.contains("`Old.md` was edited by another program between"), "{}", error.message);
    let reported = rig.prepare(target(), ConflictPolicy::Report).unwrap();
    assert_eq!(reported.conflicts().len(), 1);
    let kept =
        prepare_undo(&rig.context, target(), ConflictPolicy::Keep, DiffLimits::screen(), TextStyle::plain());
    assert!(matches!(kept, Ok(UndoOutlook::Nothing(_))), "the note is kept");
    assert_eq!(rig.tree(), after);
    let restored = rig.prepare(target(), ConflictPolicy::Restore).unwrap();
    rig.run(&restored).await;
    assert_eq!(rig.tree()["Old.md"].as_deref(), Some("# Old\n"));
    rig.revert(session_redo_target(&rig.context, "s1").unwrap()).await;
    assert_eq!(rig.tree(), after);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_the_undo_updates_is_no_edit_that_it_would_lose() {
    let rig = Rig::new();
    rig.write("p.md", "p\n");
    let before = rig.tree();
    let session = rig.open_session("s1");
    for (from, to) in [("Old.md", "b.md"), ("p.md", "q.md")] {
        assert!(call(&session, "vault.rename", json!({ "fromPath": from, "toPath": to })).await);
    }
    rig.write("b.md", "see [[q]]\n");
    assert!(call(&session, "vault.rename", json!({ "fromPath": "b.md", "toPath": "c.md" })).await);
    session.close(None).await;
    rig.revert(session_undo_target(&rig.context, "s1").unwrap()).await;
    let mut expected = before;
    expected.insert("Old.md".to_owned(), Some("see [[p]]\n".to_owned()));
    assert_eq!(rig.tree(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_session_is_undone_and_the_rest_later() {
    let rig = Rig::new();
    let before = rig.tree();
    changed_in_turn(&rig).await;
    rig.plan(Some("s1"), &[write_file("New.md", "new")]).await;
    let scope = UndoScope { only: vec!["New.md".to_owned()], keep: Vec::new() };
    rig.revert(session_undo_target(&rig.context, "s1").unwrap().limited_to(scope).unwrap()).await;
    assert_eq!(rig.tree().get("New.md"), None);
    assert_eq!(rig.tree()["Old.md"].as_deref(), Some("by the second call"));
    rig.revert(session_undo_target(&rig.context, "s1").unwrap()).await;
    assert_eq!(rig.tree(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_named_exactly_or_not_at_all() {
    let rig = Rig::new();
    let alone = rig.plan(None, &[write_file("Old.md", "1")]).await;
    let code = |wanted: &str| session_undo_target(&rig.context, wanted).err().unwrap().code;
    assert_eq!(code("last"), "nothing_to_undo");
    assert_eq!(code("nowhere"), "no_such_session");
    assert_eq!(code(alone.as_str()), "no_session");
    for session in ["s1", "s2"] {
        rig.plan(Some(session), &[write_file("Old.md", session)]).await;
    }
    assert_eq!(code("s"), "ambiguous_session");
    assert_eq!(session_redo_target(&rig.context, "last").err().unwrap().code, "not_undone");
    assert_eq!(session_redo_target(&rig.context, "s1").err().unwrap().code, "not_undone");
    let open = rig.open_session("s3");
    assert_eq!(code("s3"), "running");
    assert_eq!(code("last"), "running", "an open session is not passed over");
    open.close(None).await;
}

/// The tool and the arguments that a number stands for, on a few notes.
fn change(number: u16) -> (&'static str, Value) {
    const NOTES: [&str; 4] = ["a.md", "b.md", "F/c.md", "F/d.md"];
    let [low, high] = number.to_le_bytes().map(usize::from);
    let (path, other) = (NOTES[low % 4], NOTES[(low / 4) % 4]);
    match high % 8 {
        0 => ("vault.delete", json!({ "path": path })),
        1 => ("vault.delete", json!({ "path": path, "trash": false })),
        2 | 3 => ("vault.rename", json!({ "fromPath": path, "toPath": other })),
        4 => ("vault.rename", json!({ "fromPath": "F", "toPath": "G" })),
        // Few texts, so that a note often gets a text that it had before.
        _ => write_file(path, ["one", "two", "three"][(low / 16) % 3]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 16, ..ProptestConfig::default() })]

    #[test]
    fn random_sequences_of_calls_and_plans_are_undone_and_redone_to_the_byte(
        sequence in proptest::collection::vec((any::<bool>(), any::<bool>(), proptest::collection::vec(any::<u16>(), 1..4)), 1..9),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let rig = Rig::new();
            for (path, text) in [("a.md", "See [[b]]."), ("F/c.md", "See [[a]] and [[d]].")] {
                rig.write(path, text);
            }
            let mut before = rig.tree();
            let mut session = rig.open_session("s1");
            let mut edits = 0;
            for (is_plan, is_edited, changes) in &sequence {
                let steps: Vec<(&str, Value)> = changes.iter().map(|number| change(*number)).collect();
                if *is_plan {
                    rig.plan(Some("s1"), &steps).await;
                } else {
                    for (tool, args) in steps {
                        call(&session, tool, args).await;
                    }
                }
                if *is_edited {
                    // Another program, on a note that the session never changes; and the client connects again.
                    edits += 1;
                    rig.write("Mine.md", &format!("edit {edits}"));
                    before.insert("Mine.md".to_owned(), Some(format!("edit {edits}")));
                    session.close(None).await;
                    session = rig.open_session("s1");
                }
            }
            session.close(None).await;
            let after = rig.tree();
            let Ok(target) = session_undo_target(&rig.context, "s1") else { panic!("the session has runs") };
            let (limits, style) = (DiffLimits::screen(), TextStyle::plain());
            let outlook = prepare_undo(&rig.context, target, ConflictPolicy::Refuse, limits, style).unwrap();
            let UndoOutlook::Ready(prepared) = outlook else {
                prop_assert_eq!(after, before);
                return Ok(());
            };
            rig.run(&prepared).await;
            prop_assert_eq!(rig.tree(), before);
            rig.revert(session_redo_target(&rig.context, "s1").unwrap()).await;
            prop_assert_eq!(rig.tree(), after);
            Ok(())
        })?;
    }
}
