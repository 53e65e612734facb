//! A vault whose runs are kept on a failing disk, and the assertions about a run there.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use envelope::Status;
use journal::{JournalRecord, RunFolder};
use serde_json::Value;

use crate::disk_full::plans::AFTER;
use crate::disk_full::write_route::WriteRoute;
use crate::support::{ProcessResult, TestVault, ended, one_note};

/// However slow the machine is, nothing here takes as long.
const PATIENCE: Duration = Duration::from_secs(120);

/// As the system words what went wrong.
const CAUSES: [&str; 3] = [
    "No space left on device (os error 28)",
    "File too large (os error 27)",
    "Input/output error (os error 5)",
];

/// The hints for the disk of the runs and for that of the vault.
const WAYS_OUT: [&str; 4] = ["make room", "Make room", "free some space", "check the disk"];

pub(crate) struct DiskStage {
    pub(crate) sandbox: TestVault,
    /// In the command lines of what must not survive.
    pub(crate) mark: String,
}

impl DiskStage {
    pub(crate) fn new() -> DiskStage {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let sandbox = TestVault::new();
        std::fs::create_dir(sandbox.path("state")).unwrap();
        sandbox.trusted_config(&format!("state = {:?}\n", sandbox.path("state").to_str().unwrap()));
        sandbox.write("vault/room/held.md", "");
        let mark = format!("disk-full-{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed));
        DiskStage { sandbox, mark }
    }

    /// Runs the binary to its end.
    pub(crate) fn tollgate(&self, way: WriteRoute, args: &[&str]) -> ProcessResult {
        let (state, kept) = (self.sandbox.path("state"), self.sandbox.path("kept"));
        let small = matches!(way, WriteRoute::Small { .. });
        if small {
            std::fs::create_dir(&kept).unwrap();
        }
        let ended = in_time(way.around(&self.sandbox.command(args), &state, &kept));
        if small {
            // The same state on a disk with room.
            std::fs::remove_dir(&state).unwrap();
            std::fs::rename(&kept, &state).unwrap();
        }
        ended
    }

    pub(crate) fn run(&self, way: WriteRoute, plan: &Value) -> ProcessResult {
        self.tollgate(way, &["run", &self.sandbox.plan_file("plan.json", plan), "--yes"])
    }

    /// Asserts what must hold for a run on the failing disk, and for the vault afterwards.
    #[track_caller]
    pub(crate) fn holds(&self, ended: &ProcessResult, what: &str) {
        let said = format!("{}{}", ended.out, ended.err);
        let what = format!("{what}:\n{said}");
        assert_eq!(ended.code, 1, "{what}");
        assert!(!said.contains("panicked"), "{what}");
        assert!(CAUSES.iter().any(|cause| said.contains(cause)), "no cause: {what}");
        assert!(WAYS_OUT.iter().any(|way| said.contains(way)), "no way out: {what}");
        self.none_survives(&what);
        self.nothing_happened_after_a_failure(ended, &what);
        self.record_holds(ended, &what);
    }

    /// The last step had no effect, unless all before it went well.
    #[track_caller]
    fn nothing_happened_after_a_failure(&self, ended: &ProcessResult, what: &str) {
        let steps = steps(&ended.out);
        let before = steps.iter().take_while(|step| step.id != "after");
        if steps.is_empty() || before.clone().any(|step| step.word != "ok") {
            assert!(!self.sandbox.vault().join(AFTER).exists(), "it went on: {what}");
        }
    }

    /// Acknowledged work is in the record, and the record can be read, resumed and extended.
    #[track_caller]
    fn record_holds(&self, ended: &ProcessResult, what: &str) {
        let reported: u64 = steps(&ended.out).iter().map(|step| step.calls - step.failed).sum();
        let Some(before) = self.verified(what) else {
            assert_eq!((reported, self.sandbox.notes().len()), (0, 2), "an effect without a record: {what}");
            return self.a_new_run_works(what);
        };
        let kept = self.recorded_ok();
        assert!(kept >= reported, "{reported} calls were said to be done, {kept} are recorded: {what}");
        self.sandbox.tollgate(&["show", "last"]).expect_code(0);
        if !before {
            let resumed = self.sandbox.tollgate(&["resume", "last", "--yes"]);
            // 1: what a command did before it was interrupted is unknown, and reported as unknown.
            // 130: the cancellation was in the record already.
            assert!(matches!(resumed.code, 0 | 1 | 130), "{}{}{what}", resumed.out, resumed.err);
            assert_eq!(self.verified(what), Some(true), "{}{what}", resumed.out);
            assert!(self.recorded_ok() >= kept, "{what}");
        }
        self.a_new_run_works(what);
    }

    #[track_caller]
    fn a_new_run_works(&self, what: &str) {
        let fresh = self.sandbox.plan_file("fresh.json", &one_note("Fresh.md"));
        let ended = self.sandbox.tollgate(&["run", &fresh, "--yes"]);
        assert_eq!(ended.code, 0, "{}{}{what}", ended.out, ended.err);
    }

    /// Whether the newest run has come to its end; none if there is no run. Its record must be whole.
    #[track_caller]
    fn verified(&self, what: &str) -> Option<bool> {
        let ended = self.sandbox.tollgate(&["verify", "last", "--json"]);
        if ended.code == 2 {
            assert!(ended.out.contains("no_such_run"), "{}{what}", ended.out);
            return None;
        }
        assert_eq!(ended.code, 0, "{}{what}", ended.out);
        Some(ended.json()["verification"]["finished"].as_bool().unwrap())
    }

    pub(crate) fn newest_run(&self) -> PathBuf {
        let runs = std::fs::read_dir(self.sandbox.path("state/runs")).unwrap();
        runs.map(|entry| entry.unwrap().path()).max().unwrap()
    }

    fn recorded_ok(&self) -> u64 {
        let folder = RunFolder::open(&self.newest_run()).unwrap();
        let ok = folder.records().unwrap().map_while(Result::ok).filter(|entry| match &entry.record {
            JournalRecord::Result(result) => result.status == Status::Ok,
            JournalRecord::Call(_) | JournalRecord::Event(_) => false,
        });
        ok.count() as u64
    }

    #[track_caller]
    fn none_survives(&self, what: &str) {
        let alive = || {
            let lines = std::fs::read_dir("/proc").unwrap().flatten();
            let lines = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
            lines
                .map(|line| String::from_utf8_lossy(&line).into_owned())
                .any(|line| line.contains(&self.mark))
        };
        let deadline = Instant::now() + Duration::from_secs(2);
        while alive() {
            assert!(Instant::now() < deadline, "something survived: {what}");
            std::thread::yield_now();
        }
    }
}

/// A step, as the summary prints it.
struct DiskStep<'a> {
    word: &'a str,
    id: &'a str,
    calls: u64,
    failed: u64,
}

fn steps(summary: &str) -> Vec<DiskStep<'_>> {
    let words = ["ok", "partial", "failed", "skipped", "cancelled"];
    let step = |line| {
        let mut parts = str::split_ascii_whitespace(line);
        let (word, id) = (parts.next()?, parts.next()?);
        let calls = parts.next()?.parse().ok().filter(|_| words.contains(&word))?;
        let failed = parts.nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
        Some(DiskStep { word, id, calls, failed })
    };
    summary.lines().filter_map(step).collect()
}

/// Waits for the end, which has to come by itself.
fn in_time(mut command: Command) -> ProcessResult {
    let child = command.spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let (tell, told) = mpsc::channel();
    let waits = std::thread::spawn(move || tell.send(child.wait_with_output().unwrap()));
    let output = told.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let _ended = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        panic!("it did not end by itself: {command:?}")
    });
    waits.join().unwrap().unwrap();
    ended(output)
}
