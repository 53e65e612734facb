//! Tests of the journal's public interface.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use envelope::{DataRef, EventType, FileState, Hash, Status, ToolResult, VaultChange};
use expect_test::expect;
use serde_json::json;

use crate::disk::FolderHandle;
use crate::samples::{call, confirmation, event, finished_run, header, result, write_run};
use crate::sim::SimDisk;
use crate::summary_cache::SUMMARIES_FILE;
use crate::{
    FindError, Journal, JournalEntry, JournalError, JournalRecord, LogKind, ProblemKind, RunFolder,
    RunHeader, RunState, RunsFolder, list_runs, run_ids, run_summary, verify,
};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_same_inputs_give_the_same_bytes_in_memory_and_on_disk() {
    let temp = tempfile::tempdir().unwrap();
    let dir = finished_run(temp.path(), "run-1", 3);
    let memory = Journal::in_memory(&header("run-1"));
    write_run(&memory, 3).unwrap();
    for kind in LogKind::ALL {
        let on_disk = fs::read_to_string(dir.join(kind.file())).unwrap();
        assert_eq!(on_disk.lines().collect::<Vec<_>>(), memory.lines(kind));
    }
    assert_eq!(verify(&dir, Some(&memory.head().hash)).unwrap().problems, []);
}

// Conformance: envelope 9.3
#[test]
fn a_closed_run_has_its_four_files_for_its_owner_only() {
    let temp = tempfile::tempdir().unwrap();
    let dir = finished_run(temp.path(), "run-1", 1);
    assert_eq!(names(&dir), ["calls.jsonl", "events.jsonl", "results.jsonl", "run.json"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for name in names(&dir) {
        assert_eq!(mode(&dir.join(&name)), 0o600, "{name}");
    }
}

// Conformance: envelope 9.3
#[test]
fn records_come_back_in_order_and_as_they_were() {
    let temp = tempfile::tempdir().unwrap();
    let dir = finished_run(temp.path(), "run-1", 1);
    let folder = RunFolder::open(&dir).unwrap();
    let records: Vec<JournalEntry> = folder.records().unwrap().map(|record| record.unwrap()).collect();
    let expected = [
        JournalRecord::Event(Box::new(event(EventType::RunStarted, None))),
        JournalRecord::Event(Box::new(event(EventType::RunConfirmed, Some(json!(confirmation()))))),
        JournalRecord::Call(Box::new(call(0))),
        JournalRecord::Event(Box::new(event(EventType::StepStarted, None))),
        JournalRecord::Result(Box::new(result(0))),
        JournalRecord::Event(Box::new(event(EventType::RunFinished, Some(json!({ "status": "ok" }))))),
    ];
    assert_eq!(records.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(records.into_iter().map(|entry| entry.record).collect::<Vec<_>>(), expected);
    assert_eq!(folder.header(), &header("run-1").with_hashes().unwrap().0);
    assert_eq!(folder.policy().unwrap(), header("run-1").policy.unwrap());
    assert_eq!(folder.confirmation(), Some(&confirmation()));
}

#[test]
fn a_run_that_was_killed_before_its_end_reached_the_logs_has_ended() {
    let temp = tempfile::tempdir().unwrap();
    let (open, killed) = (temp.path().join("runs/run-1"), temp.path().join("killed/run-1"));
    let journal = Journal::create(&open, &header("run-1")).unwrap();
    write_run(&journal, 2).unwrap();
    block_on(journal.durable(u64::MAX)).unwrap();
    // What is on the disk when the process is killed now; nobody holds the lock of the copy.
    fs::create_dir_all(&killed).unwrap();
    for name in names(&open) {
        fs::copy(open.join(&name), killed.join(&name)).unwrap();
    }
    let events = fs::read(killed.join("events.jsonl")).unwrap();
    let last = events[..events.len().saturating_sub(1)].iter().rposition(|byte| *byte == b'\n');
    for kept in [0, last.map_or(0, |end| end + 1), events.len()] {
        fs::File::create(killed.join("events.jsonl")).unwrap().write_all(&events[..kept]).unwrap();
        let state = run_summary(&killed).unwrap().state;
        assert_eq!(state, RunState::Finished(Some("ok".to_owned())), "{kept} bytes of the events");
    }
    drop(journal);
}

#[test]
fn an_existing_folder_a_locked_run_and_a_folder_without_a_run_are_refused() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("runs").join("run-1");
    let journal = Journal::create(&dir, &header("run-1")).unwrap();
    assert!(matches!(Journal::create(&dir, &header("run-1")), Err(JournalError::Exists { .. })));
    assert!(matches!(Journal::reopen(&dir), Err(JournalError::Locked { .. })));
    journal.close().unwrap();
    assert!(matches!(journal.call(&call(0)), Err(JournalError::Closed)));
    assert_eq!(journal.close().unwrap(), journal.head());
    let (again, recovery) = Journal::reopen(&dir).unwrap();
    assert_eq!((recovery.restored, recovery.dropped.len()), (0, 0));
    again.close().unwrap();
    assert!(matches!(Journal::reopen(temp.path()), Err(JournalError::NotARun { .. })));
    assert!(matches!(Journal::reopen(&temp.path().join("no")), Err(JournalError::NotARun { .. })));
}

#[test]
fn those_who_list_runs_keep_no_writer_out_and_see_no_writer_in_each_other() {
    let temp = tempfile::tempdir().unwrap();
    let runs = temp.path().join("runs");
    let dir = runs.join("run-1");
    drop(Journal::create(&dir, &header("run-1")).unwrap());
    let (listing, opened) = (AtomicBool::new(true), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while listing.load(Ordering::Acquire) {
                    // A run must not appear as running if it has no writer before, during and after the
                    // check.
                    let before = opened.load(Ordering::Acquire);
                    let listed = list_runs(&runs).unwrap();
                    let quiet = !before && !opened.load(Ordering::Acquire);
                    assert!(!quiet || listed[0].state == RunState::Interrupted, "{listed:?}");
                }
            });
        }
        for _ in 0..200 {
            list_runs(&runs).unwrap();
        }
        opened.store(true, Ordering::Release);
        let reopened: Result<(), JournalError> =
            (0..50).try_for_each(|_| Journal::reopen(&dir).map(|(journal, _)| drop(journal)));
        listing.store(false, Ordering::Release);
        reopened.unwrap();
    });
}

#[test]
fn the_newest_runs_are_found_without_a_look_at_the_others() {
    let temp = tempfile::tempdir().unwrap();
    let runs = temp.path().join("runs");
    assert_eq!(run_ids(&runs).unwrap(), []);
    let dir = finished_run(temp.path(), "run-1", 2);
    finished_run(temp.path(), "run-2", 1);
    // The check does not even look for a record.
    fs::create_dir(runs.join("run-3")).unwrap();
    let ids: Vec<String> = run_ids(&runs).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(ids, ["run-3", "run-2", "run-1"]);
    assert_eq!(run_summary(&runs.join("run-3")), None);
    assert_eq!(run_summary(&dir).as_ref(), list_runs(&runs).unwrap().iter().find(|run| run.dir == dir));
}

#[test]
fn whoever_has_read_a_run_to_its_end_knows_the_head_of_its_chain() {
    let temp = tempfile::tempdir().unwrap();
    let dir = finished_run(temp.path(), "run-1", 2);
    let folder = RunFolder::open(&dir).unwrap();
    let mut records = folder.records().unwrap();
    assert!(records.by_ref().all(|entry| entry.is_ok()));
    assert_eq!(records.head(), verify(&dir, None).unwrap().head);
}

#[test]
fn links_are_not_followed() {
    let temp = tempfile::tempdir().unwrap();
    let dir = finished_run(temp.path(), "run-1", 1);
    let elsewhere = temp.path().join("elsewhere");
    fs::rename(dir.join("calls.jsonl"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, dir.join("calls.jsonl")).unwrap();
    assert!(matches!(verify(&dir, None), Err(JournalError::Link { .. })));
    assert!(matches!(Journal::reopen(&dir), Err(JournalError::Link { .. })));
    let link = temp.path().join("runs").join("link");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    assert!(RunFolder::open(&link).is_err());
}

#[test]
fn a_run_that_is_still_going_can_be_read_verified_and_listed() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("runs").join("run-1");
    let journal = Journal::create(&dir, &header("run-1")).unwrap();
    // Not finished: a finished run with a missing result would be a problem.
    journal.confirm(&confirmation()).unwrap();
    journal.event(&event(EventType::RunConfirmed, Some(json!(confirmation())))).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for index in 0..2000 {
                journal.call(&call(index)).unwrap();
                let seq = journal.result(&result(index)).unwrap();
                if index % 10 == 0 {
                    block_on(journal.durable(seq)).unwrap();
                }
            }
        });
        while !writer.is_finished() {
            let verified = verify(&dir, None).unwrap();
            assert_eq!(verified.problems, []);
            assert!(verified.open);
            list_runs(&temp.path().join("runs")).unwrap();
        }
    });
    journal.close().unwrap();
    assert_eq!(verify(&dir, None).unwrap().records, 4001);
}

#[test]
fn all_who_wait_are_served_and_share_syncs() {
    let temp = tempfile::tempdir().unwrap();
    let disk = SimDisk::new(temp.path());
    let folder = FolderHandle::open(temp.path()).unwrap();
    let journal = Journal::create_in(folder, Box::new(disk.clone()), &header("run-1")).unwrap();
    let before = disk.syncs();
    disk.hold();
    let first = journal.call(&call(0)).unwrap();
    std::thread::scope(|scope| {
        let first_wait = scope.spawn(|| block_on(journal.durable(first)));
        disk.wait_until_held();
        assert_eq!(disk.syncs(), before);
        // The committer is in the sync for the first record, so these records wait for the next one.
        let sequence: Vec<_> = (1..=200).map(|index| journal.call(&call(index)).unwrap()).collect();
        block_on(async {
            let mut waits = tokio::task::JoinSet::new();
            for seq in sequence {
                let journal = journal.clone();
                waits.spawn(async move { journal.durable(seq).await });
            }
            tokio::task::yield_now().await;
            assert!(waits.try_join_next().is_none(), "a record is acknowledged before its sync");
            disk.release();
            while let Some(served) = waits.join_next().await {
                served.unwrap().unwrap();
            }
        });
        first_wait.join().unwrap().unwrap();
    });
    assert_eq!(disk.syncs() - before, 2, "one for the first record, one for the 200 others");
    block_on(journal.durable(u64::MAX)).unwrap();
    assert_eq!(disk.syncs() - before, 2, "everything is durable already");
}

#[test]
fn what_a_killed_process_wrote_is_there_and_what_only_the_log_ahead_has_is_restored() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("runs").join("run-1");
    let journal = Journal::create(&dir, &header("run-1")).unwrap();
    write_run(&journal, 3).unwrap();
    drop(journal);
    // As if the process had died before the logs were written.
    let results = fs::read(dir.join("results.jsonl")).unwrap();
    let file = fs::File::options().write(true).open(dir.join("results.jsonl")).unwrap();
    file.set_len(results.len() as u64 - 10).unwrap();
    let events = fs::File::options().write(true).open(dir.join("events.jsonl")).unwrap();
    events.set_len(0).unwrap();
    let verified = verify(&dir, None).unwrap();
    assert_eq!((verified.problems.as_slice(), verified.records, verified.restorable), (&[][..], 12, 7));
    let (journal, recovery) = Journal::reopen(&dir).unwrap();
    assert_eq!((recovery.restored, recovery.dropped.as_slice()), (12, &[][..]));
    journal.close().unwrap();
    assert_eq!(fs::read(dir.join("results.jsonl")).unwrap(), results);
    assert_eq!(verify(&dir, None).unwrap().problems, []);
}

#[test]
fn a_finished_run_that_is_opened_and_let_go_again_is_as_it_was() {
    let temp = tempfile::tempdir().unwrap();
    let dir = finished_run(temp.path(), "run-1", 2);
    let look = || -> Vec<(String, Vec<u8>, SystemTime)> {
        let read = |name: String| {
            let path = dir.join(&name);
            (name, fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap())
        };
        names(&dir).into_iter().map(read).collect()
    };
    let (files, verified) = (look(), verify(&dir, None).unwrap());
    assert!(!verified.open);
    let (closed, recovery) = Journal::reopen(&dir).unwrap();
    assert_eq!((recovery.head, recovery.restored, recovery.dropped.len()), (verified.head, 0, 0));
    assert_eq!(list_runs(dir.parent().unwrap()).unwrap()[0].state, RunState::Finished(Some("ok".to_owned())));
    block_on(closed.durable(u64::MAX)).unwrap();
    assert_eq!(closed.close().unwrap(), verified.head);
    let (dropped, _) = Journal::reopen(&dir).unwrap();
    drop(dropped);
    assert_eq!(look(), files);
    assert_eq!(verify(&dir, None).unwrap(), verified);
    let (journal, _) = Journal::reopen(&dir).unwrap();
    let seq = journal.event(&event(EventType::StepProgress, None)).unwrap();
    block_on(journal.durable(seq)).unwrap();
    assert!(verify(&dir, None).unwrap().open);
    journal.close().unwrap();
    assert_eq!(verify(&dir, None).unwrap().records, verified.records + 1);
}

// Conformance: envelope 4.4
// Conformance: pipeline 2.35
#[test]
fn large_data_is_stored_once_and_checked() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("runs").join("run-1");
    let journal = Journal::create(&dir, &header("run-1")).unwrap();
    write_run(&journal, 0).unwrap();
    let stored = journal.put_object(br#"{"content":"long"}"#).unwrap();
    assert_eq!(journal.put_object(br#"{"content":"long"}"#).unwrap(), stored);
    journal.call(&call(0)).unwrap();
    let mut with_ref = result(0);
    with_ref.data = None;
    with_ref.data_ref = Some(stored.clone());
    journal.result(&with_ref).unwrap();
    journal.close().unwrap();
    let folder = RunFolder::open(&dir).unwrap();
    assert_eq!(folder.data(&with_ref).unwrap(), Some(json!({ "content": "long" })));
    assert_eq!(verify(&dir, None).unwrap().problems, []);

    let hex = stored.hash.to_string()[3..].to_owned();
    let object = temp.path().join("objects").join(&hex[..2]).join(&hex);
    fs::rename(&object, temp.path().join("away")).unwrap();
    let kinds = || verify(&dir, None).unwrap().problems.iter().map(|p| p.what).collect::<Vec<_>>();
    assert_eq!(kinds(), [ProblemKind::ObjectMissing]);
    assert!(matches!(folder.object(&stored), Err(JournalError::ObjectMissing { .. })));
    fs::copy(dir.join("run.json"), &object).unwrap();
    assert_eq!(kinds(), [ProblemKind::ObjectChanged]);
    assert!(matches!(folder.object(&stored), Err(JournalError::ObjectChanged { .. })));
    assert_eq!(journal.put_object(br#"{"content":"long"}"#).unwrap(), stored);
    assert_eq!(kinds(), []);
    let unknown = DataRef { hash: Hash::of(b"?"), bytes: 1 };
    assert!(matches!(folder.object(&unknown), Err(JournalError::ObjectMissing { .. })));
}

#[test]
fn what_was_overwritten_must_still_be_there_and_sound() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("runs").join("run-1");
    let journal = Journal::create(&dir, &header("run-1")).unwrap();
    write_run(&journal, 0).unwrap();
    let kept = journal.put_object(b"before").unwrap();
    let state = |bytes: &[u8]| FileState { hash: Hash::of(bytes), bytes: bytes.len() as u64, mode: 0o644 };
    journal.call(&call(0)).unwrap();
    let path = "Note.md".to_owned();
    let replaced = VaultChange::FileReplaced { path, before: state(b"before"), after: state(b"after") };
    journal.result(&ToolResult { changes: vec![replaced], ..result(0) }).unwrap();
    journal.close().unwrap();
    assert_eq!(verify(&dir, None).unwrap().problems, []);

    let hex = kept.hash.to_string()[3..].to_owned();
    let object = temp.path().join("objects").join(&hex[..2]).join(&hex);
    let problems =
        || -> Vec<String> { verify(&dir, None).unwrap().problems.iter().map(ToString::to_string).collect() };
    fs::copy(dir.join("run.json"), &object).unwrap();
    expect!["object changed: objects/18/18c52a7ed981fbffa12fbf611b593c451f6a5700af2206c612b5c3dd2888909b, record 5: `Note.md` before the change, named by the result in results.jsonl line 1"]
        .assert_eq(&problems().join("\n"));
    fs::remove_file(&object).unwrap();
    assert!(problems()[0].starts_with("object missing: "), "{:?}", problems());
}

#[test]
fn records_that_contradict_each_other_are_found() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("runs").join("run-1");
    let journal = Journal::create(&dir, &header("run-1")).unwrap();
    journal.confirm(&confirmation()).unwrap();
    journal.event(&event(EventType::RunConfirmed, Some(json!(confirmation())))).unwrap();
    journal.call(&call(0)).unwrap();
    journal.call(&call(0)).unwrap();
    journal.result(&result(0)).unwrap();
    journal.result(&result(0)).unwrap();
    journal.call(&call(0)).unwrap();
    journal.result(&result(1)).unwrap();
    let mut never_started = result(2);
    (never_started.status, never_started.ok, never_started.data) = (Status::Skipped, false, None);
    never_started.phases.clear();
    journal.result(&never_started).unwrap();
    let mut contradiction = result(0);
    contradiction.ok = false;
    journal.result(&contradiction).unwrap();
    journal.call(&call(3)).unwrap();
    let mut other_run = event(EventType::StepProgress, None);
    other_run.run_id = envelope::RunId::parse("run-2").unwrap();
    journal.event(&other_run).unwrap();
    journal.event(&event(EventType::RunFinished, None)).unwrap();
    journal.close().unwrap();
    let told: Vec<String> = verify(&dir, None).unwrap().problems.iter().map(ToString::to_string).collect();
    expect![[r#"
        orphan result: results.jsonl line 2 (byte 475), record 5: call `6c78d14e-5ec8-5e2d-9167-499b2e52da19` has a result already
        contradiction: calls.jsonl line 3 (byte 1016), record 6: call `6c78d14e-5ec8-5e2d-9167-499b2e52da19` was made again after it had ended
        orphan result: results.jsonl line 3 (byte 950), record 7: no call `c3331b04-4d3a-5892-9e05-cac164ba27e2` is recorded before it
        contradiction: results.jsonl line 5 (byte 1820), record 9: `ok` is false although `status` is ok
        foreign: events.jsonl line 2 (byte 505), record 11: this record belongs to run `run-2`
        call without result: calls.jsonl line 4 (byte 1524), record 10: the run is finished, but this call has no result"#]].assert_eq(&told.join("\n"));
}

#[test]
fn runs_are_listed_newest_first_and_found_by_what_is_typed() {
    let temp = tempfile::tempdir().unwrap();
    let runs = temp.path().join("runs");
    assert_eq!(list_runs(&runs).unwrap(), []);
    for (id, second) in [("abc-1", 10), ("abd-2", 30), ("b-3", 20)] {
        let mut header = header(id);
        header.created_at = envelope::Timestamp::from_second(second).unwrap();
        let journal = Journal::create(&runs.join(id), &header).unwrap();
        if id == "b-3" {
            journal.event(&event(EventType::RunFinished, Some(json!({ "status": "failed" })))).unwrap();
            journal.close().unwrap();
        }
    }
    let _going = Journal::create(&runs.join("run-1"), &header("run-1")).unwrap();
    fs::create_dir(runs.join("not-a-run")).unwrap();
    let listed: Vec<String> = list_runs(&runs)
        .unwrap()
        .iter()
        .map(|run| format!("{} {:?} {:?}", run.run_id, run.state, run.goal))
        .collect();
    expect![[r#"
        run-1 Running Some("Make notes")
        abd-2 Interrupted Some("Make notes")
        b-3 Finished(Some("failed")) Some("Make notes")
        abc-1 Interrupted Some("Make notes")"#]]
    .assert_eq(&listed.join("\n"));
    let found = |wanted: &str| {
        RunsFolder::from(runs.clone()).find(wanted).map(|path| path.file_name().unwrap().to_owned())
    };
    assert_eq!(found("last").unwrap(), "run-1");
    assert_eq!(found("abd").unwrap(), "abd-2");
    assert_eq!(found("abc-1").unwrap(), "abc-1");
    assert!(
        matches!(found("ab"), Err(FindError::Ambiguous { matches, .. }) if matches == ["abd-2", "abc-1"])
    );
    assert!(matches!(found("zzz"), Err(FindError::None { .. })));
    assert!(matches!(found(""), Err(FindError::None { .. })));
}

#[test]
fn a_link_in_the_place_of_a_folder_above_a_run_is_never_followed() {
    use std::os::unix::fs::symlink;
    let temp = tempfile::tempdir().unwrap();
    let temp = temp.path().canonicalize().unwrap();
    let (vault, elsewhere) = (temp.join("vault"), temp.join("elsewhere"));
    let is_link = |error: JournalError| matches!(error, JournalError::Link { .. });
    for replaced in ["state", "state/runs"] {
        let runs = vault.join("state/runs");
        let journal = Journal::create(&runs.join("run-1"), &header("run-1")).unwrap();
        std::fs::create_dir_all(elsewhere.join("runs")).unwrap();
        std::fs::rename(vault.join(replaced), vault.join("moved")).unwrap();
        symlink(&elsewhere, vault.join(replaced)).unwrap();

        let error = Journal::create(&runs.join("run-2"), &header("run-2")).err().unwrap();
        assert!(error.to_string().contains("is a symbolic link or is behind one"), "{error}");
        assert!(is_link(error));
        assert!(is_link(list_runs(&runs).unwrap_err()));
        assert!(is_link(RunFolder::open(&runs.join("run-1")).unwrap_err()));
        // An open run keeps its own folder; only large objects are stored elsewhere.
        let stored = journal.put_object(&[0; 100]);
        assert_eq!(stored.is_err_and(is_link), replaced == "state", "{replaced}");
        drop(journal);
        assert_eq!(std::fs::read_dir(elsewhere.join("runs")).unwrap().count(), 0);
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 1);
        std::fs::remove_dir_all(&vault).unwrap();
    }
}

/// Creates finished runs with ids of increasing time, and returns their names, oldest first.
fn many_finished_runs(runs: &Path, number: u64) -> Vec<String> {
    let ended = |number: u64| {
        let id = format!("{:08x}-0000-7000-8000-000000000000", 0x0100_0000 + number);
        let mut header = header(&id);
        header.created_at = envelope::Timestamp::from_second(1_000 + number as i64).unwrap();
        let journal = Journal::create(&runs.join(&id), &header).unwrap();
        journal.event(&event(EventType::RunFinished, Some(json!({ "status": "ok" })))).unwrap();
        journal.close().unwrap();
        id
    };
    (0..number).map(ended).collect()
}

/// Returns what a list without summaries would say.
fn read_anew(runs: &Path) -> Vec<crate::RunSummary> {
    fs::remove_file(runs.join(SUMMARIES_FILE)).ok();
    let listed = list_runs(runs).unwrap();
    fs::remove_file(runs.join(SUMMARIES_FILE)).ok();
    listed
}

/// Returns the first cached summary with another goal and format, and a hash that fits.
fn altered_line(cached: &[u8], format: u32) -> Vec<u8> {
    let line = std::str::from_utf8(cached).unwrap().lines().next().unwrap();
    let mut entry: serde_json::Value = serde_json::from_str(line.split_once(' ').unwrap().1).unwrap();
    entry["run"]["goal"] = json!("Of the cache");
    entry["format"] = json!(format);
    let json = entry.to_string();
    format!("{} {json}\n", envelope::Hash::of(json.as_bytes())).into_bytes()
}

#[test]
fn a_file_of_summaries_that_is_too_large_or_mostly_outdated_is_written_anew() {
    let temp = tempfile::tempdir().unwrap();
    let runs = temp.path().canonicalize().unwrap().join("runs");
    let names = many_finished_runs(&runs, 80);
    let summaries = runs.join(SUMMARIES_FILE);
    let ids = || {
        let text = fs::read_to_string(&summaries).unwrap();
        let id = |line: &str| {
            let entry: serde_json::Value = serde_json::from_str(line.split_once(' ').unwrap().1).unwrap();
            entry["run"]["runId"].as_str().unwrap().to_owned()
        };
        let mut ids: Vec<String> = text.lines().map(id).collect();
        ids.sort();
        ids
    };
    let first = list_runs(&runs).unwrap();
    assert_eq!(ids(), names);
    File::options().write(true).open(&summaries).unwrap().set_len((256 << 20) + 1).unwrap();
    assert_eq!(list_runs(&runs).unwrap(), first);
    assert_eq!(ids(), names);

    // Of some runs nothing but a cached summary is left, and there are many lines that say nothing.
    let text = fs::read(&summaries).unwrap();
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_by_key(|line| !names[..40].iter().any(|run| String::from_utf8_lossy(line).contains(run)));
    let mut kept = lines[..40].concat();
    kept.extend(b"nothing\n".repeat(200));
    File::create(&summaries).unwrap().write_all(&kept).unwrap();
    for run in &names[..4] {
        fs::remove_dir_all(runs.join(run)).unwrap();
    }
    assert_eq!(list_runs(&runs).unwrap().len(), 76);
    assert_eq!(ids(), names[4..]);
}

#[test]
fn cached_summaries_are_those_of_the_runs_whatever_happens_to_either() {
    let temp = tempfile::tempdir().unwrap();
    let runs = temp.path().canonicalize().unwrap().join("runs");
    let names = many_finished_runs(&runs, 40);
    let first = list_runs(&runs).unwrap();
    let cached = fs::read(runs.join(SUMMARIES_FILE)).unwrap();
    assert_eq!(list_runs(&runs).unwrap(), first);
    assert_eq!(first.len(), 40);

    let put_back = |bytes: &[u8]| File::create(runs.join(SUMMARIES_FILE)).unwrap().write_all(bytes).unwrap();
    let goals = || {
        let listed = list_runs(&runs).unwrap();
        listed.into_iter().filter_map(|run| run.goal).filter(|goal| goal == "Of the cache").count()
    };
    // The list uses an entry of this format, and none of another format.
    for (format, used) in [(2, 1), (1, 0), (3, 0)] {
        put_back(&altered_line(&cached, format));
        assert_eq!(goals(), used, "format {format}");
    }
    put_back(&cached);

    // A run that is changed, replaced, damaged or removed is read again.
    let in_run = |run: usize, file: &str| runs.join(&names[run]).join(file);
    let replace = |path: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(from));
        File::create(path).unwrap().write_all(text.replace(from, to).as_bytes()).unwrap();
    };
    replace(&in_run(3, "run.json"), "Make notes", "Made NOTES");
    replace(&in_run(4, "events.jsonl"), "\"ok\"", "\"no\"");
    fs::remove_file(in_run(5, "run.json")).unwrap();
    fs::remove_dir_all(runs.join(&names[6])).unwrap();
    let now = list_runs(&runs).unwrap();
    assert_ne!(now, first);
    assert_eq!(now, read_anew(&runs));

    // A file that is cut off or damaged anywhere says nothing false.
    for cut in [0, 1, cached.len() / 2, cached.len() - 1] {
        put_back(&cached[..cut]);
        assert_eq!(list_runs(&runs).unwrap(), now, "cut at {cut}");
    }
    for at in (0..cached.len()).step_by(97) {
        let mut damaged = cached.clone();
        damaged[at] ^= 1;
        put_back(&damaged);
        assert_eq!(list_runs(&runs).unwrap(), now, "damaged at {at}");
    }
}

#[test]
fn the_newest_run_is_found_without_reading_the_others() {
    let temp = tempfile::tempdir().unwrap();
    let runs = temp.path().canonicalize().unwrap().join("runs");
    let names = many_finished_runs(&runs, 40);
    // A list of all runs would add them to their cached summaries.
    File::create(runs.join(SUMMARIES_FILE)).unwrap();
    assert_eq!(run_ids(&runs).unwrap().len(), 40);
    let folder = RunsFolder::from(runs.clone());
    let mut newest = folder.newest_first().unwrap();
    assert_eq!(newest.next().unwrap().run_id.as_str(), names[39]);
    // Runs that were not asked for yet are not read.
    for older in &names[..38] {
        fs::remove_dir_all(runs.join(older)).unwrap();
    }
    assert_eq!(newest.next().unwrap().run_id.as_str(), names[38]);
    assert_eq!(newest.next(), None);
    assert_eq!(RunsFolder::from(runs.clone()).find("last").unwrap(), runs.join(&names[39]));
    assert_eq!(fs::metadata(runs.join(SUMMARIES_FILE)).unwrap().len(), 0);
}

#[test]
fn a_confirmation_in_a_run_of_an_earlier_format_leaves_its_header_as_it_was() {
    let temp = tempfile::tempdir().unwrap();
    let run = temp.path().join("runs").join("run-1");
    let journal =
        Journal::create(&run, &RunHeader { format: 2, call_policy: None, ..header("run-1") }).unwrap();
    journal.event(&event(EventType::RunStarted, None)).unwrap();
    drop(journal);
    // What an earlier build has written: all fields, also those with a default.
    let read =
        || serde_json::from_slice::<serde_json::Value>(&fs::read(run.join("run.json")).unwrap()).unwrap();
    let before = read();
    assert_eq!((&before["sibling"], &before["confirm"]), (&json!("ignore"), &json!(true)));
    let (journal, _recovery) = Journal::reopen(&run).unwrap();
    journal.event(&event(EventType::RunConfirmed, Some(json!(confirmation())))).unwrap();
    journal.confirm(&confirmation()).unwrap();
    journal.event(&event(EventType::RunFinished, Some(json!({ "status": "ok" })))).unwrap();
    journal.close().unwrap();
    let mut after = read();
    assert!(after.as_object_mut().unwrap().shift_remove("confirmation").is_some());
    assert_eq!(after, before);
    assert_eq!(verify(&run, None).unwrap().problems, []);
}

#[test]
fn a_run_of_an_earlier_format_is_read_verified_and_continued_in_its_own_form() {
    let temp = tempfile::tempdir().unwrap();
    let dir = |run: &str| temp.path().join("runs").join(run);
    let mut read = Vec::new();
    for format in [1, 2, RunHeader::FORMAT] {
        let run = dir(&format!("format-{format}")).join("run-1");
        // Earlier builds know no common policy of calls.
        let call_policy = header("run-1").call_policy.filter(|_policy| format == RunHeader::FORMAT);
        let journal = Journal::create(&run, &RunHeader { format, call_policy, ..header("run-1") }).unwrap();
        journal.event(&event(EventType::RunStarted, None)).unwrap();
        journal.call(&call(0)).unwrap();
        drop(journal);
        let (journal, _recovery) = Journal::reopen(&run).unwrap();
        journal.result(&result(0)).unwrap();
        journal.event(&event(EventType::RunFinished, Some(json!({ "status": "ok" })))).unwrap();
        journal.close().unwrap();
        let lines: Vec<String> =
            LogKind::ALL.iter().map(|kind| fs::read_to_string(run.join(kind.file())).unwrap()).collect();
        let (lines, named) = (lines.concat(), format < 3);
        assert!(lines.lines().all(|line| line.contains("\"runId\":\"run-1\"") == named), "{lines}");
        let folder = RunFolder::open(&run).unwrap();
        read.push(folder.records().unwrap().map(Result::unwrap).collect::<Vec<JournalEntry>>());
        let problems = verify(&run, None).unwrap().problems;
        // Only the approval is missing.
        assert!(
            problems.iter().all(|problem| problem.what == ProblemKind::ConfirmationMismatch),
            "{problems:?}"
        );
    }
    assert_eq!(read[0], read[1]);
    assert_eq!(read[1], read[2]);
}
