//! One call of a trivial read-only tool through all twelve phases, against a bare validated function call.

use serde::Deserialize;
use toolkit::CancelToken;

use crate::rig::{Args, best_of, call, gate, in_memory, on_disk, scratch, work};

const BATCH: usize = 500;

pub(crate) fn measure() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let engine = gate(8);
    let schema = schemars::schema_for!(Args).to_value();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text = serde_json::to_string(&crate::rig::args()).unwrap();

    let floor = best_of(400, BATCH, |turns| {
        for _ in 0..turns {
            let args: serde_json::Value = serde_json::from_str(std::hint::black_box(&text)).unwrap();
            assert!(validator.is_valid(&args));
            let output = work(Args::deserialize(&args).unwrap());
            std::hint::black_box(serde_json::to_vec(&output).unwrap());
        }
    });
    // Making the request (parsing the text, deriving the id, hashing the arguments) is part of what a caller pays.
    let making = best_of(200, BATCH, |turns| {
        for n in 0..turns {
            std::hint::black_box(call("bench.look", n as u64));
        }
    });
    let mut memory = f64::MAX;
    for _ in 0..200 {
        // A fresh journal for each batch: what is measured is the call, not the growth of a buffer.
        let scope = in_memory();
        let calls: Vec<_> = (0..BATCH).map(|n| call("bench.look", n as u64)).collect();
        let mut calls = calls.into_iter();
        memory = memory.min(best_of(1, BATCH, |_| {
            runtime.block_on(async {
                for call in calls.by_ref() {
                    std::hint::black_box(engine.run_call(&scope, call, CancelToken::new()).await);
                }
            });
            // A journal in memory is chained when it is looked at; that is part of the price.
            std::hint::black_box(scope.journal().close().unwrap());
        }));
    }
    let folder = scratch();
    let scope = on_disk(folder.path());
    let mut disk = f64::MAX;
    for round in 0..200 {
        let calls: Vec<_> = (0..BATCH).map(|n| call("bench.look", (round * BATCH + n) as u64)).collect();
        let mut calls = calls.into_iter();
        disk = disk.min(best_of(1, BATCH, |_| {
            runtime.block_on(async {
                for call in calls.by_ref() {
                    std::hint::black_box(engine.run_call(&scope, call, CancelToken::new()).await);
                }
            });
        }));
    }
    scope.journal().close().unwrap();
    println!("one read-only call through twelve phases (best of 200 batches of {BATCH})");
    println!("  bare validated function call {:.2} µs (the floor)", floor / 1000.0);
    println!("  making the call envelope     {:.2} µs", making / 1000.0);
    println!("  gate, journal in memory      {:.2} µs = {:.1}x the floor", memory / 1000.0, memory / floor);
    println!(
        "  gate, journal on disk        {:.2} µs = {:.1}x the floor (written, not synced: nothing to lose)",
        disk / 1000.0,
        disk / floor
    );
}
