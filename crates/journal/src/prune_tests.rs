//! Removing old runs: which ones, what stays, and what a prune that was killed leaves.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use envelope::{DataRef, Hash, RunId, Timestamp, ToolResult};
use expect_test::expect;

use crate::object_folder::object_path;
use crate::prune::PruneStep;
use crate::samples::{
    begin_run_of_earlier_build, call, confirmation, event, finished_run_of_earlier_build, header, result,
};
use crate::summary_cache::SUMMARIES_FILE;
use crate::{
    Journal, JournalError, PruneLimits, RunFolder, RunHeader, RunKind, RunsFolder, UnnamedRuns, verify,
};

fn at(day: i64) -> Timestamp {
    Timestamp::from_second(day * 86_400).unwrap()
}

fn header_of(run: &str, day: i64, undoes: &[&str]) -> RunHeader {
    RunHeader {
        created_at: at(day),
        kind: if undoes.is_empty() { RunKind::Plan } else { RunKind::Undo },
        undoes: undoes.iter().map(|run| RunId::parse(run).unwrap()).collect(),
        confirm: false,
        ..header(run)
    }
}

/// Starts a run of one call whose result names `content` in the object store, and an artifact.
fn begin(state: &Path, run: &str, day: i64, undoes: &[&str], content: &str) -> Journal {
    let header = header_of(run, day, undoes);
    let journal = Journal::create(&state.join("runs").join(run), &header).unwrap();
    let run_id = header.run_id;
    let stored = journal.put_object(content.as_bytes()).unwrap();
    let (path, file) = journal.create_artifact("call-out", "txt").unwrap().unwrap();
    journal.sync_artifact(&path, &file).unwrap();
    journal.call(&envelope::ToolCall { run_id: run_id.clone(), confirmation_id: None, ..call(0) }).unwrap();
    journal.result(&ToolResult { run_id, data: None, data_ref: Some(stored), ..result(0) }).unwrap();
    journal
}

fn finish(journal: &Journal, run: &str) {
    let finished = envelope::ExecutionEvent {
        run_id: RunId::parse(run).unwrap(),
        ..event(envelope::EventType::RunFinished, Some(serde_json::json!({ "status": "ok" })))
    };
    journal.event(&finished).unwrap();
    journal.close().unwrap();
}

fn add(state: &Path, run: &str, day: i64, undoes: &[&str], content: &str) {
    finish(&begin(state, run, day, undoes, content), run);
}

fn folder(state: &Path) -> RunsFolder {
    RunsFolder::from(state.join("runs"))
}

fn limits(day: i64, keep: usize) -> PruneLimits {
    PruneLimits { created_before: Some(at(day)), keep }
}

fn prune(state: &Path, limits: &PruneLimits) -> crate::PruneReport {
    let runs = folder(state);
    runs.prune(&runs.plan_prune(limits).unwrap(), limits).unwrap()
}

fn listed(state: &Path) -> String {
    let runs = folder(state).list().unwrap();
    runs.iter().map(|run| run.run_id.to_string()).collect::<Vec<_>>().join(" ")
}

fn object(content: &str) -> DataRef {
    DataRef { hash: Hash::of(content.as_bytes()), bytes: content.len() as u64 }
}

fn has_object(state: &Path, content: &str) -> bool {
    let (folder, name) = object_path(&object(content).hash);
    state.join("objects").join(folder).join(name).exists()
}

/// Every file of the state folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path);
        }
    }
    found
}

fn state() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().canonicalize().unwrap();
    (temp, path)
}

/// Five old runs, of which some belong together, and a new one.
fn history(state: &Path) {
    add(state, "a", 1, &[], "old a");
    add(state, "b", 2, &[], "old b");
    add(state, "c", 3, &[], "shared");
    add(state, "undo-b", 4, &["b"], "undone b");
    add(state, "redo-b", 5, &["undo-b"], "redone b");
    add(state, "new", 9, &[], "shared");
}

#[test]
fn runs_that_are_old_and_not_among_the_newest_are_removed_and_linked_ones_stay_together() {
    let chosen = |limits: PruneLimits| {
        let (_temp, state) = state();
        history(&state);
        let plan = folder(&state).plan_prune(&limits).unwrap();
        let runs = plan.runs.iter().map(|pruned| pruned.run.run_id.to_string()).collect::<Vec<_>>().join(" ");
        let planned = (plan.runs.len() as u64, plan.run_bytes(), plan.objects, plan.object_bytes);
        let before = files(&state);
        let report = folder(&state).prune(&plan, &limits).unwrap();
        assert_eq!(planned, (report.runs, report.run_bytes, report.objects, report.object_bytes));
        assert_eq!(before == files(&state), plan.is_empty());
        format!("removes [{runs}] and {} objects, keeps {} [{}]\n", plan.objects, plan.kept, listed(&state))
    };
    let mut told = String::new();
    for (day, keep) in
        [(0, 1), (2, 1), (4, 1), (5, 1), (6, 1), (100, 0), (100, 1), (100, 2), (100, 4), (100, 9)]
    {
        told += &format!("older than day {day}, keep {keep}: {}", chosen(limits(day, keep)));
    }
    told += &format!("keep 3: {}", chosen(PruneLimits { created_before: None, keep: 3 }));
    expect![[r#"
        older than day 0, keep 1: removes [] and 0 objects, keeps 6 [new redo-b undo-b c b a]
        older than day 2, keep 1: removes [a] and 1 objects, keeps 5 [new redo-b undo-b c b]
        older than day 4, keep 1: removes [c a] and 1 objects, keeps 4 [new redo-b undo-b b]
        older than day 5, keep 1: removes [c a] and 1 objects, keeps 4 [new redo-b undo-b b]
        older than day 6, keep 1: removes [redo-b undo-b c b a] and 4 objects, keeps 1 [new]
        older than day 100, keep 0: removes [redo-b undo-b c b a] and 4 objects, keeps 1 [new]
        older than day 100, keep 1: removes [redo-b undo-b c b a] and 4 objects, keeps 1 [new]
        older than day 100, keep 2: removes [c a] and 1 objects, keeps 4 [new redo-b undo-b b]
        older than day 100, keep 4: removes [a] and 1 objects, keeps 5 [new redo-b undo-b c b]
        older than day 100, keep 9: removes [] and 0 objects, keeps 6 [new redo-b undo-b c b a]
        keep 3: removes [c a] and 1 objects, keeps 4 [new redo-b undo-b b]
    "#]]
    .assert_eq(&told);
}

#[test]
fn an_object_that_a_remaining_run_names_stays_and_temporary_files_go() {
    let (_temp, state) = state();
    history(&state);
    fs::File::create(state.join("objects/large.1-1.tmp")).unwrap();
    let foreign = state.join("objects/notes.txt");
    fs::File::create(&foreign).unwrap();
    prune(&state, &limits(100, 1));
    assert!(has_object(&state, "shared") && foreign.exists());
    assert!(!has_object(&state, "old a") && !state.join("objects/large.1-1.tmp").exists());
    assert_eq!(verify(&state.join("runs/new"), None).unwrap().problems, []);
    let sizes = folder(&state).sizes().unwrap();
    // The content and the policy.
    assert_eq!((sizes.runs, sizes.objects), (1, 2));
    assert_eq!(
        sizes.run_bytes,
        files(&state.join("runs")).iter().map(|file| fs::metadata(file).unwrap().len()).sum::<u64>()
    );
}

#[test]
fn a_run_that_is_open_interrupted_or_damaged_stays() {
    let (_temp, state) = state();
    let running = begin(&state, "running", 1, &[], "running");
    add(&state, "undo-running", 2, &["running"], "its undo");
    drop(begin(&state, "interrupted", 1, &[], "interrupted"));
    add(&state, "damaged", 1, &[], "damaged");
    fs::remove_file(state.join("runs/damaged/run.json")).unwrap();
    add(&state, "reopened", 1, &[], "reopened");
    add(&state, "new", 9, &[], "new");
    // The damaged run counts by the time of its folder.
    let all = limits(100, 2);
    let plan = folder(&state).plan_prune(&all).unwrap();
    assert_eq!(plan.runs.len(), 1);
    let (reopened, _) = Journal::reopen(&state.join("runs/reopened")).unwrap();
    let report = folder(&state).prune(&plan, &all).unwrap();
    assert_eq!((report.runs, report.objects), (0, 0));
    drop(reopened);
    assert_eq!(prune(&state, &all).runs, 1);
    for content in ["running", "its undo", "interrupted", "damaged", "new"] {
        assert!(has_object(&state, content), "{content}");
    }
    finish(&running, "running");
    assert_eq!(prune(&state, &all).runs, 2);
}

#[test]
fn an_undo_that_began_after_the_question_keeps_its_run() {
    let (_temp, state) = state();
    history(&state);
    let all = limits(100, 1);
    let plan = folder(&state).plan_prune(&all).unwrap();
    add(&state, "undo-a", 10, &["a"], "undone a");
    folder(&state).prune(&plan, &all).unwrap();
    assert!(
        listed(&state).split(' ').any(|run| run == "a") && has_object(&state, "old a"),
        "{}",
        listed(&state)
    );
    assert_eq!(verify(&state.join("runs/a"), None).unwrap().problems, []);
}

#[test]
fn an_undo_that_began_while_runs_were_being_removed_keeps_its_run() {
    let all = limits(100, 1);
    // The undo is the newest run, or one that could be removed itself.
    for day in [10, 8] {
        let (_temp, state) = state();
        history(&state);
        let plan = folder(&state).plan_prune(&all).unwrap();
        let mut undo = |step: PruneStep| {
            if step == PruneStep::LockRuns {
                add(&state, "undo-a", day, &["a"], "undone a");
            }
            Ok(())
        };
        let report = folder(&state).prune_in_steps(&plan, &all, &mut undo).unwrap();
        assert_eq!(report.runs, 4);
        let expected = if day == 10 { "undo-a new a" } else { "new undo-a a" };
        assert_eq!(listed(&state), expected);
        assert!(has_object(&state, "old a") && !has_object(&state, "old b"));
        assert_eq!(verify(&state.join("runs/a"), None).unwrap().problems, []);
    }
}

#[test]
fn an_undo_that_begins_after_the_removal_was_decided_is_refused() {
    let (_temp, state) = state();
    history(&state);
    let all = limits(100, 1);
    let runs = folder(&state);
    let plan = runs.plan_prune(&all).unwrap();
    std::thread::scope(|threads| {
        let mut undo = None;
        let mut begin = |step: PruneStep| {
            if step == PruneStep::WriteList {
                let create = || folder(&state).create(&header_of("undo-a", 10, &["a"])).map(|_journal| ());
                undo = Some(threads.spawn(create));
            }
            Ok(())
        };
        assert_eq!(runs.prune_in_steps(&plan, &all, &mut begin).unwrap().runs, 5);
        let refused = undo.unwrap().join().unwrap().unwrap_err();
        expect!["run a was removed in the meantime; `tollgate runs` lists the runs that are left"]
            .assert_eq(&refused.to_string());
    });
    assert_eq!(listed(&state), "new");
}

#[test]
fn a_run_is_continued_once_also_by_two_processes_at_the_same_moment() {
    let (_temp, state) = state();
    add(&state, "failed", 1, &[], "failed");
    // Both have checked already that nothing continues the run.
    let begin = |run: &str| {
        let continues = Some(crate::Continuation {
            run_id: RunId::parse("failed").unwrap(),
            carried: Vec::new(),
            uncertain: Vec::new(),
            context: serde_json::Map::new(),
        });
        let newer = |runs: &[crate::RunSummary]| {
            let found = runs.iter().find(|run| run.continues.is_some());
            found.map(|run| run.run_id.clone())
        };
        let header = RunHeader { continues, ..header_of(run, 2, &[]) };
        folder(&state).create_unless(&header, &newer).map(|_journal| ())
    };
    for round in 0..20 {
        let names = [format!("one-{round}"), format!("two-{round}")];
        let done: Vec<Result<(), JournalError>> = std::thread::scope(|threads| {
            let begun: Vec<_> = names.iter().map(|run| threads.spawn(|| begin(run))).collect();
            begun.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let refused =
            done.iter().filter(|done| matches!(done, Err(JournalError::LinkedMeanwhile { .. }))).count();
        assert_eq!((done.iter().filter(|done| done.is_ok()).count(), refused), (1, 1), "{done:?}");
        for run in names {
            let _made = fs::remove_dir_all(state.join("runs").join(run));
        }
    }
}

#[test]
fn content_that_only_the_details_of_a_failure_name_stays_with_its_run() {
    let (_temp, state) = state();
    for (run, day) in [("old", 1), ("new", 9)] {
        let journal = Journal::create(&state.join("runs").join(run), &header_of(run, day, &[])).unwrap();
        let kept = journal.put_object(format!("text of {run}").as_bytes()).unwrap();
        let details = serde_json::json!({ "storedAs": { "hash": kept.hash, "bytes": kept.bytes } });
        let error = envelope::ToolError {
            code: "CONFLICT".to_owned(),
            message: "another program wrote the note".to_owned(),
            details: details.as_object().cloned(),
            retryable: None,
            kind: None,
            recovery_hint: None,
        };
        let run_id = RunId::parse(run).unwrap();
        let called = envelope::ToolCall { run_id: run_id.clone(), confirmation_id: None, ..call(0) };
        journal.call(&called).unwrap();
        let (status, ok) = (envelope::Status::Error, false);
        let failed = ToolResult { run_id, status, ok, data: None, error: Some(error), ..result(0) };
        journal.result(&failed).unwrap();
        finish(&journal, run);
    }
    assert_eq!(prune(&state, &limits(100, 1)).runs, 1);
    assert!(!has_object(&state, "text of old") && has_object(&state, "text of new"));
}

#[test]
fn a_run_that_is_linked_to_one_of_another_vault_stays() {
    let (_temp, state) = state();
    let of =
        |vault: &str| RunsFolder::of_vault(state.join("runs"), vec![vault.to_owned()], UnnamedRuns::Refuse);
    let runs: [(&str, &str, i64, &[&str]); 5] = [
        ("one", "a", 1, &[]),
        ("one", "b", 2, &[]),
        ("two", "undo-b", 3, &["b"]),
        ("one", "new", 4, &[]),
        ("two", "newer", 5, &[]),
    ];
    for (vault, run, day, undoes) in runs {
        finish(&of(vault).create(&header_of(run, day, undoes)).unwrap(), run);
    }
    // The runs of the other vault do not count as the newest.
    for (keep, removed, left) in
        [(3, "", "newer new undo-b b a"), (2, "a", "newer new undo-b b"), (0, "", "newer new undo-b b")]
    {
        let limits = PruneLimits { created_before: None, keep };
        let plan = of("one").plan_prune(&limits).unwrap();
        let planned: Vec<&str> = plan.runs.iter().map(|pruned| pruned.run.run_id.as_str()).collect();
        assert_eq!(planned.join(" "), removed, "keep {keep}");
        assert_eq!(plan.kept, of("one").list().unwrap().len() - planned.len());
        of("one").prune(&plan, &limits).unwrap();
        assert_eq!(listed(&state), left, "keep {keep}");
    }
}

#[test]
fn an_object_that_only_a_folder_that_is_no_run_names_stays() {
    let (_temp, state) = state();
    history(&state);
    let runs = state.join("runs");
    fs::rename(runs.join("a"), runs.join("copy of a")).unwrap();
    fs::rename(runs.join("b"), runs.join(".b")).unwrap();
    // A run that a power cut ended before anything but the write-ahead log was on disk.
    let begun = begin(&state, "begun", 6, &[], "begun");
    drop(begun);
    for name in ["run.json", "stored-objects"] {
        fs::remove_file(runs.join("begun").join(name)).unwrap();
    }
    for log in ["calls.jsonl", "results.jsonl", "events.jsonl"] {
        fs::File::create(runs.join("begun").join(log)).unwrap();
    }
    assert_eq!(listed(&state), "new redo-b undo-b c");
    let all = limits(100, 1);
    let plan = folder(&state).plan_prune(&all).unwrap();
    let report = folder(&state).prune(&plan, &all).unwrap();
    assert_eq!((plan.objects, report.objects), (2, 2));
    for (content, stays) in [("old a", true), ("old b", true), ("begun", true), ("undone b", false)] {
        assert_eq!(has_object(&state, content), stays, "{content}");
    }
}

#[test]
fn while_an_entry_beside_the_runs_cannot_be_read_every_object_stays() {
    use std::ffi::OsStr;
    use std::os::unix::{ffi::OsStrExt, fs::symlink};
    let all = limits(100, 1);
    // The name of the second link is that of a run, and greater than the others.
    let entries: [(&[u8], bool); 3] = [(b"a link", true), (b"zz-run", true), (b"run-\xff", false)];
    let make = |state: &Path, name: &[u8], is_link: bool| -> io::Result<()> {
        let path = state.join("runs").join(OsStr::from_bytes(name));
        if is_link { symlink(state, path) } else { fs::create_dir(path) }
    };
    for (name, is_link) in entries {
        let (_temp, state) = state();
        history(&state);
        // Some file systems refuse a name that is not UTF-8.
        if make(&state, name, is_link).is_err() {
            continue;
        }
        let plan = folder(&state).plan_prune(&all).unwrap();
        let report = folder(&state).prune(&plan, &all).unwrap();
        assert_eq!((plan.objects, plan.kept, report.runs, report.objects), (0, 1, 5, 0));
        assert_eq!(plan.unreadable, [String::from_utf8_lossy(name)]);
        assert!(fs::symlink_metadata(state.join("runs").join(OsStr::from_bytes(name))).is_ok());
        assert!(has_object(&state, "old a"));
    }
}

#[test]
fn nothing_of_a_removed_run_remains_in_the_cached_summaries() {
    let (_temp, state) = state();
    for number in 0..80 {
        add(&state, &format!("run-{number:02}"), number, &[], "content");
    }
    let summaries = state.join("runs").join(SUMMARIES_FILE);
    folder(&state).list().unwrap();
    assert!(fs::read_to_string(&summaries).unwrap().contains("\"run-05\""));
    let all = limits(100, 40);
    let plan = folder(&state).plan_prune(&all).unwrap();
    let mut killed = |step: PruneStep| {
        if step == PruneStep::RemoveList { Err(io::Error::other("killed")) } else { Ok(()) }
    };
    folder(&state).prune_in_steps(&plan, &all, &mut killed).unwrap_err();
    assert!(!summaries.exists());
    prune(&state, &all);
    let left = fs::read_to_string(&summaries).unwrap();
    assert!(left.contains("\"run-45\"") && !left.contains("\"run-05\""));
}

#[test]
fn an_object_that_an_open_run_stored_and_no_record_names_yet_stays() {
    let (_temp, state) = state();
    history(&state);
    let journal = Journal::create(&state.join("runs/writer"), &header_of("writer", 10, &[])).unwrap();
    // It is there already, stored by a run that is about to be removed.
    let stored = journal.put_object(b"old a").unwrap();
    assert_eq!(prune(&state, &limits(100, 1)).runs, 6);
    assert_eq!(journal.object(&stored).unwrap(), b"old a");
    finish(&journal, "writer");
    assert!(!state.join("runs/writer/stored-objects").exists());
    assert_eq!(prune(&state, &limits(0, 1)).objects, 1);
    assert!(!has_object(&state, "old a"));
}

#[test]
fn writers_and_a_prune_at_the_same_time_lose_nothing() {
    let (_temp, state) = state();
    for number in 0..8 {
        add(&state, &format!("old-{number}"), 1, &[], &format!("content {number}"));
    }
    std::thread::scope(|threads| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let state = &state;
                threads.spawn(move || {
                    for number in 0..8 {
                        let run = format!("writer-{writer}-{number}");
                        add(state, &run, 10, &[], &format!("content {number}"));
                    }
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            prune(&state, &limits(5, 1));
        }
    });
    for run in folder(&state).list().unwrap() {
        assert_eq!(verify(&run.dir, None).unwrap().problems, [], "{}", run.run_id);
    }
    assert_eq!(listed(&state).split(' ').filter(|run| run.starts_with("writer")).count(), 16);
}

#[test]
fn a_prune_that_is_killed_at_any_step_leaves_whole_runs_and_is_completed_by_the_next() {
    let all = limits(100, 1);
    let (_temp, whole) = state();
    history(&whole);
    prune(&whole, &all);
    let remaining = |state: &Path| -> BTreeSet<PathBuf> {
        files(state).iter().map(|file| file.strip_prefix(state).unwrap().to_owned()).collect()
    };
    let expected = remaining(&whole);
    let mut kills = 0;
    loop {
        let (_temp, state) = state();
        history(&state);
        let runs = folder(&state);
        let plan = runs.plan_prune(&all).unwrap();
        let steps = Cell::new(0);
        let mut stop = |_step: PruneStep| {
            steps.set(steps.get() + 1);
            if steps.get() > kills { Err(io::Error::other("killed")) } else { Ok(()) }
        };
        let done = runs.prune_in_steps(&plan, &all, &mut stop).is_ok();
        let left = listed(&state);
        let together = |linked: &[&str]| {
            let there = linked.iter().filter(|run| left.split(' ').any(|left| left == **run)).count();
            assert!(there == 0 || there == linked.len(), "killed at {kills}: {left}");
        };
        together(&["b", "undo-b", "redo-b"]);
        assert!(left.starts_with("new"));
        for run in runs.list().unwrap() {
            assert_eq!(verify(&run.dir, None).unwrap().problems, [], "killed at {kills}: {}", run.run_id);
        }
        let second = runs.plan_prune(&all).unwrap();
        assert_eq!(second.is_empty(), done, "killed at {kills}");
        runs.prune(&second, &all).unwrap();
        assert_eq!(remaining(&state), expected, "killed at {kills}");
        if done {
            break;
        }
        kills += 1;
    }
    // Three files and an artifact of each of five runs, their folders, the list, and the objects.
    assert!(kills > 30, "{kills}");
}

#[test]
fn a_list_of_removals_from_elsewhere_reaches_no_folder_outside_and_no_run_in_use() {
    let (_temp, state) = state();
    add(&state, "a", 1, &[], "a");
    let running = begin(&state, "running", 2, &[], "running");
    fs::create_dir_all(state.join("precious")).unwrap();
    let list = serde_json::json!({ "runs": ["../precious", "..", ".", "running"] });
    io::Write::write_all(
        &mut fs::File::create(state.join("pruning.json")).unwrap(),
        list.to_string().as_bytes(),
    )
    .unwrap();
    prune(&state, &limits(0, 1));
    assert!(state.join("precious").exists() && state.join("runs/a").exists());
    finish(&running, "running");
    assert_eq!(listed(&state), "running a");
    assert!(!state.join("pruning.json").exists());
}

#[test]
fn two_prunes_do_not_run_at_the_same_time() {
    let (_temp, state) = state();
    history(&state);
    let all = limits(100, 1);
    let runs = folder(&state);
    let plan = runs.plan_prune(&all).unwrap();
    let mut refused = false;
    let mut meanwhile = |_step: PruneStep| {
        refused |= matches!(runs.prune(&plan, &all), Err(JournalError::PruneRunning { .. }));
        Ok(())
    };
    runs.prune_in_steps(&plan, &all, &mut meanwhile).unwrap();
    assert!(refused);
}

#[test]
fn while_an_earlier_build_writes_a_run_no_object_is_removed() {
    let (_temp, state) = state();
    history(&state);
    let (writer, _folder) = begin_run_of_earlier_build(&state, header("run-1"));
    let all = limits(100, 1);
    let plan = folder(&state).plan_prune(&all).unwrap();
    assert_eq!(plan.objects_in_use_by, Some(RunId::parse("run-1").unwrap()));
    assert_eq!((plan.runs.len(), plan.objects), (6, 0));
    folder(&state).prune(&plan, &all).unwrap();
    assert!(has_object(&state, "old a"));
    drop(writer);
}

#[test]
fn the_policy_is_stored_once_and_runs_of_earlier_builds_are_read() {
    let (_temp, state) = state();
    let old = finished_run_of_earlier_build(&state, "run-1", 1);
    let text = fs::read_to_string(old.join("run.json")).unwrap();
    assert!(text.contains(r#""policy":{"mode":"ask"}"#), "{text}");
    assert!(!state.join("objects").exists());
    let folder_of = |run: &str| RunFolder::open(&state.join("runs").join(run)).unwrap();
    assert_eq!(folder_of("run-1").policy().unwrap(), header("run-1").policy.unwrap());
    assert_eq!(verify(&old, None).unwrap().problems, []);
    for run in ["a", "b"] {
        Journal::create(&state.join("runs").join(run), &header(run)).unwrap();
        assert_eq!(folder_of(run).policy().unwrap(), header(run).policy.unwrap());
    }
    assert_eq!(files(&state.join("objects")).len(), 1);
    assert_eq!(folder_of("a").confirmation(), None);
    assert_eq!(confirmation().forecast, None);
}
