//! Single system calls that fail, the first, the second and so on until the run has none left to fail.

use crate::disk_full::plans;
use crate::disk_full::rig::DiskStage;
use crate::disk_full::write_route::WriteRoute;

const SYNCS: &str = "fsync,fdatasync";
/// Where the record is written.
const WRITES: &str = "pwrite64";
/// As many as there are cores to spare.
const LANES: u32 = 2;

/// Runs with each point failing, and says how many there were.
fn sweep(calls: &'static str, error: &'static str, meet: impl Fn(WriteRoute) -> bool + Sync) {
    if !(WriteRoute::Failing { calls, error, nth: 1 }).can_be_played() {
        return;
    }
    let lane = |first: u32| {
        let failed = |nth: &u32| meet(WriteRoute::Failing { calls, error, nth: *nth });
        (first..).step_by(LANES as usize).take_while(failed).count()
    };
    let met: usize = std::thread::scope(|scope| {
        let lanes: Vec<_> = (1..=LANES).map(|first| scope.spawn(move || lane(first))).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).sum()
    });
    assert!(met > 4, "only {met} points were met: the calls that fail are not those that are made");
}

/// One run of a plan: whether the failing call was met.
fn met(way: WriteRoute, plan: &serde_json::Value) -> bool {
    let stage = DiskStage::new();
    let ended = stage.run(way, plan);
    if ended.code == 0 {
        return false;
    }
    stage.holds(&ended, &format!("{way:?}"));
    true
}

#[test]
fn a_sync_that_fails_ends_the_run_wherever_it_is() {
    let plan = plans::few_steps();
    sweep(SYNCS, "EIO", |way| met(way, &plan));
}

#[test]
fn a_write_that_fails_ends_the_run_wherever_it_is() {
    let plan = plans::few_notes();
    sweep(WRITES, "ENOSPC", |way| met(way, &plan));
    sweep(WRITES, "EIO", |way| met(way, &plan));
}

#[test]
fn a_single_call_is_done_only_if_its_record_is() {
    let call = |way: WriteRoute| {
        let stage = DiskStage::new();
        let args = r#"{"path": "one.md", "content": "1"}"#;
        let ended = stage.tollgate(way, &["call", "vault.createFile", args, "--yes"]);
        if ended.code == 0 {
            return false;
        }
        stage.holds(&ended, &format!("{way:?}"));
        true
    };
    sweep(WRITES, "ENOSPC", call);
    sweep(SYNCS, "EIO", call);
}
