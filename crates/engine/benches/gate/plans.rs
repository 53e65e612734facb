//! A foreach that grows: time per item must stay flat and memory per item small.

use std::time::Instant;

use engine::{RunCancel, RunPlace, RunRequest};
use journal::RunKind;
use serde_json::json;

use crate::rig::{gate, scratch};

pub(crate) fn measure() {
    println!("a plan with one foreach, checked, resolved and run with its journal on disk");
    // The smallest first: the peak of memory only grows, so each line shows what its own size added.
    let mut first = None;
    for items in [1_000_u64, 10_000, 100_000] {
        let began_with = peak_memory();
        let took = run(items);
        let per_item = took / items as f64;
        let base = *first.get_or_insert(per_item);
        let grown = peak_memory().saturating_sub(began_with);
        println!(
            "  {items:>7} items: {per_item:.1} µs an item ({:.2}x of 1,000 items), memory grew {} bytes an item",
            per_item / base,
            grown / items
        );
    }
}

/// Microseconds from the text of the plan to the end of the run.
fn run(items: u64) -> f64 {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let (engine, folder) = (gate(8), scratch());
    let text = json!({
        "version": "1.0", "goal": "measure", "riskLevel": "read-only",
        "steps": [{
            "id": "each", "tool": "bench.look", "foreach": { "from": "$vars.items", "itemName": "item" },
            "args": { "query": "note {item} of many", "prefix": "Projects", "limit": 5, "caseSensitive": true }
        }],
        "vars": { "items": (0..items).collect::<Vec<_>>() }
    })
    .to_string();
    let began = Instant::now();
    let report = plan::check(&text, engine.surface(), &engine.policy().check_limits());
    let plan = report.plan.unwrap();
    let place = RunPlace::Disk(folder.path().join("runs").into());
    let request = RunRequest {
        plan,
        place,
        kind: RunKind::Plan,
        undoes: Vec::new(),
        session: None,
        asks_always: false,
        continues: None,
        planner_version: None,
        cancel: RunCancel::new(),
        forecaster: None,
        approved: None,
        budget: None,
    };
    let report = runtime.block_on(engine.run_plan(request)).unwrap();
    let took = began.elapsed().as_nanos() as f64 / 1000.0;
    assert_eq!(report.status, plan::RunStatus::Ok);
    assert_eq!(report.steps[0].calls, items);
    took
}

/// The most memory this process has had, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
