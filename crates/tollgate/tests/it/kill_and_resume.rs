//! Kills a writing run at random moments and resumes it: nothing acknowledged is lost, nothing is done twice.
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use envelope::{CallId, Status};
use journal::{JournalRecord, RunFolder};
use serde_json::{Value, json};

const NOTES: usize = 300;
const KILLS: u32 = 200;
/// As many as there are cores to spare; each kill has a vault of its own.
const LANES: u64 = 2;

/// A small generator of our own: the same seed gives the same moments.
struct KillSchedule(u64);

impl KillSchedule {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below.max(1)
    }
}

fn plan() -> Value {
    json!({
        "version": "1.0",
        "goal": "write many notes",
        "riskLevel": "writes",
        "vars": { "items": (0..NOTES).map(|n| json!({ "name": format!("note {n}"), "text": format!("text of {n}\n") })).collect::<Vec<_>>() },
        "steps": [
            { "id": "folder", "tool": "vault.ensureFolder", "args": { "path": "Notes" } },
            { "id": "notes", "tool": "vault.createFile", "dependsOn": ["folder"],
              "args": { "path": "Notes/{item.name}.md", "content": "{item.text}" },
              "foreach": { "from": "$vars.items", "itemName": "item", "concurrency": 8 } }
        ]
    })
}

fn tollgate(vault: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(args).arg("--vault").arg(vault).env_clear().stdin(Stdio::null());
    command
}

/// Starts a run or a resume, kills it after `delay`, and says how many notes it had acknowledged.
fn kill_after(mut command: Command, delay: Duration) -> u64 {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let stderr = child.stderr.take().unwrap();
    let acknowledged = std::thread::spawn(move || {
        let lines = BufReader::new(stderr).lines().map_while(Result::ok);
        lines
            .filter_map(|line| line.strip_prefix("notes: ")?.split(' ').next()?.parse().ok())
            .max()
            .unwrap_or(0)
    });
    std::thread::sleep(delay);
    // SIGKILL: no handler, no destructor, no flush.
    let _ended_already = child.kill();
    child.wait().unwrap();
    acknowledged.join().unwrap()
}

fn run_dir(vault: &Path) -> Option<PathBuf> {
    let runs = std::fs::read_dir(vault.join(".tollgate/runs")).ok()?;
    runs.map(|entry| entry.unwrap().path()).find(|path| path.join("run.json").exists())
}

/// The results that are in the record as it lies there, by call.
fn ok_results(run_dir: &Path) -> BTreeSet<CallId> {
    let folder = RunFolder::open(run_dir).unwrap();
    let records = folder.records().unwrap();
    records
        .map_while(Result::ok)
        .filter_map(|entry| match entry.record {
            JournalRecord::Result(result) if result.status == Status::Ok => Some(result.call_id),
            JournalRecord::Result(_) | JournalRecord::Call(_) | JournalRecord::Event(_) => None,
        })
        .collect()
}

/// One vault, one run, one kill (sometimes two), one resume, and every promise checked.
fn kill_once(dice: &mut KillSchedule, span: Duration, what: &str) {
    let folder = tempfile::tempdir().unwrap();
    let vault = folder.path();
    std::fs::create_dir(vault.join(".obsidian")).unwrap();
    let plan_file = vault.join("plan.json");
    std::fs::write(&plan_file, plan().to_string()).unwrap();
    let moment =
        |dice: &mut KillSchedule| Duration::from_micros(dice.roll(u64::try_from(span.as_micros()).unwrap()));
    let mut acknowledged =
        kill_after(tollgate(vault, &["run", plan_file.to_str().unwrap(), "--yes"]), moment(dice));
    let Some(run) = run_dir(vault) else {
        assert_eq!(acknowledged, 0, "{what}: acknowledged without a record");
        return assert!(!vault.join("Notes").exists(), "{what}: an effect without a record");
    };
    let mut kept = ok_results(&run);
    if dice.roll(4) == 0 {
        // The resume is killed, too.
        acknowledged =
            acknowledged.max(kill_after(tollgate(vault, &["resume", "last", "--yes"]), moment(dice) / 2));
        let later = ok_results(&run);
        assert!(kept.is_subset(&later), "{what}: a result is gone");
        kept = later;
    }
    // One more result than items: the folder's.
    assert!(
        kept.len() as u64 >= acknowledged,
        "{what}: {acknowledged} were acknowledged, {} are kept",
        kept.len()
    );
    let resumed = tollgate(vault, &["resume", "last", "--yes", "--json"]).output().unwrap();
    let finished_before = String::from_utf8_lossy(&resumed.stdout).contains("already finished");
    assert!(
        resumed.status.success() || finished_before,
        "{what}: {}",
        String::from_utf8_lossy(&resumed.stdout)
    );
    check_vault(vault, what);
    check_record(&run, &kept, what);
    let verified = tollgate(vault, &["verify", "last"]).output().unwrap();
    assert!(verified.status.success(), "{what}: {}", String::from_utf8_lossy(&verified.stdout));
    let replayed = tollgate(vault, &["replay", "last"]).output().unwrap();
    assert!(replayed.status.success(), "{what}: {}", String::from_utf8_lossy(&replayed.stdout));
}

/// No note is missing, doubled, half-written or left over as a temporary file.
fn check_vault(vault: &Path, what: &str) {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(vault.join("Notes")).unwrap() {
        let entry = entry.unwrap();
        found
            .insert(entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap());
    }
    let expected: BTreeMap<String, String> =
        (0..NOTES).map(|n| (format!("note {n}.md"), format!("text of {n}\n"))).collect();
    assert!(found == expected, "{what}: the notes are not the planned ones: {:?}", found.keys());
}

/// Every call is written down and has one result, and what was there before the resume is still there. (A call
/// that was open is written down again when it is made again.)
fn check_record(run: &Path, kept: &BTreeSet<CallId>, what: &str) {
    let folder = RunFolder::open(run).unwrap();
    let (mut calls, mut results) = (BTreeSet::new(), BTreeMap::new());
    for entry in folder.records().unwrap() {
        match entry.unwrap().record {
            JournalRecord::Call(call) => {
                calls.insert(call.call_id);
            }
            JournalRecord::Result(result) => {
                assert_eq!(result.status, Status::Ok, "{what}: {result:#?}");
                *results.entry(result.call_id).or_insert(0) += 1;
            }
            JournalRecord::Event(_) => {}
        }
    }
    assert_eq!((calls.len(), results.len()), (NOTES + 1, NOTES + 1), "{what}");
    assert!(results.values().all(|count| *count == 1), "{what}: a call was run twice");
    assert!(kept.iter().all(|id| results.contains_key(id)), "{what}: a result is gone");
}

#[test]
fn a_run_killed_at_any_moment_is_resumed_without_loss_or_repetition() {
    if std::env::var_os("RUN_SLOW_TESTS").is_none() {
        eprintln!("skipped: set RUN_SLOW_TESTS=1, as `cargo xtask test` does");
        return;
    }
    let seed = match std::env::var("TOLLGATE_SEED") {
        Ok(text) => text.parse().expect("TOLLGATE_SEED is a number"),
        Err(_) => RandomState::new().hash_one("kill") | 1,
    };
    eprintln!("TOLLGATE_SEED={seed}");
    // How long a whole run takes here and now; moments are drawn from a little more than that.
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".obsidian")).unwrap();
    std::fs::write(folder.path().join("plan.json"), plan().to_string()).unwrap();
    let began = Instant::now();
    let plan_file = folder.path().join("plan.json");
    let whole = tollgate(folder.path(), &["run", plan_file.to_str().unwrap(), "--yes"]).output().unwrap();
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let span = began.elapsed() * 11 / 10;
    let next = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let next = &next;
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= KILLS {
                        break;
                    }
                    // The moments follow from the seed and the number alone, whichever lane takes it.
                    let mut dice =
                        KillSchedule(seed ^ (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                    dice.roll(2);
                    let what = format!("seed {seed}, kill {number}, lane {lane}");
                    kill_once(&mut dice, span, &what);
                }
            });
        }
    });
}
