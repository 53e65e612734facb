//! Tests that no acknowledged record is lost, whichever operation fails, and whatever a power cut keeps of
//! the unsynced writes.

use std::path::Path;

use envelope::EventType;
use expect_test::expect;
use serde_json::{Value, json};

use crate::disk::FolderHandle;
use crate::samples::{call, confirmation, event, finished_run_of_earlier_build, header, result};
use crate::sim::{DiskFault, SimDisk};
use crate::{ChainHead, Journal, JournalError, RunFolder, Seq, verify};

/// The newest acknowledged record: the last one for which `durable` returned.
type Acknowledged = Option<ChainHead>;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Appends calls and results as a driver does and waits for each. A larger `filler` fills the write-ahead log
/// sooner.
fn work(journal: &Journal, filler: usize, acknowledged: &mut Acknowledged) -> Result<(), JournalError> {
    journal.event(&event(EventType::RunStarted, None))?;
    journal.event(&event(EventType::RunConfirmed, Some(json!(confirmation()))))?;
    journal.confirm(&confirmation())?;
    for index in 0..6 {
        let mut call = call(index);
        call.args.insert("content".to_owned(), Value::String("x".repeat(filler)));
        let seq = journal.call(&call)?;
        wait(journal, seq, acknowledged)?;
        journal.event(&event(EventType::StepStarted, None))?;
        let seq = journal.result(&result(index))?;
        wait(journal, seq, acknowledged)?;
    }
    journal.event(&event(EventType::RunFinished, None))?;
    *acknowledged = Some(journal.close()?);
    Ok(())
}

fn wait(journal: &Journal, seq: Seq, acknowledged: &mut Acknowledged) -> Result<(), JournalError> {
    block_on(journal.durable(seq))?;
    let head = journal.head();
    assert_eq!(head.seq, seq, "nobody else writes here");
    *acknowledged = Some(head);
    Ok(())
}

fn whole_run(
    disk: &SimDisk,
    path: &Path,
    filler: usize,
    acknowledged: &mut Acknowledged,
) -> Result<(), JournalError> {
    let journal =
        Journal::create_in(FolderHandle::open(path).unwrap(), Box::new(disk.clone()), &header("run-1"))?;
    let done = work(&journal, filler, acknowledged);
    if done.is_err() {
        assert!(journal.event(&event(EventType::StepProgress, None)).is_err(), "goes on after a failure");
        assert!(journal.close().is_err(), "closes well after a failure");
    }
    done
}

/// Asserts that recovery restores everything acknowledged, and that the folder is a valid run again.
#[track_caller]
fn check_recovers(path: &Path, acknowledged: Acknowledged, what: &str) {
    match Journal::reopen(path) {
        Ok((journal, recovery)) => {
            if let Some(head) = acknowledged {
                assert!(recovery.head.seq >= head.seq, "{what}: {head:?} is gone, {recovery:?}");
            }
            let seq = journal.event(&event(EventType::StepProgress, None)).unwrap();
            block_on(journal.durable(seq)).unwrap();
            // Dropped without closing: the run has not ended.
            drop(journal);
            let folder = RunFolder::open(path).unwrap();
            let count = folder.records().unwrap().collect::<Result<Vec<_>, _>>().unwrap().len() as u64;
            let verified = verify(path, None).unwrap();
            assert_eq!(verified.problems, [], "{what}");
            assert_eq!((verified.records, count), (recovery.head.seq + 1, recovery.head.seq + 1), "{what}");
            if let Some(head) = acknowledged {
                let found = verify(path, Some(&head.hash)).unwrap();
                let told = format!("the expected head belongs to record {};", head.seq);
                assert!(found.problems[0].message.starts_with(&told), "{what}: {:?}", found.problems);
            }
        }
        Err(JournalError::NotARun { .. }) => assert_eq!(acknowledged, None, "{what}"),
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Returns a deterministic random generator (splitmix64).
fn chances(seed: u64) -> impl FnMut() -> bool {
    // Some cuts keep nearly all unsynced writes, some nearly none.
    let share = [0, 1, 8, 15, 16][(seed % 5) as usize];
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % 16 < share
    }
}

fn fail_each_operation(filler: usize, fault: DiskFault, cuts: u64) {
    let mut completed = false;
    for operation in 1..400 {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("runs").join("run-1");
        std::fs::create_dir_all(&path).unwrap();
        let disk = SimDisk::new(&path);
        disk.fail_at(operation, fault);
        let mut acknowledged = None;
        let outcome = whole_run(&disk, &path, filler, &mut acknowledged);
        assert_eq!(outcome.is_err(), disk.failed(), "a failure at operation {operation} was swallowed");
        assert_eq!(disk.after_failure(), 0, "operation {operation} failed and something was tried again");
        for seed in 0..cuts {
            let after = temp.path().join("cut").join(seed.to_string()).join("run-1");
            disk.power_cut(&after, &mut chances(seed + cuts * operation));
            check_recovers(&after, acknowledged, &format!("{fault:?} at {operation}, cut {seed}"));
        }
        check_recovers(&path, acknowledged, &format!("{fault:?} at {operation}, killed"));
        if outcome.is_ok() {
            completed = true;
            break;
        }
    }
    assert!(completed, "the run never got to its end");
}

#[test]
fn a_refused_operation_stops_the_journal_and_loses_nothing_acknowledged() {
    fail_each_operation(10, DiskFault::Refuse, 6);
}

#[test]
fn a_full_disk_stops_the_journal_and_loses_nothing_acknowledged() {
    fail_each_operation(10, DiskFault::Short, 6);
}

#[test]
fn nothing_acknowledged_is_lost_while_the_write_ahead_log_starts_over() {
    fail_each_operation(70_000, DiskFault::Refuse, 3);
}

/// Leaves a folder as a power cut in the middle of a run would.
fn interrupted(temp: &Path, seed: u64) -> (std::path::PathBuf, Acknowledged) {
    let path = temp.join("live").join("run-1");
    std::fs::create_dir_all(&path).unwrap();
    let disk = SimDisk::new(&path);
    disk.fail_at(40, DiskFault::Short);
    let mut acknowledged = None;
    whole_run(&disk, &path, 2000, &mut acknowledged).unwrap_err();
    let after = temp.join("cut").join("run-1");
    disk.power_cut(&after, &mut chances(seed));
    (after, acknowledged)
}

#[test]
fn recovery_may_be_interrupted_at_any_operation() {
    for seed in 0..5 {
        for operation in 1..40 {
            let temp = tempfile::tempdir().unwrap();
            let (path, acknowledged) = interrupted(temp.path(), seed);
            let disk = SimDisk::load(&path);
            disk.fail_at(operation, DiskFault::Short);
            let reopened = Journal::reopen_in(FolderHandle::open(&path).unwrap(), Box::new(disk.clone()));
            let done = reopened.is_ok();
            drop(reopened);
            let again = temp.path().join("again").join("run-1");
            disk.power_cut(&again, &mut chances(seed + operation));
            check_recovers(&again, acknowledged, &format!("seed {seed}, recovery cut at {operation}"));
            check_recovers(&path, acknowledged, &format!("seed {seed}, recovery killed at {operation}"));
            if done {
                break;
            }
        }
    }
}

#[test]
fn a_closed_run_that_is_opened_again_loses_nothing_either() {
    let mut completed = false;
    for operation in 1..60 {
        let temp = tempfile::tempdir().unwrap();
        // The simulated disk has no object store.
        let path = finished_run_of_earlier_build(temp.path(), "run-1", 2);
        let disk = SimDisk::load(&path);
        disk.fail_at(operation, DiskFault::Short);
        let mut acknowledged = Some(verify(&path, None).unwrap().head);
        let go_on = |acknowledged: &mut Acknowledged| {
            let folder = FolderHandle::open(&path).unwrap();
            let (journal, _) = Journal::reopen_in(folder, Box::new(disk.clone()))?;
            for _ in 0..3 {
                let seq = journal.event(&event(EventType::StepProgress, None))?;
                wait(&journal, seq, acknowledged)?;
            }
            *acknowledged = Some(journal.close()?);
            Ok::<(), JournalError>(())
        };
        completed = go_on(&mut acknowledged).is_ok();
        assert_eq!(completed, !disk.failed(), "a failure at operation {operation} was swallowed");
        for seed in 0..6 {
            let after = temp.path().join("cut").join(seed.to_string()).join("run-1");
            disk.power_cut(&after, &mut chances(seed + 6 * operation));
            check_recovers(&after, acknowledged, &format!("failed at {operation}, cut {seed}"));
        }
        check_recovers(&path, acknowledged, &format!("failed at {operation}, killed"));
        if completed {
            break;
        }
    }
    assert!(completed, "the run never got to its end");
}

/// Runs `then` while the committer hangs in a sync, the queue is over its limit, and an appender waits for
/// room. Returns the result of that append.
fn while_the_disk_hangs(then: impl FnOnce(&SimDisk, &Journal)) -> Result<Seq, JournalError> {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("runs").join("run-1");
    std::fs::create_dir_all(&path).unwrap();
    let disk = SimDisk::new(&path);
    let journal =
        Journal::create_in(FolderHandle::open(&path).unwrap(), Box::new(disk.clone()), &header("run-1"))
            .unwrap();
    disk.hold();
    let first = journal.call(&call(0)).unwrap();
    let mut large = call(1);
    large.args.insert("content".to_owned(), Value::String("x".repeat(1 << 20)));
    std::thread::scope(|scope| {
        scope.spawn(|| block_on(journal.durable(first)));
        disk.wait_until_held();
        for _ in 0..8 {
            journal.call(&large).unwrap();
        }
        // The queue is over its limit now: this append waits for room.
        let waiting = scope.spawn(|| journal.call(&large));
        then(&disk, &journal);
        disk.release();
        waiting.join().unwrap()
    })
}

#[test]
fn a_confirmation_and_an_object_are_stored_while_appends_wait_for_room() {
    let appended = while_the_disk_hangs(|_, journal| {
        journal.confirm(&confirmation()).unwrap();
        let stored = journal.put_object(b"large").unwrap();
        assert_eq!(journal.object(&stored).unwrap(), b"large");
    });
    assert_eq!(appended.unwrap(), 10);
}

#[test]
fn a_committer_that_panics_stops_the_journal_for_all_who_wait() {
    let appended = while_the_disk_hangs(|disk, _| disk.panic_on_release());
    let told = appended.map_err(|error| error.to_string());
    assert!(told.clone().is_err_and(|why| why.ends_with("the committer panicked")), "{told:?}");
    let temp = tempfile::tempdir().unwrap();
    let disk = SimDisk::new(temp.path());
    let folder = FolderHandle::open(temp.path()).unwrap();
    let journal = Journal::create_in(folder, Box::new(disk.clone()), &header("run-1")).unwrap();
    disk.fail_at(disk.operations() + 1, DiskFault::Panic);
    let seq = journal.call(&call(0)).unwrap();
    let waited = block_on(journal.durable(seq)).unwrap_err();
    expect!["the journal stopped after a failed write: the committer panicked"]
        .assert_eq(&waited.to_string());
    assert!(journal.call(&call(1)).is_err());
    assert!(journal.close().is_err());
}

#[test]
fn a_run_that_does_no_sync_where_it_should_would_be_caught() {
    // Tests the harness itself: unsynced records are lost if no unsynced write survives.
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("runs").join("run-1");
    std::fs::create_dir_all(&path).unwrap();
    let disk = SimDisk::new(&path);
    let journal =
        Journal::create_in(FolderHandle::open(&path).unwrap(), Box::new(disk.clone()), &header("run-1"))
            .unwrap();
    journal.call(&call(0)).unwrap();
    drop(journal);
    assert!(disk.operations() > 5);
    let after = temp.path().join("cut").join("run-1");
    disk.power_cut(&after, &mut || false);
    let (_, recovery) = Journal::reopen(&after).unwrap();
    assert_eq!(recovery.head.seq, 0);
    let (_, recovery) = Journal::reopen(&path).unwrap();
    assert_eq!(recovery.head.seq, 1, "a killed process loses nothing that was written");
}
