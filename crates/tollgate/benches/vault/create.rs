//! Creating notes durably through the gate against the least that makes a file durable.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::rig::{Gate, scratch};

const NOTES_A_FOLDER: u32 = 100;
const ROUNDS: u32 = 4;

/// In turns: a round of raw files, a round through the gate one at a time, a round eight at a time.
pub(crate) fn measure(notes: u32) {
    let text = "A line of ordinary prose, as notes have many.\n".repeat(40);
    let (raw_folder, alone_folder, eight_folder) = (scratch(), scratch(), scratch());
    let (alone_gate, eight_gate) = (Gate::over(alone_folder.path()), Gate::over(eight_folder.path()));
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
