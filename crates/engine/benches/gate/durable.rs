//! Durable calls and records against the raw disk in the same run.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use toolkit::CancelToken;

use crate::rig::{call, gate, on_disk, scratch};

const ROUND: Duration = Duration::from_millis(700);
const ROUNDS: usize = 3;

pub(crate) fn measure() {
    let (mut raw, mut filled, mut alone, mut eight, mut one, mut many) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    let bytes = bytes_per_call();
    for _ in 0..ROUNDS {
        raw += raw_appends(bytes / 2);
        filled += raw_overwrites(1024);
        alone += calls_per_second(1);
        eight += calls_per_second(8);
        one += records_per_second(1);
        many += records_per_second(64);
    }
    let rounds = ROUNDS as f64;
    let (raw, filled, alone, eight, one, many) =
        (raw / rounds, filled / rounds, alone / rounds, eight / rounds, one / rounds, many / rounds);
    println!(
        "durable write calls, {bytes} bytes of journal each, two syncs each (mean of {ROUNDS} interleaved rounds)"
    );
    println!("  raw append + fdatasync of the same bytes, twice a call  {:.0} calls/s", raw / 2.0);
    println!(
        "  gate, one at a time                                     {alone:.0} calls/s = {:.2}x raw",
        alone / (raw / 2.0)
    );
    println!(
        "  gate, 8 at a time                                       {eight:.0} calls/s = {:.2}x raw, {:.2}x alone",
        eight / (raw / 2.0),
        eight / alone
    );
    println!("durable records of about 1 kB");
    println!("  raw pwrite into a filled file + fdatasync               {filled:.0} /s");
    println!(
        "  journal, 1 writer                                       {one:.0} /s = {:.2}x raw",
        one / filled
    );
    println!(
        "  journal, 64 writers                                     {many:.0} /s = {:.2}x raw",
        many / filled
    );
}

/// Returns the journal bytes of one write call.
fn bytes_per_call() -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (engine, folder) = (gate(1), scratch());
    let scope = on_disk(folder.path());
    runtime.block_on(async {
        for n in 0..10 {
            assert!(engine.run_call(&scope, call("bench.write", n), CancelToken::new()).await.ok);
        }
    });
    scope.journal().close().unwrap();
    let run_dir = scope.journal().run_dir().unwrap().to_path_buf();
    let size = |name: &str| std::fs::metadata(run_dir.join(name)).unwrap().len() as usize;
    (size("calls.jsonl") + size("results.jsonl") + size("events.jsonl")) / 10
}

fn raw_appends(bytes: usize) -> f64 {
    let folder = scratch();
    let mut file = File::options().create(true).append(true).open(folder.path().join("raw")).unwrap();
    let record = vec![b'x'; bytes];
    count_for(ROUND, || {
        file.write_all(&record).unwrap();
        file.sync_data().unwrap();
    })
}

fn raw_overwrites(bytes: usize) -> f64 {
    let folder = scratch();
    let file =
        File::options().create(true).write(true).truncate(true).open(folder.path().join("raw")).unwrap();
    file.write_all_at(&vec![0; 8 << 20], 0).unwrap();
    file.sync_all().unwrap();
    let record = vec![b'x'; bytes];
    let mut at = 0;
    count_for(ROUND, || {
        file.write_all_at(&record, at).unwrap();
        file.sync_data().unwrap();
        at = (at + bytes as u64) % (8 << 20);
    })
}

fn count_for(time: Duration, mut turn: impl FnMut()) -> f64 {
    let began = Instant::now();
    let mut turns = 0.0;
    while began.elapsed() < time {
        turn();
        turns += 1.0;
    }
    turns / began.elapsed().as_secs_f64()
}

fn calls_per_second(concurrency: u32) -> f64 {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let (engine, folder) = (gate(concurrency), scratch());
    let scope = on_disk(folder.path());
    let began = Instant::now();
    let done: u64 = runtime.block_on(async {
        let mut lanes = Vec::new();
        for lane in 0..u64::from(concurrency) {
            let (engine, scope) = (engine.clone(), scope.clone());
            lanes.push(tokio::spawn(async move {
                let mut done = 0;
                while began.elapsed() < ROUND {
                    assert!(
                        engine
                            .run_call(
                                &scope,
                                call("bench.write", lane * 1_000_000 + done),
                                CancelToken::new()
                            )
                            .await
                            .ok
                    );
                    done += 1;
                }
                done
            }));
        }
        let mut done = 0;
        for lane in lanes {
            done += lane.await.unwrap();
        }
        done
    });
    let rate = done as f64 / began.elapsed().as_secs_f64();
    scope.journal().close().unwrap();
    rate
}

fn records_per_second(writers: u64) -> f64 {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let folder = scratch();
    let scope = on_disk(folder.path());
    let began = Instant::now();
    let done: u64 = runtime.block_on(async {
        let mut lanes = Vec::new();
        for lane in 0..writers {
            let journal = scope.journal().clone();
            lanes.push(tokio::spawn(async move {
                let call = call("bench.write", lane);
                let mut done = 0;
                while began.elapsed() < ROUND {
                    let seq = journal.call(&call).unwrap();
                    journal.durable(seq).await.unwrap();
                    done += 1;
                }
                done
            }));
        }
        let mut done = 0;
        for lane in lanes {
            done += lane.await.unwrap();
        }
        done
    });
    let rate = done as f64 / began.elapsed().as_secs_f64();
    scope.journal().close().unwrap();
    rate
}
