//! Random histories of runs, edits by another program, undos and redos lose nothing and leave nothing half done.
//!
//! The model is a map from path to content and the list of texts that the other program wrote; it shares no code with
//! the vault. `RUN_SLOW_TESTS` makes 2,000 histories. A failing history prints its seed and its steps; `HISTORY_SEED`
//! runs that seed alone.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use envelope::{EntryKind, Fault, FileState, Hash, VaultChange};
use serde_json::json;
use vault::{IoContext, RestoreCause, RestoreChoices, RestorePlan, Vault, plan_restore};

use super::call_runner::CallRunner;
use super::scaled;
use super::seeded_random::SeededRandom;
use super::tree::tree;

/// `None` for a folder; mode and content of a file.
type Entries = BTreeMap<String, Option<(u32, Vec<u8>)>>;

/// Names that collide in case, and names that can be a file as well as a folder.
const NAMES: [&str; 7] = ["a.md", "b.md", "A.md", "c.md", "F", "G", "f"];
const FOLDERS: [&str; 5] = ["", "F/", "G/", "f/", "F/G/"];

fn read(vault: &Path) -> Entries {
    let entry = |(path, (mode, bytes)): (String, (u32, Vec<u8>))| {
        let is_folder = mode & 0o170_000 == 0o040_000;
        (path, (!is_folder).then_some((mode & 0o7777, bytes)))
    };
    tree(vault).into_iter().map(entry).collect()
}

fn is_visible(path: &str) -> bool {
    path != ".trash" && !path.starts_with(".trash/")
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Applies reported changes to the entries; the new contents are those on disk.
fn follow(entries: &mut Entries, changes: &[VaultChange], contents: &BTreeMap<Hash, Vec<u8>>) {
    for change in changes {
        let file = |state: &FileState| Some((state.mode, contents[&state.hash].clone()));
        match change {
            VaultChange::FolderCreated { path, .. } => {
                assert_eq!(entries.insert(path.clone(), None), None, "{change:?}");
            }
            VaultChange::FolderRemoved { path, .. } => {
                assert_eq!(entries.remove(path), Some(None), "{change:?}");
            }
            VaultChange::FileCreated { path, after } => {
                assert_eq!(entries.insert(path.clone(), file(after)), None, "{change:?}");
            }
            VaultChange::FileRemoved { path, before } => {
                assert_eq!(entries.remove(path), Some(file(before)), "{change:?}");
            }
            VaultChange::FileReplaced { path, before, after } => {
                assert_ne!((before.hash, before.mode), (after.hash, after.mode), "no change: {change:?}");
                assert_eq!(entries.insert(path.clone(), file(after)), Some(file(before)), "{change:?}");
            }
            VaultChange::Moved { from, to, kind, .. } => {
                assert_eq!(entries[from].is_none(), *kind == EntryKind::Folder, "{change:?}");
                assert!(!entries.contains_key(to), "{change:?}");
                let moved: Vec<String> =
                    entries.keys().filter(|path| is_at_or_below(path, from)).cloned().collect();
                for path in moved {
                    let entry = entries.remove(&path).unwrap();
                    entries.insert(format!("{to}{}", &path[from.len()..]), entry);
                }
            }
        }
    }
}

/// One run of the history.
struct PastRun {
    /// Its changes.
    made: Vec<VaultChange>,
    /// How many texts the other program had written when the run, or its last redo, ended.
    texts: usize,
    /// Changes of the undo, and how many texts there were when it ended.
    undo: Option<(Vec<VaultChange>, usize)>,
}

/// How conflicts are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Refuse,
    Keep,
    Restore,
}

/// An [`IoContext`] for planning.
struct PlanContext;

impl IoContext for PlanContext {
    fn record_change(&self, change: VaultChange) {
        panic!("planning has changed something: {change:?}");
    }

    fn check_cancelled(&self) -> Result<(), Fault> {
        Ok(())
    }
}

struct History {
    folder: tempfile::TempDir,
    runner: CallRunner,
    vault: Vault,
    random: SeededRandom,
    runs: Vec<PastRun>,
    /// Everything that the other program wrote, in order. No two texts are equal.
    texts: Vec<Vec<u8>>,
    number: usize,
    log: Vec<String>,
    /// Conflicts of the last refusal.
    refusal: RefCell<Vec<String>>,
}

impl History {
    fn new(seed: u64) -> History {
        // In memory if possible: this test is not about the disk.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let vault = folder.path().join("vault");
        for (path, text) in
            [("a.md", "# A\n\nSee [[b]].\n"), ("b.md", "b\n"), ("F/a.md", "[[c]]\n"), ("F/G/c.md", "c\n")]
        {
            fs::create_dir_all(vault.join(path).parent().unwrap()).unwrap();
            fs::write(vault.join(path), text).unwrap();
        }
        let runner = CallRunner::with_restore(&vault, &folder.path().join("store"));
        let vault = Vault::open(&vault).unwrap();
        let (runs, texts, log) = (Vec::new(), Vec::new(), Vec::new());
        History {
            folder,
            runner,
            vault,
            random: SeededRandom(seed),
            runs,
            texts,
            number: 0,
            log,
            refusal: RefCell::default(),
        }
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("vault")
    }

    fn entries(&self) -> Entries {
        read(&self.root())
    }

    /// Returns an existing path most of the time, otherwise any.
    fn path(&mut self) -> String {
        let there: Vec<String> = self.entries().into_keys().filter(|path| is_visible(path)).collect();
        if there.is_empty() || self.random.chance(3) {
            format!("{}{}", self.random.of(&FOLDERS), self.random.of(&NAMES))
        } else {
            there[self.random.below(there.len())].clone()
        }
    }

    fn text(&mut self, who: &str) -> String {
        self.number += 1;
        let link = self.random.of(&["", "", "[[a]]", "[[F/a]]", "[[c]]"]);
        format!("{who} {} {link}\n", self.number)
    }

    fn step(&mut self) {
        match self.random.below(10) {
            0..3 => self.run(),
            3..6 => self.other_program(),
            _ => self.undo_or_redo(),
        }
    }

    /// Makes a run of some calls. A refused call changes nothing, and a record explains every difference.
    fn run(&mut self) {
        let mut made = Vec::new();
        for _ in 0..=self.random.below(4) {
            let (path, other, text) = (self.path(), self.path(), self.text("run"));
            let strategy = self.random.of(&["error", "create-unique", "overwrite"]);
            let (tool, args) = match self.random.below(12) {
                0 | 1 => (
                    "vault.createFile",
                    json!({"path": path, "content": text, "collisionStrategy": strategy}),
                ),
                2 => ("vault.writeFile", json!({"path": path, "content": text})),
                3 => ("vault.writeFile", json!({"path": path, "content": text, "mode": "append"})),
                4 => {
                    let patch = json!({"replaceRange": {"start": 0, "end": 0, "text": text}});
                    ("vault.patchFile", json!({"path": path, "patch": patch}))
                }
                5 => ("vault.updateFrontmatter", json!({"path": path, "set": {"n": self.number}})),
                6 => ("vault.ensureFolder", json!({"path": path})),
                7 => ("vault.delete", json!({"path": path, "trash": false})),
                8 | 9 => ("vault.delete", json!({"path": path})),
                _ => (
                    "vault.rename",
                    json!({"fromPath": path, "toPath": other, "collisionStrategy": strategy}),
                ),
            };
            let before = self.entries();
            let outcome = self.runner.call(tool, &args);
            self.log.push(format!("{tool} {args}: {}", outcome.verdict()));
            if outcome.result.is_err() {
                assert_eq!(self.entries(), before, "a refused call changes nothing");
                assert_eq!(outcome.changes, []);
            }
            self.assert_explained(before, &outcome.changes);
            made.extend(outcome.changes);
        }
        if !made.is_empty() {
            self.runs.push(PastRun { made, texts: self.texts.len(), undo: None });
        }
    }

    fn contents(&self) -> BTreeMap<Hash, Vec<u8>> {
        let on_disk = self.entries().into_values().flatten().map(|(_, bytes)| bytes);
        let stored = self.runner.store().contents();
        on_disk.chain(stored).map(|bytes| (Hash::of(&bytes), bytes)).collect()
    }

    /// Checks that the changes lead from the entries to those on disk.
    fn assert_explained(&self, before: Entries, changes: &[VaultChange]) {
        let mut followed = before;
        follow(&mut followed, changes, &self.contents());
        assert_eq!(shown(&followed), shown(&self.entries()), "the record explains the vault: {changes:#?}");
    }

    /// Does something that another program or the user does.
    fn other_program(&mut self) {
        let (root, path, other) = (self.root(), self.path(), self.path());
        let (from, to) = (root.join(&path), root.join(&other));
        let is_dir = from.is_dir();
        let what = match self.random.below(12) {
            0..5 => return self.write_text(&path),
            5 if from.exists() => {
                remove(&from);
                format!("remove {path}")
            }
            6 | 7 if from.exists() && !to.exists() && fs::rename(&from, &to).is_ok() => {
                format!("move {path} to {other}")
            }
            8 => {
                let made = fs::create_dir_all(&from).is_ok();
                format!("make folder {path}: {made}")
            }
            9 if from.exists() => {
                // A folder becomes a file, and the other way around.
                remove(&from);
                self.log.push(format!("remove {path}"));
                let inner = if is_dir { path } else { format!("{path}/{}", self.random.of(&NAMES)) };
                return self.write_text(&inner);
            }
            10 if from.exists() => {
                let (above, name) = path.rsplit_once('/').map_or(("", &*path), |(above, name)| (above, name));
                let respelled = match name.chars().any(char::is_uppercase) {
                    true => name.to_lowercase(),
                    false => name.to_uppercase(),
                };
                let to = root.join(above).join(&respelled);
                let moved = !to.exists() && fs::rename(&from, &to).is_ok();
                format!("respell {path} as {respelled}: {moved}")
            }
            11 if root.join(".trash").exists() => {
                remove(&root.join(".trash"));
                "empty the trash".to_owned()
            }
            _ => return,
        };
        self.log.push(what);
    }

    fn write_text(&mut self, path: &str) {
        let (at, text) = (self.root().join(path), self.text("theirs"));
        let made = fs::create_dir_all(at.parent().unwrap()).is_ok() && !at.is_dir();
        if made && fs::write(&at, &text).is_ok() {
            self.log.push(format!("write {path}: {text:?}"));
            self.texts.push(text.into_bytes());
        }
    }

    fn undo_or_redo(&mut self) {
        if self.runs.is_empty() {
            return;
        }
        let newest = self.random.chance(2);
        let run = if newest { self.runs.len() - 1 } else { self.random.below(self.runs.len()) };
        let decision = self.random.of(&[Decision::Refuse, Decision::Keep, Decision::Restore]);
        let (before, is_redo) = (self.entries(), self.runs[run].undo.is_some());
        if !self.revert(run, decision) || is_redo {
            // Another undo of a run does what is possible by then, so it may do more than its redo has taken back.
            return;
        }
        // At once: the way back is exact.
        let after = self.entries();
        let done = self.revert(run, Decision::Refuse);
        if !done && has_colliding_names(&before) {
            // The vault had names that no tool makes.
            return;
        }
        assert!(done, "what was just done can be taken back: {:?}", self.refusal);
        assert_eq!(shown(&self.entries()), shown(&before), "as before");
        if self.random.chance(2) {
            assert!(self.revert(run, decision), "again");
            assert_eq!(shown(&self.entries()), shown(&after), "as the first time");
        }
    }

    /// Undoes a run, or redoes it if it is undone. Returns false, with nothing changed, if it was refused.
    fn revert(&mut self, run: usize, decision: Decision) -> bool {
        let past = &self.runs[run];
        let (verb, changes, since) = match &past.undo {
            None => ("undo", inverse(&past.made), past.texts),
            Some((undone, texts)) => ("redo", inverse(undone), *texts),
        };
        self.log.push(format!("{verb} of run {run}, {decision:?}"));
        let before = self.entries();
        let (plan, overwritten) = self.decide(&changes, decision, &before);
        assert_eq!(self.entries(), before, "a forecast changes nothing");
        let Some(plan) = plan else {
            return false;
        };
        let wanted = plan.changes();
        let outcome =
            self.runner.call("vault.restore", &json!({ "changes": serde_json::to_value(&wanted).unwrap() }));
        if let Err(fault) = &outcome.result {
            panic!("the forecast had no conflict, and then: {fault}; planned {wanted:#?}");
        }
        self.assert_explained(before.clone(), &outcome.changes);
        self.assert_nothing_lost(&before, since, &overwritten);
        let now = self.texts.len();
        let past = &mut self.runs[run];
        match past.undo.take() {
            None => past.undo = Some((outcome.changes, now)),
            Some(_) => past.texts = now,
        }
        true
    }

    /// Plans with a decision about every conflict, and returns the paths that may be overwritten.
    fn decide(
        &self,
        changes: &[VaultChange],
        decision: Decision,
        now: &Entries,
    ) -> (Option<RestorePlan>, BTreeSet<String>) {
        let (mut keep, mut overwrite) = (Vec::new(), Vec::new());
        for _ in 0..=changes.len() + 20 {
            let choices = RestoreChoices { only: &[], leave: &[], keep: &keep, overwrite: &overwrite };
            let plan = plan_restore(&self.vault, changes, choices, &PlanContext)
                .unwrap_or_else(|fault| panic!("no plan: {fault}; {changes:#?}"));
            if plan.conflicts.is_empty() {
                return (Some(plan), overwrite.into_iter().collect());
            }
            for conflict in &plan.conflicts {
                let there = now.contains_key(&conflict.path);
                assert_eq!(there, conflict.why != RestoreCause::Gone, "{} is true", conflict.words());
                match (decision, conflict.can_overwrite) {
                    (Decision::Refuse, _) => {}
                    (Decision::Restore, true) => overwrite.push(conflict.path.clone()),
                    (Decision::Keep, _) | (Decision::Restore, false) => keep.push(conflict.path.clone()),
                }
            }
            if decision == Decision::Refuse {
                self.refusal.replace(plan.conflicts.iter().map(|conflict| conflict.words()).collect());
                return (None, BTreeSet::new());
            }
            if keep.len() + overwrite.len() > 4 * (changes.len() + 5) {
                panic!("endless conflicts: {:?}", plan.conflicts);
            }
        }
        panic!("endless conflicts of {changes:#?}");
    }

    /// Checks that every text of the other program is in the vault or stored, and that the texts `since` are where the
    /// user sees them, unless the user decided otherwise.
    fn assert_nothing_lost(&self, before: &Entries, since: usize, overwritten: &BTreeSet<String>) {
        let after = self.entries();
        let stored: BTreeSet<Vec<u8>> = self.runner.store().contents().into_iter().collect();
        for (number, text) in self.texts.iter().enumerate() {
            let holds =
                |entry: &Option<(u32, Vec<u8>)>| entry.as_ref().is_some_and(|(_, bytes)| bytes == text);
            for (path, _) in before.iter().filter(|(_, entry)| holds(entry)) {
                let mut now = after.iter().filter(|(_, entry)| holds(entry)).map(|(path, _)| path);
                let decided = overwritten.iter().any(|decided| is_at_or_below(path, decided));
                if number >= since && is_visible(path) && !decided {
                    assert!(now.any(|path| is_visible(path)), "`{path}` was written since, and is gone");
                } else {
                    assert!(now.next().is_some() || stored.contains(text), "`{path}` is lost");
                }
            }
        }
    }
}

fn has_colliding_names(entries: &Entries) -> bool {
    let mut seen = BTreeSet::new();
    entries.keys().any(|path| !seen.insert(path.to_lowercase()))
}

fn remove(path: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

fn inverse(changes: &[VaultChange]) -> Vec<VaultChange> {
    changes.iter().rev().map(VaultChange::inverse).collect()
}

fn shown(entries: &Entries) -> String {
    let line = |(path, entry): (&String, &Option<(u32, Vec<u8>)>)| match entry {
        Some((mode, bytes)) => format!("{path} {mode:o} {:?}\n", String::from_utf8_lossy(bytes)),
        None => format!("{path}/\n"),
    };
    entries.iter().map(line).collect()
}

/// Returns what went wrong in the history of a seed.
fn failure_of(seed: u64) -> Option<String> {
    let mut history = History::new(seed);
    let steps = 4 + history.random.below(12);
    let outcome = catch_unwind(AssertUnwindSafe(|| (0..steps).for_each(|_| history.step())));
    let panic = outcome.err()?;
    let why = panic.downcast_ref::<String>().cloned();
    let why = why.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
    Some(format!("HISTORY_SEED={seed}\n{}\n=> {why}\n", history.log.join("\n")))
}

#[test]
fn histories_of_runs_edits_undos_and_redos_lose_nothing_and_leave_nothing_half_done() {
    let one = std::env::var("HISTORY_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = one.map_or(0..u64::from(scaled(80, 2_000)), |seed| seed..seed + 1);
    let number = seeds.end - seeds.start;
    let failures: Vec<String> = seeds.filter_map(failure_of).collect();
    let first: Vec<&str> = failures.iter().take(5).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} of {number} failed\n{}", failures.len(), first.join("\n"));
}
