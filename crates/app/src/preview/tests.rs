//! The forecast and the run of random plans: what is forecast is what happens, and nothing else happens.
//!
//! `RUN_SLOW_TESTS` makes 10,000 cases of it. A failing case prints its seed and its plan; `FORECAST_SEED` runs that seed
//! alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, ForecastCall,
    ForecastOutcome, Observer, RunCancel, RunPlace, RunRequest, UncertainCall, UncertainDecision,
};
use envelope::{ApprovalChannel, ExecutionEvent, StepId, ToolCall, ToolResult, VaultChange};
use journal::RunKind;
use plan::{CheckedPlan, SiblingPolicy};
use serde_json::{Value, json};
use shell::ProcessLifetime;
use toolkit::BoxFuture;

use super::{ForecastRules, ForecastRun};
use crate::diff::DiffLimits;
use crate::settings::Settings;
use crate::toolset::{self, Toolset};
use crate::vault_context::VaultContext;

/// Numbers from a seed, the same on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        // SplitMix64: small, and every seed gives another sequence.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }

    fn one_of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// Existing and missing names, names that differ in case only, and names in missing folders.
const NAMES: [&str; 9] = ["a", "b", "c", "A", "sub/a", "sub/b", "new/deep/n", "missing", "gone/x"];
const NOTES: [(&str, &str); 6] = [
    ("a.md", "# A\n\nSee [[b]] and [[sub/a]].\n"),
    ("b.md", "---\ntags: [x]\n---\n# B\n\ntext\n"),
    ("c.md", "text text\n"),
    ("sub/a.md", "text, see [[c]]\n"),
    ("sub/b.md", "# B\n"),
    ("list.md", "- a\n- missing\n- sub/b\n- a\n"),
];

/// One call for each of some names, often the same one twice.
fn random_step(dice: &mut Dice, number: usize) -> Value {
    let names: Vec<&str> = (0..=dice.below(5)).map(|_| NAMES[dice.below(NAMES.len())]).collect();
    let path = "{n}.md";
    let (tool, args) = match dice.below(13) {
        0 => ("vault.createFile", json!({ "path": path, "content": "new {n} {index}\n" })),
        1 => {
            let how = dice.one_of(&["create-unique", "overwrite"]);
            ("vault.createFile", json!({ "path": path, "content": "{index}\n", "collisionStrategy": how }))
        }
        2 => ("vault.writeFile", json!({ "path": path, "content": "whole {index}\n" })),
        3 => ("vault.writeFile", json!({ "path": path, "content": "more {index}\n", "mode": "append" })),
        4 | 5 => ("vault.delete", json!({ "path": path })),
        6 => ("vault.delete", json!({ "path": path, "trash": false })),
        7 => ("vault.rename", json!({ "fromPath": path, "toPath": "moved/{n}.md" })),
        8 => ("vault.replaceText", json!({ "path": path, "find": "text", "replace": "words {index}" })),
        9 => ("vault.ensureFolder", json!({ "path": "{n}" })),
        10 => {
            // Folders with notes in them, and notes that are in the way of a folder.
            let trash = dice.below(2) == 0;
            let names: Vec<&str> =
                (0..=dice.below(3)).map(|_| dice.one_of(&["sub", "new", "a.md", "moved"])).collect();
            let foreach = json!({ "from": names, "itemName": "n", "concurrency": 1 + dice.below(8) });
            let args = json!({ "path": "{n}", "trash": trash });
            return json!({ "id": format!("s{number}"), "tool": "vault.delete", "args": args, "foreach": foreach, "onError": "skip" });
        }
        11 => ("vault.rename", json!({ "fromPath": "sub", "toPath": "other/{n}" })),
        _ => ("vault.updateFrontmatter", json!({ "path": path, "set": { "number": "$index" } })),
    };
    let mut foreach = json!({ "from": names, "itemName": "n", "concurrency": 1 + dice.below(8) });
    if dice.below(5) == 0 {
        foreach = json!({ "from": names, "itemName": "n", "stopOnError": true });
    }
    json!({
        "id": format!("s{number}"), "tool": tool, "args": args, "foreach": foreach,
        "onError": dice.one_of(&["stop", "skip", "retry"]),
        "retry": { "maxAttempts": 2, "backoffMs": 0 },
    })
}

fn random_plan(dice: &mut Dice) -> Value {
    let mut steps: Vec<Value> = (0..=dice.below(3)).map(|number| random_step(dice, number)).collect();
    if dice.below(3) == 0 {
        // What is written depends on what is read, and a read may fail beside a write.
        let read = dice.one_of(&["list.md", "missing.md", "a.md"]);
        steps.insert(0, json!({ "id": "read", "tool": "vault.readFile", "args": { "path": read }, "onError": dice.one_of(&["stop", "skip"]) }));
        steps.push(json!({ "id": "copy", "tool": "vault.writeFile", "args": { "path": "copy.md", "content": "$steps.read.content" } }));
    }
    json!({ "version": "1.0", "goal": "a random plan", "riskLevel": "writes", "steps": steps })
}

struct World {
    context: VaultContext,
    tools: Arc<Toolset>,
    plan: CheckedPlan,
}

impl World {
    fn new(root: &Path, dice: &mut Dice, plan: &Value) -> World {
        for (path, text) in NOTES {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            put(&file, text);
        }
        let mut settings = Settings::cautious();
        settings.policy.sibling_failure =
            [SiblingPolicy::Ignore, SiblingPolicy::CancelSiblings, SiblingPolicy::CancelDependents]
                [dice.below(3)];
        let context = VaultContext { vault: root.to_owned(), settings };
        let tools = Arc::new(Toolset::open(&context, ProcessLifetime::Run).unwrap());
        let limits = context.settings.check_limits();
        let report = plan::check(&plan.to_string(), &*tools.surface, &limits);
        let plan = report.plan.unwrap_or_else(|| panic!("{:#?}", report.findings));
        World { context, tools, plan }
    }

    async fn forecast(&self) -> Vec<ForecastCall> {
        let rules = ForecastRules::of(&self.context.settings);
        let forecast_run = ForecastRun::new(&rules, self.tools.clone(), &self.plan);
        forecast_run.perform(DiffLimits::screen(), RunCancel::new()).await.unwrap().calls
    }

    async fn run(&self, approved: Option<Vec<ForecastCall>>) -> Vec<ForecastCall> {
        let recorder = Arc::new(Recorder::default());
        let engine =
            toolset::build_engine(&self.context, &self.tools, Arc::new(YesToThePlan), recorder.clone(), None)
                .unwrap();
        let request = RunRequest {
            plan: self.plan.clone(),
            place: RunPlace::Memory,
            kind: RunKind::Plan,
            undoes: Vec::new(),
            session: None,
            asks_always: false,
            continues: None,
            planner_version: None,
            cancel: RunCancel::new(),
            forecaster: None,
            approved,
            budget: None,
        };
        engine.run_plan(request).await.unwrap();
        recorder.calls()
    }
}

fn put(file: &Path, text: &str) {
    std::io::Write::write_all(&mut std::fs::File::create(file).unwrap(), text.as_bytes()).unwrap();
}

/// Approves everything but a difference, for which no user is available.
struct YesToThePlan;

impl Approver for YesToThePlan {
    fn confirm<'a>(&'a self, _request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(std::future::ready(ConfirmAnswer::Approved { channel: ApprovalChannel::Embedder }))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        let verdict = match request.differs {
            true => ApprovalDecision::Unavailable { why: "a test".to_owned(), hint: None },
            false => ApprovalDecision::ApproveOnce { channel: ApprovalChannel::Embedder },
        };
        Box::pin(std::future::ready(verdict))
    }

    fn settle<'a>(&'a self, _uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(std::future::ready(UncertainDecision::Leave))
    }
}

/// How a call ends whose note was saved twice while it was moved.
const SAVED_TWICE: &str = "saved twice while it was moved";

/// Every call with what it changed in the end.
#[derive(Default)]
struct Recorder {
    calls: Mutex<BTreeMap<String, ForecastCall>>,
}

impl Recorder {
    /// The last attempt of each item, in the order of steps and items.
    fn calls(&self) -> Vec<ForecastCall> {
        let mut last: BTreeMap<(StepId, Option<u64>), ForecastCall> = BTreeMap::new();
        for call in self.calls.lock().unwrap().values() {
            let known = last.entry((call.step.clone(), call.index)).or_insert_with(|| call.clone());
            // Only one attempt changes anything; the others failed before they could.
            if known.changes.is_empty() && call.outcome == ForecastOutcome::Works {
                *known = call.clone();
            }
        }
        last.into_values().collect()
    }
}

impl Observer for Recorder {
    fn event(&self, _event: &ExecutionEvent) {}

    fn call(&self, call: &ToolCall) {
        let mut made = ForecastCall::of(call, ForecastOutcome::Works);
        made.changes.clear();
        self.calls.lock().unwrap().insert(call.call_id.to_string(), made);
    }

    fn result(&self, result: &ToolResult) {
        if let Some(made) = self.calls.lock().unwrap().get_mut(result.call_id.as_str()) {
            made.changes.clone_from(&result.changes);
            if let Some(error) = &result.error {
                let stayed = error.details.as_ref().is_some_and(|details| details.contains_key("movedTo"));
                let message = if stayed { SAVED_TWICE.to_owned() } else { error.message.clone() };
                made.outcome = ForecastOutcome::Fails { message };
            }
        }
    }
}

/// The effects of a run, without what may differ: who made a folder that several need, and names in the trash.
#[derive(Debug, PartialEq, Eq)]
struct Summary {
    calls: Vec<(String, Option<u64>, bool, Vec<String>)>,
    folders: BTreeSet<String>,
}

fn summary(calls: &[ForecastCall]) -> Summary {
    let mut calls: Vec<&ForecastCall> = calls.iter().collect();
    calls.sort_by(|a, b| (&a.step, a.index).cmp(&(&b.step, b.index)));
    let mut folders = BTreeSet::new();
    let told = calls.iter().map(|call| {
        let works = call.outcome == ForecastOutcome::Works;
        let changes = if works {
            call.changes.iter().filter_map(|change| plain(change, &mut folders)).collect()
        } else {
            Vec::new()
        };
        (call.step.to_string(), call.index, works, changes)
    });
    let calls = told.collect();
    Summary { calls, folders }
}

fn plain(change: &VaultChange, folders: &mut BTreeSet<String>) -> Option<String> {
    match change {
        VaultChange::FolderCreated { path, .. } => {
            folders.insert(path.clone());
            None
        }
        VaultChange::Moved { from, to, kind, state, kept } if to.starts_with(".trash/") => {
            let mut kept: Vec<String> = kept.iter().map(|entry| format!("{entry:?}")).collect();
            kept.sort_unstable();
            Some(format!("trashed {from} {kind:?} {state:?} {kept:?}"))
        }
        // What it could be used for is known on disk only, and no effect.
        VaultChange::FolderRemoved { path, .. } => Some(format!("removed the folder {path}")),
        VaultChange::FileCreated { .. }
        | VaultChange::FileRemoved { .. }
        | VaultChange::FileReplaced { .. }
        | VaultChange::Moved { .. } => Some(format!("{change:?}")),
    }
}

/// How many cases to try: a few in the quick run.
fn cases(slow: u64) -> u64 {
    if std::env::var_os("RUN_SLOW_TESTS").is_some() { slow } else { slow / 50 }
}

/// Runs each case in a folder of its own, in memory where the system has such a place.
fn each_case(first: u64, slow: u64, case: impl AsyncFn(&Path, &mut Dice, &Value)) {
    let seeds = match std::env::var("FORECAST_SEED") {
        Ok(seed) => {
            let seed: u64 = seed.parse().unwrap();
            seed..seed + 1
        }
        Err(_) => first..first + cases(slow),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for seed in seeds {
        let mut dice = Dice(seed);
        let plan = random_plan(&mut dice);
        let memory = Path::new("/dev/shm");
        let root = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let root = root.unwrap();
        let shown = ShowOnPanic { seed, plan: &plan };
        runtime.block_on(case(root.path(), &mut dice, &plan));
        drop(shown);
    }
}

/// Prints what repeats a case that fails.
struct ShowOnPanic<'a> {
    seed: u64,
    plan: &'a Value,
}

impl Drop for ShowOnPanic<'_> {
    #[allow(clippy::print_stderr, reason = "a failing case has to be found again")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("FORECAST_SEED={}\n{:#}", self.seed, self.plan);
        }
    }
}

async fn the_run_does_what_was_forecast(root: &Path, dice: &mut Dice, plan: &Value) {
    let world = World::new(root, dice, plan);
    let forecast = world.forecast().await;
    let approved = (dice.below(2) == 0).then(|| forecast.clone());
    let run = world.run(approved).await;
    let (expected, happened) = (summary(&forecast), summary(&run));
    assert_eq!(expected, happened);
}

/// Writes to the same notes until the run is over.
fn scribble(root: &Path, seed: u64, over: &AtomicBool) {
    let mut dice = Dice(seed ^ 0xabcd);
    while !over.load(Ordering::SeqCst) {
        let file = root.join(format!("{}.md", NAMES[dice.below(NAMES.len())]));
        match dice.below(4) {
            0 => drop(std::fs::remove_file(&file)),
            _ if file.parent().is_some_and(Path::is_dir) => {
                // As an editor saves: another file in the place of the first.
                let text = format!("by hand {} text [[b]]\n", dice.next());
                let beside = root.join(".obsidian-save");
                put(&beside, &text);
                drop(std::fs::rename(&beside, &file));
            }
            _ => {}
        }
        for _ in 0..dice.below(3) {
            std::thread::yield_now();
        }
    }
}

async fn nothing_else_happens(root: &Path, dice: &mut Dice, plan: &Value) {
    let world = World::new(root, dice, plan);
    let forecast = world.forecast().await;
    let over = Arc::new(AtomicBool::new(false));
    let stranger = {
        let (root, seed, over) = (root.to_owned(), dice.next(), over.clone());
        std::thread::spawn(move || scribble(&root, seed, &over))
    };
    let run = world.run(Some(forecast.clone())).await;
    over.store(true, Ordering::SeqCst);
    stranger.join().unwrap();
    let mut folders = BTreeSet::new();
    let allowed: BTreeMap<_, Vec<String>> = forecast
        .iter()
        .map(|call| {
            let changes = call.changes.iter().filter_map(|change| plain(change, &mut folders)).collect();
            ((call.step.clone(), call.index), changes)
        })
        .collect();
    let mut made = BTreeSet::new();
    // A note that is saved twice while it is moved: the name of the first save is taken by the second, so it stays where
    // the move put it, and the call ends as a conflict that says so. No file system can compare and move at once.
    let saved_twice =
        |call: &ForecastCall| call.outcome == ForecastOutcome::Fails { message: SAVED_TWICE.to_owned() };
    for call in run.iter().filter(|call| !saved_twice(call)) {
        let allowed = allowed.get(&(call.step.clone(), call.index)).cloned().unwrap_or_default();
        for change in call.changes.iter().filter_map(|change| plain(change, &mut made)) {
            assert!(
                allowed.contains(&change),
                "{change} was not forecast for {} {:?}: {allowed:#?}",
                call.step,
                call.index
            );
        }
    }
    assert!(made.is_subset(&folders), "{made:?} {folders:?}");
}

#[test]
fn the_effects_of_a_run_are_those_that_were_forecast() {
    each_case(0, 2_000, the_run_does_what_was_forecast);
}

#[test]
fn the_effects_of_a_run_are_those_that_were_forecast_2() {
    each_case(100_000, 2_000, the_run_does_what_was_forecast);
}

#[test]
fn the_effects_of_a_run_are_those_that_were_forecast_3() {
    each_case(200_000, 2_000, the_run_does_what_was_forecast);
}

#[test]
fn with_another_writer_no_effect_happens_that_was_not_forecast() {
    each_case(300_000, 2_000, nothing_else_happens);
}

#[test]
fn with_another_writer_no_effect_happens_that_was_not_forecast_2() {
    each_case(400_000, 2_000, nothing_else_happens);
}
