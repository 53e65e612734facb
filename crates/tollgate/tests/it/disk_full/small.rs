//! A state folder on a file system that is too small.

use crate::disk_full::plans;
use crate::disk_full::rig::DiskStage;
use crate::disk_full::write_route::WriteRoute;

/// The first two are too small for any record; the rest is filled by what is run.
const KILOBYTES: [u32; 4] = [64, 256, 1024, 4096];

#[track_caller]
fn full(plan: impl Fn(&DiskStage) -> serde_json::Value, sizes: &[u32]) {
    if !(WriteRoute::Small { kilobytes: 0 }).can_be_played() {
        return;
    }
    for kilobytes in sizes {
        let (stage, way) = (DiskStage::new(), WriteRoute::Small { kilobytes: *kilobytes });
        let ended = stage.run(way, &plan(&stage));
        stage.holds(&ended, &format!("{way:?}"));
    }
}

#[test]
fn a_command_that_fills_the_disk_ends_its_run() {
    full(|_| plans::much_output(), &KILOBYTES);
}

#[test]
fn a_command_that_fills_the_disk_ends_a_run_that_would_go_on_after_failures() {
    full(|_| plans::much_output_and_on(), &KILOBYTES[2..]);
}

#[test]
fn records_that_fill_the_disk_end_the_run_and_every_note_that_was_reported_is_recorded() {
    full(|_| plans::many_notes(), &[64, 256, 300, 400, 600, 1024, 4096]);
}

#[test]
fn a_task_that_fills_the_disk_behind_the_back_of_its_run_ends_it() {
    full(|stage| plans::flood(&stage.mark), &KILOBYTES);
}

#[test]
fn a_yes_that_cannot_be_written_down_lets_nothing_run() {
    full(|_| plans::long_plan(), &[300, 600, 700, 1000]);
}

#[test]
fn the_same_plans_are_done_where_there_is_room() {
    for plan in [plans::much_output(), plans::much_output_and_on(), plans::many_notes(), plans::long_plan()] {
        let stage = DiskStage::new();
        let ended = stage.run(WriteRoute::Sound, &plan).expect_code(0);
        assert!(stage.sandbox.vault().join(plans::AFTER).exists(), "{}", ended.out);
    }
}
