//! Durable creation of notes through the engine, compared with the minimum of system calls.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::rig::{BenchEngine, scratch};

const NOTES_A_FOLDER: u32 = 100;
const ROUNDS: u32 = 4;

/// Alternates a round of raw files, a round through the engine one call at a time, and a round of eight calls at a time.
pub(crate) fn measure(notes: u32) {
    let text = "A line of ordinary prose, as notes have many.\n".repeat(40);
    let (raw_folder, alone_folder, eight_folder) = (scratch(), scratch(), scratch());
    let (alone_gate, eight_gate) =
        (BenchEngine::over(alone_folder.path()), BenchEngine::over(eight_folder.path()));
    let (mut raw, mut alone, mut eight) = (0.0, 0.0, 0.0);
    let a_round = notes / ROUNDS;
    for round in 0..ROUNDS {
        let numbers = round * a_round..(round + 1) * a_round;
        let args = |number: u32| json!({"path": path_of(number), "content": text});
        raw += timed(|| {
            for number in numbers.clone() {
                write_raw(raw_folder.path(), &path_of(number), &text);
            }
        });
        alone += timed(|| {
            for number in numbers.clone() {
                alone_gate.call("vault.createFile", &args(number));
            }
        });
        eight += timed(|| eight_gate.call_all("vault.createFile", 8, numbers.clone().map(args)));
    }
    let made = f64::from(a_round * ROUNDS);
    println!(
        "create, {made} notes of {} bytes, each durable ({ROUNDS} rounds in turn; notes a second)",
        text.len()
    );
    println!("  raw write + fsync + rename + fsync of the folder {:>8.0}", made / raw);
    println!(
        "  through the gate, one at a time                  {:>8.0}   = {:.2}x",
        made / alone,
        raw / alone
    );
    println!(
        "  through the gate, 8 at a time                    {:>8.0}   = {:.2}x",
        made / eight,
        raw / eight
    );
}

/// Creates notes in one folder that already has many, in turn for each size, and compares the CPU time of a note.
pub(crate) fn measure_by_folder_size() {
    const SIZES: [u32; 2] = [1_000, 20_000];
    const NOTES_A_ROUND: u32 = 250;
    /// Aim: a note in the large folder costs at most this much more.
    const AIM: f64 = 1.3;
    let folders = SIZES.map(|size| {
        let folder = scratch();
        for number in 0..size {
            File::create(folder.path().join(format!("Existing {number:05}.md"))).unwrap();
        }
        let engine = BenchEngine::over(folder.path());
        (folder, engine)
    });
    let mut cpu = [0.0; SIZES.len()];
    for round in 0..ROUNDS {
        for ((_, engine), cpu) in folders.iter().zip(&mut cpu) {
            let began = cpu_seconds();
            for number in round * NOTES_A_ROUND..(round + 1) * NOTES_A_ROUND {
                let result = engine.call(
                    "vault.createFile",
                    &json!({"path": format!("New {number:05}.md"), "content": "x"}),
                );
                assert!(result.ok, "{result:?}");
            }
            *cpu += cpu_seconds() - began;
        }
    }
    let a_note = cpu.map(|seconds| seconds * 1e3 / f64::from(ROUNDS * NOTES_A_ROUND));
    let ratio = a_note[1] / a_note[0];
    println!("create in one folder, CPU time of a note ({ROUNDS} rounds in turn; ms)");
    for (size, a_note) in SIZES.iter().zip(a_note) {
        println!("  folder of {size:>6} notes {a_note:>8.3}");
    }
    println!("  ratio {ratio:.2} (aim {AIM}) {}", if ratio <= AIM { "met" } else { "MISSED" });
}

/// Returns the CPU time of this process, all threads.
fn cpu_seconds() -> f64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

fn path_of(number: u32) -> String {
    format!("Folder {:03}/Note {number:05}.md", number / NOTES_A_FOLDER)
}

fn timed(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64()
}

fn write_raw(base: &Path, path: &str, text: &str) {
    let path = base.join(path);
    let folder = path.parent().unwrap();
    if !folder.exists() {
        std::fs::create_dir_all(folder).unwrap();
    }
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.sync_all().unwrap();
    std::fs::rename(&temporary, &path).unwrap();
    File::open(folder).unwrap().sync_all().unwrap();
}
