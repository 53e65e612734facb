//! Random histories of runs, undos and redos, pruned at random: what is kept can still be verified, undone and redone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use app::diff::DiffLimits;
use app::plan_service::{PlanWork, check_plan, run_plan};
use app::prune::{PruneRequest, prepare_prune};
use app::trust::{record_trust, trusted_settings_of};
use app::undo::{ConflictPolicy, UndoOutlook, UndoTarget, prepare_undo, redo_target, undo_target};
use app::{ReceiptCollector, TextStyle, Toolset, VaultContext, toolset};
use engine::RunCancel;
use envelope::{RunId, Timestamp};
use plan::RunStatus;
use serde_json::{Value, json};
use shell::ProcessLifetime;

use crate::plan_to_undo::{SaysYes, vault};

/// Names and texts of the notes.
type Notes = BTreeMap<String, String>;

/// A sequence of numbers that a seed determines.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// A run of a plan, with the notes before and after it.
struct PastRun {
    id: RunId,
    before: Notes,
    after: Notes,
}

struct History {
    context: VaultContext,
    dice: Dice,
    /// Runs that are not undone, oldest first.
    made: Vec<PastRun>,
    /// Undone runs that can be redone, the newest undo last.
    undone: Vec<PastRun>,
}

fn notes(vault: &Path) -> Notes {
    let files = std::fs::read_dir(vault).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.filter(|path| path.is_file()).map(|path| (name(&path), text(&path))).collect()
}

impl History {
    fn notes(&self) -> Notes {
        notes(&self.context.vault)
    }

    /// Writes, renames or deletes a note. Texts repeat, so that runs share stored contents.
    fn step(&mut self) -> Value {
        let existing: Vec<String> = self.notes().into_keys().collect();
        let note = existing.get(self.dice.below(existing.len().max(1))).cloned();
        let new = format!("Note {}.md", self.dice.below(6));
        let text = format!("text {}\n", self.dice.below(4)).repeat(20);
        match (self.dice.below(4), note) {
            (0, Some(note)) => {
                json!({ "id": "s", "tool": "vault.delete", "args": { "path": note, "trash": false } })
            }
            (1 | 2, Some(note)) => {
                json!({ "id": "s", "tool": "vault.writeFile", "args": { "path": note, "content": text } })
            }
            _ => json!({ "id": "s", "tool": "vault.writeFile",
                         "args": { "path": new, "content": text } }),
        }
    }

    async fn run(&mut self) {
        let step = self.step();
        let text =
            json!({ "version": "1.0", "goal": "Change a note", "riskLevel": "writes", "steps": [step] });
        let tools = Arc::new(Toolset::open(&self.context, ProcessLifetime::Run).unwrap());
        let checked = check_plan(&text.to_string(), &tools.surface, &self.context.settings);
        let plan = checked.plan.unwrap_or_else(|| panic!("{text}: {:?}", checked.findings));
        let receipts = Arc::new(ReceiptCollector::of_run());
        let engine = toolset::build_engine(&self.context, &tools, Arc::new(SaysYes), receipts, None).unwrap();
        let before = self.notes();
        let report = run_plan(&engine, PlanWork::new(plan), &self.context, RunCancel::new()).await.unwrap();
        assert_eq!(report.status, RunStatus::Ok, "{text}");
        let after = self.notes();
        // A run that changed nothing has no undo.
        if before != after {
            self.made.push(PastRun { id: report.run_id, before, after });
            self.undone.clear();
        }
    }

    async fn revert(&self, target: UndoTarget) {
        let (limits, style) = (DiffLimits::screen(), TextStyle::plain());
        let outlook = prepare_undo(&self.context, target, ConflictPolicy::Refuse, limits, style).unwrap();
        let UndoOutlook::Ready(prepared) = outlook else { panic!("there is something to undo") };
        let receipts = Arc::new(ReceiptCollector::of_run());
        let report =
            prepared.run(&self.context, Arc::new(SaysYes), receipts, true, RunCancel::new()).await.unwrap();
        assert_eq!(report.status, RunStatus::Ok);
    }

    async fn undo(&mut self) {
        if let Some(run) = self.made.pop() {
            self.revert(undo_target(&self.context, run.id.as_str()).unwrap()).await;
            assert_eq!(self.notes(), run.before);
            self.undone.push(run);
        }
    }

    async fn redo(&mut self) {
        if let Some(run) = self.undone.pop() {
            self.revert(redo_target(&self.context, run.id.as_str()).unwrap()).await;
            assert_eq!(self.notes(), run.after);
            self.made.push(run);
        }
    }

    /// Prunes with random limits, and forgets the runs that are gone.
    fn prune(&mut self) -> u64 {
        let runs = self.context.runs().unwrap().list().unwrap();
        let Some(any) = runs.get(self.dice.below(runs.len().max(1))) else { return 0 };
        let hour = Timestamp::from_millisecond(any.created_at.as_millisecond() + 3_600_000).unwrap();
        let older_than = (self.dice.below(3) > 0).then(|| "1h".parse().unwrap());
        let keep = (older_than.is_none() || self.dice.below(3) == 0).then(|| 1 + self.dice.below(runs.len()));
        let prepared = prepare_prune(&self.context, PruneRequest { older_than, keep }, hour).unwrap();
        let removed = if prepared.is_empty() { 0 } else { prepared.run().unwrap().runs };
        let left = self.context.runs().unwrap().list().unwrap();
        assert_eq!(left.len() as u64 + removed, runs.len() as u64);
        assert_eq!(left.first().map(|run| &run.run_id), runs.first().map(|run| &run.run_id));
        for run in &left {
            assert_eq!(journal::verify(&run.dir, None).unwrap().problems, [], "{}", run.run_id);
            assert_eq!(journal::replay(&run.dir).unwrap().divergences, []);
        }
        let is_left = |run: &PastRun| left.iter().any(|left| left.run_id == run.id);
        self.made.retain(is_left);
        self.undone.retain(is_left);
        removed
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_any_prune_every_kept_run_can_be_verified_undone_and_redone() {
    let (mut pruned, mut reverted) = (0, 0);
    for seed in 1..=6 {
        let dir = tempfile::tempdir().unwrap();
        let context = vault(dir.path());
        let mut history = History { context, dice: Dice(seed), made: Vec::new(), undone: Vec::new() };
        for _ in 0..14 {
            match history.dice.below(8) {
                0..=3 => history.run().await,
                4 | 5 => history.undo().await,
                6 => history.redo().await,
                _ => pruned += history.prune(),
            }
        }
        pruned += history.prune();
        while !history.undone.is_empty() {
            history.redo().await;
            reverted += 1;
        }
        while !history.made.is_empty() {
            history.undo().await;
            reverted += 1;
        }
        pruned += history.prune();
        while !history.undone.is_empty() {
            history.redo().await;
        }
    }
    assert!(pruned > 10 && reverted > 10, "{pruned} runs were pruned, {reverted} were reverted");
}

/// Set in the process that [`runs_without_a_vault_stay_in_a_folder_outside_of_the_vault`] starts.
const IN_OWN_PROCESS: &str = "TOLLGATE_TEST_IN_OWN_PROCESS";

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test starts itself with its own folder for trust, and waits for it"
)]
fn runs_without_a_vault_stay_in_a_folder_outside_of_the_vault() {
    if std::env::var_os(IN_OWN_PROCESS).is_some() {
        return prune_with_state_outside(Path::new(&std::env::var_os("XDG_STATE_HOME").unwrap()));
    }
    // The trust in the folder is recorded below `XDG_STATE_HOME`.
    let home = tempfile::tempdir().unwrap();
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "prune::runs_without_a_vault_stay_in_a_folder_outside_of_the_vault"])
        .env(IN_OWN_PROCESS, "1")
        .env("XDG_STATE_HOME", home.path().canonicalize().unwrap())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && told.contains("1 passed"), "{told}");
}

#[tokio::main]
async fn prune_with_state_outside(home: &Path) {
    let dir = home.join("vault");
    vault(&dir);
    let state = home.join("shared");
    let config = format!("state = {:?}\n", state.to_str().unwrap());
    let mut file = std::fs::File::create(dir.join(".tollgate/config.toml")).unwrap();
    std::io::Write::write_all(&mut file, config.as_bytes()).unwrap();
    let context = VaultContext::find(Some(&dir)).unwrap();
    record_trust(&context, &trusted_settings_of(&context)).unwrap();
    let mut history = History { context, dice: Dice(1), made: Vec::new(), undone: Vec::new() };
    for _ in 0..3 {
        history.run().await;
    }
    let mut runs = history.context.runs().unwrap().list().unwrap();
    assert!(runs.len() == 3 && runs.iter().all(|run| run.dir.starts_with(&state)));
    // Earlier builds named no vault, so the oldest run may be that of any vault that keeps its runs there.
    let oldest = runs.pop().unwrap().dir.join("run.json");
    let mut header: Value = serde_json::from_slice(&std::fs::read(&oldest).unwrap()).unwrap();
    assert!(header.as_object_mut().unwrap().remove("vault").is_some());
    let mut file = std::fs::File::create(&oldest).unwrap();
    std::io::Write::write_all(&mut file, header.to_string().as_bytes()).unwrap();
    assert_eq!(history.context.runs().unwrap().list().unwrap().len(), 3);

    let request = PruneRequest { older_than: None, keep: Some(1) };
    let prepared = prepare_prune(&history.context, request, Timestamp::MAX).unwrap();
    let planned = prepared.to_json();
    assert_eq!(planned["runs"].as_array().unwrap().len(), 1, "{planned}");
    assert_eq!(planned["runs"][0]["runId"], json!(runs[1].run_id));
    assert_eq!(prepared.run().unwrap().runs, 1);
    assert!(oldest.exists());
}
