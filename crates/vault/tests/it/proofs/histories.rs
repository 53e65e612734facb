//! Random histories of runs, edits by another program, undos and redos lose nothing and leave nothing half done.
//!
//! The model is a map from path to content and the list of texts that the other program wrote; it shares no code with
//! the vault. Times of files are steps of the history, far in the future. `RUN_SLOW_TESTS` makes 2,000 histories. A failing history prints its seed and its steps; `HISTORY_SEED`
//! runs that seed alone.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use envelope::{EntryKind, Fault, FileState, Hash, Timestamp, VaultChange};
use serde_json::json;
use vault::{
    IoContext, RestoreCause, RestoreChoices, RestorePlan, RestoredLinks, Vault, plan_link_updates,
    plan_restore,
};

use super::call_runner::CallRunner;
use super::link_model::{masked, resolve, wiki_targets};
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

/// Seconds of the first step: no real file is that young.
const FIRST_STEP: u64 = 4_000_000_000;

/// Step in which each file was written.
fn steps_of_files(vault: &Path, entries: &Entries) -> BTreeMap<String, u64> {
    let files = entries.iter().filter(|(_, entry)| entry.is_some());
    let step = |(path, _): (&String, _)| (path.clone(), seconds(&vault.join(path)) - FIRST_STEP);
    files.map(step).collect()
}

fn seconds(file: &Path) -> u64 {
    let modified: SystemTime = file.metadata().unwrap().modified().unwrap();
    modified.duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Returns the path that a file has after the changes; `None` if it is gone or in the trash.
fn path_after(path: &str, changes: &[VaultChange]) -> Option<String> {
    let mut now = path.to_owned();
    for change in changes {
        match change {
            VaultChange::FileRemoved { path, .. } if *path == now => return None,
            VaultChange::Moved { from, to, .. } if is_at_or_below(&now, from) => {
                now = format!("{to}{}", &now[from.len()..]);
            }
            VaultChange::FileRemoved { .. }
            | VaultChange::Moved { .. }
            | VaultChange::FileCreated { .. }
            | VaultChange::FileReplaced { .. }
            | VaultChange::FolderCreated { .. }
            | VaultChange::FolderRemoved { .. } => {}
        }
    }
    is_visible(&now).then_some(now)
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
    /// Step in which the run, or its last redo, began.
    began: u64,
    /// The undo.
    undo: Option<PastUndo>,
}

#[derive(Clone)]
struct PastUndo {
    made: Vec<VaultChange>,
    /// How many texts there were when it ended.
    texts: usize,
    /// Step in which it began.
    began: u64,
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
    /// Number of the current step.
    clock: u64,
    log: Vec<String>,
    /// Conflicts of the last refusal.
    refusal: RefCell<Vec<String>>,
    /// Links to moved files, or in moved notes, that were checked after an undo or redo, and how many of them were rewritten.
    links_checked: Cell<[usize; 2]>,
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
        let history = History {
            folder,
            runner,
            vault,
            random: SeededRandom(seed),
            runs,
            texts,
            number: 0,
            clock: 0,
            log,
            refusal: RefCell::default(),
            links_checked: Cell::default(),
        };
        history.stamp();
        history
    }

    /// Gives every file that was written in this step the time of the step.
    fn stamp(&self) {
        let now = UNIX_EPOCH + Duration::from_secs(FIRST_STEP + self.clock);
        for path in self.entries().into_iter().filter_map(|(path, entry)| entry.map(|_| path)) {
            let at = self.root().join(path);
            if seconds(&at) < FIRST_STEP {
                fs::File::open(at).unwrap().set_modified(now).unwrap();
            }
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
        // To a file that is there, by its path or its name, or to a name that may lead nowhere.
        let path = self.path();
        let target = path.strip_suffix(".md").unwrap_or(&path);
        let name = target.rsplit('/').next().unwrap_or(target);
        let link = match self.random.below(5) {
            0 => String::new(),
            1 | 2 => format!("[[{target}]]"),
            3 => format!("[[{name}]]"),
            _ => format!("[[{}]]", self.random.of(&["a", "F/a", "c"])),
        };
        format!("{who} {} {link}\n", self.number)
    }

    fn step(&mut self) {
        match self.random.below(12) {
            10 | 11 => self.rename_and_link(),
            0..3 => self.run(),
            3..6 => {
                self.other_program();
                self.stamp();
            }
            _ => self.undo_or_redo(),
        }
    }

    /// Makes a run of some calls. A refused call changes nothing, and a record explains every difference.
    fn run(&mut self) {
        let mut made = Vec::new();
        self.clock += 1;
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
        self.stamp();
        if !made.is_empty() {
            self.runs.push(PastRun { made, texts: self.texts.len(), began: self.clock, undo: None });
        }
    }

    /// Makes a run that renames something, lets the other program link to the new name, and perhaps takes the run back.
    fn rename_and_link(&mut self) {
        let from = self.path();
        let entries = self.entries();
        let Some(kind) = entries.get(&from) else { return };
        self.number += 1;
        let (folder, name) = (self.random.of(&FOLDERS), format!("new{}", self.number));
        let to = if kind.is_some() { format!("{folder}{name}.md") } else { format!("{folder}{name}") };
        self.clock += 1;
        let outcome = self.runner.call("vault.rename", &json!({ "fromPath": from, "toPath": to }));
        self.log.push(format!("rename {from} to {to}: {}", outcome.verdict()));
        self.stamp();
        if outcome.result.is_err() {
            return;
        }
        self.runs.push(PastRun {
            made: outcome.changes,
            texts: self.texts.len(),
            began: self.clock,
            undo: None,
        });
        let files =
            self.entries().into_iter().filter(|(path, entry)| entry.is_some() && is_at_or_below(path, &to));
        let files: Vec<String> = files.map(|(path, _)| path.trim_end_matches(".md").to_owned()).collect();
        if files.is_empty() {
            return;
        }
        let target = files[self.random.below(files.len())].clone();
        let target =
            if self.random.chance(2) { target.rsplit('/').next().unwrap().to_owned() } else { target };
        let (number, folder) = (self.number, self.random.of(&FOLDERS));
        let (path, text) = (format!("{folder}log{number}.md"), format!("theirs {number} [[{target}]]\n"));
        let at = self.root().join(&path);
        if fs::create_dir_all(at.parent().unwrap()).is_ok() && fs::write(&at, &text).is_ok() {
            self.log.push(format!("write {path}: {text:?}"));
            self.texts.push(text.into_bytes());
        }
        self.stamp();
        if self.random.chance(2) {
            let newest = self.runs.len() - 1;
            self.undo_or_redo_run(newest);
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
        self.undo_or_redo_run(run);
    }

    fn undo_or_redo_run(&mut self, run: usize) {
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
        let (verb, changes, since, began) = match &past.undo {
            None => ("undo", inverse(&past.made), past.texts, past.began),
            Some(undo) => ("redo", inverse(&undo.made), undo.texts, undo.began),
        };
        self.log.push(format!("{verb} of run {run}, {decision:?}"));
        let before = self.entries();
        let written = steps_of_files(&self.root(), &before);
        let (plan, decided) = self.decide((&changes, began), decision, &before);
        assert_eq!(self.entries(), before, "a forecast changes nothing");
        let Some(plan) = plan else {
            return false;
        };
        let wanted = plan.changes();
        self.clock += 1;
        let args = json!({ "changes": wanted, "links": plan.links, "overwrite": plan.uncompared });
        let outcome = self.runner.call("vault.restore", &args);
        self.stamp();
        if let Err(fault) = &outcome.result {
            panic!("the forecast had no conflict, and then: {fault}; planned {wanted:#?}");
        }
        self.assert_explained(before.clone(), &outcome.changes);
        self.assert_nothing_lost(&before, since, &decided.overwrite);
        self.assert_links_lead_to_their_files(&before, &outcome.changes, |path| {
            let restored = wanted.iter().any(|change| {
                matches!(change, VaultChange::FileReplaced { .. })
                    && change.paths().any(|changed| changed == path)
            });
            written[path] >= began && !restored && !decided.keep.iter().any(|kept| is_at_or_below(path, kept))
        });
        self.assert_stored(&plan.links);
        let (now, began) = (self.texts.len(), self.clock);
        let past = &mut self.runs[run];
        match past.undo.take() {
            None => past.undo = Some(PastUndo { made: outcome.changes, texts: now, began }),
            Some(_) => (past.texts, past.began) = (now, began),
        }
        true
    }

    /// Plans with a decision about every conflict, and returns the paths that may be overwritten.
    fn decide(
        &self,
        (changes, began): (&[VaultChange], u64),
        decision: Decision,
        now: &Entries,
    ) -> (Option<RestorePlan>, DecidedPaths) {
        let since = Timestamp::from_second((FIRST_STEP + began) as i64).unwrap();
        let (mut keep, mut overwrite) = (Vec::new(), Vec::new());
        for _ in 0..=changes.len() + 20 {
            let choices = RestoreChoices { only: &[], leave: &[], keep: &keep, overwrite: &overwrite };
            let mut plan = plan_restore(&self.vault, changes, choices, &PlanContext)
                .unwrap_or_else(|fault| panic!("no plan: {fault}; {changes:#?}"));
            if plan.conflicts.is_empty() {
                plan_link_updates(&self.vault, &mut plan, choices, since, &PlanContext).unwrap();
            }
            if plan.conflicts.is_empty() {
                return (Some(plan), DecidedPaths { keep, overwrite });
            }
            for conflict in &plan.conflicts {
                let there = now.contains_key(&conflict.path);
                // Of two names that differ only in case, the one that the same list brings back first is in the way of the
                // other.
                let comes_back = conflict.why == RestoreCause::Taken
                    && changes.iter().any(|change| change.paths().any(|path| path == conflict.path));
                let is_true = comes_back || there == (conflict.why != RestoreCause::Gone);
                assert!(is_true, "{} is true", conflict.words());
                match (decision, conflict.can_overwrite) {
                    (Decision::Refuse, _) => {}
                    (Decision::Restore, true) => overwrite.push(conflict.path.clone()),
                    (Decision::Keep, _) | (Decision::Restore, false) => keep.push(conflict.path.clone()),
                }
            }
            if decision == Decision::Refuse {
                self.refusal.replace(plan.conflicts.iter().map(|conflict| conflict.words()).collect());
                return (None, DecidedPaths::default());
            }
            if keep.len() + overwrite.len() > 4 * (changes.len() + 5) {
                panic!("endless conflicts: {:?}", plan.conflicts);
            }
        }
        panic!("endless conflicts of {changes:#?}");
    }

    /// Checks that the content before each rewriting of links is stored, byte for byte.
    fn assert_stored(&self, links: &[RestoredLinks]) {
        let stored: BTreeSet<Hash> =
            self.runner.store().contents().iter().map(|bytes| Hash::of(bytes)).collect();
        for rewritten in links {
            assert!(stored.contains(&rewritten.before.hash), "{} is stored", rewritten.path);
        }
    }

    /// Checks every link of the notes that `follows` names, to a file that was moved or in a note that was moved: it must
    /// lead to the same file as before.
    fn assert_links_lead_to_their_files(
        &self,
        before: &Entries,
        changes: &[VaultChange],
        follows: impl Fn(&str) -> bool,
    ) {
        let after = self.entries();
        let visible = |entries: &Entries| -> Vec<String> {
            let files = entries.iter().filter(|(path, entry)| entry.is_some() && is_visible(path));
            files.map(|(path, _)| path.clone()).collect()
        };
        let (files, files_after) = (visible(before), visible(&after));
        for note in files.iter().filter(|path| path.ends_with(".md") && follows(path)) {
            let Some(note_after) = path_after(note, changes) else { continue };
            let text = |entries: &Entries, path: &str| entries[path].clone().unwrap().1;
            let links = wiki_targets(&text(before, note));
            let links_after = wiki_targets(&text(&after, &note_after));
            assert_eq!(links.len(), links_after.len(), "{note}");
            for (link, link_after) in links.iter().zip(&links_after) {
                let Some(file) = resolve(&files, note, link) else { continue };
                let Some(file_after) = path_after(&file, changes) else { continue };
                // Which of two equal names a link means depends on how it is spelled.
                let is_twin = |files: &[String], file: &str| {
                    files.iter().filter(|other| other.to_lowercase() == file.to_lowercase()).count() > 1
                };
                let stays = file == file_after && *note == note_after;
                if stays || is_twin(&files, &file) || is_twin(&files_after, &file_after) {
                    continue;
                }
                let found = resolve(&files_after, &note_after, link_after);
                let what = format!("[[{link}]] in {note}, now [[{link_after}]] in {note_after}");
                assert_eq!(found.as_ref(), Some(&file_after), "{what}");
                let [checked, rewritten] = self.links_checked.get();
                self.links_checked.set([checked + 1, rewritten + usize::from(link != link_after)]);
            }
        }
    }

    /// Checks that every text of the other program is in the vault or stored, and that the texts `since` are where the
    /// user sees them, unless the user decided otherwise.
    fn assert_nothing_lost(&self, before: &Entries, since: usize, overwritten: &[String]) {
        let after = self.entries();
        let stored: BTreeSet<Vec<u8>> =
            self.runner.store().contents().iter().map(|bytes| masked(bytes)).collect();
        for (number, text) in self.texts.iter().enumerate() {
            // A rename and an undo rewrite links in it.
            let text = masked(text);
            let holds = |entry: &Option<(u32, Vec<u8>)>| {
                entry.as_ref().is_some_and(|(_, bytes)| masked(bytes) == text)
            };
            for (path, _) in before.iter().filter(|(_, entry)| holds(entry)) {
                let mut now = after.iter().filter(|(_, entry)| holds(entry)).map(|(path, _)| path);
                let decided = overwritten.iter().any(|decided| is_at_or_below(path, decided));
                if number >= since && is_visible(path) && !decided {
                    assert!(now.any(|path| is_visible(path)), "`{path}` was written since, and is gone");
                } else {
                    assert!(now.next().is_some() || stored.contains(&text), "`{path}` is lost");
                }
            }
        }
    }
}

/// The decisions about conflicts.
#[derive(Default)]
struct DecidedPaths {
    keep: Vec<String>,
    overwrite: Vec<String>,
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

/// Returns how many links were checked and rewritten in the history of a seed, or what went wrong.
fn links_of(seed: u64) -> Result<[usize; 2], String> {
    let mut history = History::new(seed);
    let steps = 4 + history.random.below(12);
    let outcome = catch_unwind(AssertUnwindSafe(|| (0..steps).for_each(|_| history.step())));
    let Err(panic) = outcome else { return Ok(history.links_checked.get()) };
    let why = panic.downcast_ref::<String>().cloned();
    let why = why.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
    Err(format!("HISTORY_SEED={seed}\n{}\n=> {why}\n", history.log.join("\n")))
}

#[test]
fn histories_of_runs_edits_undos_and_redos_lose_nothing_and_leave_nothing_half_done() {
    let one = std::env::var("HISTORY_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = one.map_or(0..u64::from(scaled(80, 2_000)), |seed| seed..seed + 1);
    let number = seeds.end - seeds.start;
    let (mut failures, mut links) = (Vec::new(), [0, 0]);
    for seed in seeds {
        match links_of(seed) {
            Ok([checked, rewritten]) => links = [links[0] + checked, links[1] + rewritten],
            Err(failure) => failures.push(failure),
        }
    }
    let first: Vec<&str> = failures.iter().take(5).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} of {number} failed\n{}", failures.len(), first.join("\n"));
    assert!(one.is_some() || (links[0] > 20 && links[1] > 5), "links are checked and rewritten: {links:?}");
}
