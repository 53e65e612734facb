//! A limit on the size of files, as with `ulimit -f`: the write that exceeds it fails, after a signal that kills a
//! process without a handler.

use crate::disk_full::plans;
use crate::disk_full::rig::DiskStage;
use crate::disk_full::write_route::WriteRoute;

#[track_caller]
fn limited(plan: impl Fn(&DiskStage) -> serde_json::Value, sizes: &[u32]) {
    for (blocks, ignored) in sizes.iter().flat_map(|blocks| [(*blocks, true), (*blocks, false)]) {
        let (stage, way) = (DiskStage::new(), WriteRoute::Limited { blocks, ignored });
        let ended = stage.run(way, &plan(&stage));
        stage.holds(&ended, &format!("{way:?}"));
    }
}

#[test]
fn output_that_may_not_become_as_long_as_it_is_ends_the_run() {
    // Below 512 blocks no record can be begun; from there on it has room, and only the output has not.
    limited(|_| plans::much_output(), &[1, 511, 512, 600]);
    limited(|_| plans::much_output_and_on(), &[600]);
}

#[test]
fn a_record_that_may_not_become_as_long_as_it_is_ends_the_run() {
    limited(|_| plans::many_notes(), &[513, 4000]);
}

#[test]
fn a_task_whose_output_is_lost_ends_the_run_although_nobody_looks_at_it() {
    limited(|stage| plans::flood(&stage.mark), &[600]);
}

#[test]
fn what_became_of_a_task_whose_output_is_lost_is_in_the_record() {
    let stage = DiskStage::new();
    stage.run(WriteRoute::Limited { blocks: 600, ignored: false }, &plans::flood(&stage.mark)).expect_code(1);
    let events = std::fs::read_to_string(stage.newest_run().join("events.jsonl")).unwrap();
    // It is dead, or about to be, when the run ends.
    let told = events.lines().any(|line| {
        line.contains("task_1 ") && line.contains("(the output could not be kept: File too large")
    });
    assert!(told, "{events}");
}
