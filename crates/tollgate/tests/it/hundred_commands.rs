//! Commands that resist their end, through the real binary, in each sandbox, and every way to end them: the call
//! returns, and two seconds later no process is left.
//!
//! Each test runs all shapes in one run and ends them in one way. The last test starts the same shapes without Tollgate
//! and kills only the child, and finds survivors: so they can be found.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::support::build::latest_end;
use crate::support::process_scan::with_number;
use crate::support::sandboxes::SandboxChoice;
use crate::support::{TestVault, took_ms};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Longer than anything takes to begin or to end, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

/// Each makes the file `$READY` when it has its shape. `$NAP` is a unique number of seconds.
const SHAPES: [(&str, &str); 15] = [
    ("leaves the session", "setsid sleep $NAP & : >$READY; wait"),
    (
        "a daemon behind two forks",
        "(setsid sh -c 'sleep $NAP & exec sleep $NAP' </dev/null >/dev/null 2>&1 &); : >$READY; sleep $NAP",
    ),
    ("ignores what can be ignored", "trap '' TERM HUP INT QUIT; : >$READY; while :; do sleep $NAP; done"),
    (
        "a grandchild ignores it and holds both pipes",
        "(perl -e '$SIG{$_} = \"IGNORE\" for qw(TERM HUP INT QUIT PIPE); sleep 600' $NAP &); : >$READY; sleep $NAP",
    ),
    ("stops itself and its child", "sleep $NAP & kill -STOP $!; : >$READY; kill -STOP $$; sleep $NAP"),
    ("makes zombies", "for n in 1 2 3 4 5; do true & done; : >$READY; exec sleep $NAP"),
    ("closes its pipes early", ": >$READY; exec <&- >&- 2>&-; sleep $NAP"),
    (
        "a tree of processes",
        "grow() { if [ $1 -gt 0 ]; then grow $(($1 - 1)) & grow $(($1 - 1)) & fi; sleep $NAP; }
         grow 4 & : >$READY; wait",
    ),
    (
        "becomes another program all the time",
        "export AGAIN='select undef, undef, undef, 0.02; exec $^X, \"-e\", $ENV{AGAIN}, $ENV{NAP}'
         : >$READY; exec perl -e \"$AGAIN\" $NAP",
    ),
    (
        // Ends by itself some time later, since a process that only scans can miss it.
        "is another process all the time",
        "perl -MPOSIX -e 'for (1 .. 2000) { exit if fork; setsid; select undef, undef, undef, 0.02 }' $NAP &
         : >$READY; sleep $NAP",
    ),
    ("prints on and on", ": >$READY; while :; do echo $NAP; echo $NAP >&2; sleep 0.05; done"),
    ("outlives its terminal", "trap '' HUP; nohup sleep $NAP >/dev/null 2>&1 & : >$READY; wait"),
    ("a child with an empty environment", "env -i setsid sleep $NAP & : >$READY; sleep $NAP"),
    ("has groups of its own", "set -m; sleep $NAP & (sleep $NAP & sleep $NAP) & : >$READY; wait"),
    (
        "tidies up for ever when told to end",
        "trap 'sleep $NAP; sleep $NAP' TERM; : >$READY; sleep $NAP & wait; wait",
    ),
];

/// One run of all shapes.
struct LoadStage {
    sandbox: TestVault,
    choice: SandboxChoice,
    /// What every number of this run begins with.
    number: String,
}

impl LoadStage {
    /// `None` without the sandbox, which is printed.
    #[track_caller]
    fn new(choice: SandboxChoice) -> Option<LoadStage> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = format!("8{}00{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed));
        let sandbox = TestVault::new();
        // New things at the top of the vault can be made behind one of the sandboxes only.
        sandbox.write("vault/ready/.keep", "");
        choice.is_available(&sandbox).then_some(LoadStage { sandbox, choice, number })
    }

    fn nap(&self, shape: usize) -> String {
        format!("{}{shape:02}", self.number)
    }

    fn ready(&self, shape: usize) -> String {
        format!("ready/{}", self.nap(shape))
    }

    /// The step that starts one shape.
    fn start(&self, shape: usize) -> Value {
        let env = json!({ "NAP": self.nap(shape), "READY": self.ready(shape) });
        json!({
            "id": format!("start-{shape}"),
            "tool": "ExecCommand",
            "args": { "cmd": SHAPES[shape].1, "env": env, "yield_time_ms": 20 }
        })
    }

    /// Starts every shape as a task, and returns when all of them are ready.
    fn starts(&self) -> Vec<Value> {
        let mut steps: Vec<Value> = (0..SHAPES.len()).map(|shape| self.start(shape)).collect();
        let all = (0..SHAPES.len()).map(|shape| self.ready(shape)).collect::<Vec<_>>().join(" ");
        steps.push(wait_for("all-ready", &all));
        steps
    }

    fn spawn(&self, steps: &[Value]) -> RunningCommands<'_> {
        let plan = json!({ "version": "1.0", "goal": "Commands", "riskLevel": "commands", "steps": steps });
        let file = self.sandbox.plan_file("plan.json", &plan);
        let mut command = self.choice.around(self.sandbox.command(&["run", &file, "--yes"]));
        let out = std::fs::File::create(self.sandbox.path("out")).unwrap();
        let child = command.stdout(out.try_clone().unwrap()).stderr(out).spawn().unwrap();
        RunningCommands { stage: self, child: Some(child) }
    }

    /// What is left of the shapes, by what is in their command lines and environments.
    fn left(&self) -> Vec<String> {
        with_number(&self.number).into_iter().map(|(pid, line)| format!("{pid}: {line}")).collect()
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        while !self.left().is_empty() {
            assert!(Instant::now() < deadline, "{:?}: still there: {:#?}", self.choice, self.left());
            std::thread::yield_now();
        }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.sandbox.path("out")).unwrap_or_default()
    }

    /// Every result of the run, by step.
    fn results(&self) -> Vec<Value> {
        let runs = std::fs::read_dir(self.sandbox.path("vault/.tollgate/runs")).unwrap();
        let newest = runs.map(|entry| entry.unwrap().path()).max().unwrap();
        let lines = std::fs::read_to_string(newest.join("results.jsonl")).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The binary while it runs; killed when the test ends.
struct RunningCommands<'a> {
    stage: &'a LoadStage,
    child: Option<Child>,
}

impl RunningCommands<'_> {
    /// Waits until a step of the run has made this file.
    #[track_caller]
    fn until_there(&mut self, name: &str) {
        let (path, deadline) = (self.stage.sandbox.vault().join(name), Instant::now() + PATIENCE);
        while !path.exists() {
            let over = self.child.as_mut().unwrap().try_wait().unwrap().is_some() && !path.exists();
            assert!(!over && Instant::now() < deadline, "{name} never came: {}", self.stage.said());
            std::thread::yield_now();
        }
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(self.child.as_ref().unwrap()), signal).unwrap();
    }

    /// Waits for the end, which has to come by itself: the exit code, or none after a signal.
    #[track_caller]
    fn end(mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        let mut child = self.child.take().unwrap();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status.code();
            }
            if Instant::now() > deadline {
                child.kill().unwrap();
                panic!("{:?}: it did not end: {}", self.stage.choice, self.stage.said());
            }
            std::thread::yield_now();
        }
    }

    /// The command that told us of the end may have ended a moment ago, so this takes a moment as well.
    #[track_caller]
    fn no_zombie_stays(&self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        while self.zombies() > 0 {
            assert!(Instant::now() < deadline, "{:?}: {} zombies", self.stage.choice, self.zombies());
            std::thread::yield_now();
        }
    }

    /// Children of the binary that are still zombies.
    fn zombies(&self) -> usize {
        let parent = self.child.as_ref().unwrap().id().to_string();
        let stats = std::fs::read_dir("/proc").unwrap().flatten();
        let stats = stats.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
        stats
            .filter(|stat| {
                let mut fields = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace();
                fields.next() == Some("Z") && fields.next() == Some(parent.as_str())
            })
            .count()
    }
}

impl Drop for RunningCommands<'_> {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ended = child.kill();
            let _collected = child.wait();
        }
    }
}

/// Steps, each after the one before it.
fn in_order(mut steps: Vec<Value>) -> Vec<Value> {
    let ids: Vec<Value> = steps.iter().map(|step| step["id"].clone()).collect();
    for (step, before) in steps.iter_mut().skip(1).zip(ids) {
        step["dependsOn"] = json!([before]);
    }
    steps
}

/// A step that ends when all of these files are there.
fn wait_for(id: &str, files: &str) -> Value {
    let cmd = format!("for file in {files}; do until test -e $file; do sleep 0.02; done; done");
    json!({ "id": id, "tool": "ExecCommand", "args": { "cmd": cmd, "yield_time_ms": 300_000 } })
}

fn make(id: &str, path: &str) -> Value {
    json!({ "id": id, "tool": "ExecCommand", "args": { "cmd": format!(": >{path}") } })
}

#[track_caller]
fn ended_by_stops(choice: SandboxChoice) {
    let Some(stage) = LoadStage::new(choice) else { return };
    let mut steps = stage.starts();
    for shape in 0..SHAPES.len() {
        let args = json!({ "task_id": format!("task_{}", shape + 1) });
        steps.push(json!({ "id": format!("stop-{shape}"), "tool": "TaskStop", "args": args }));
    }
    steps.push(make("stopped", "ready/stopped"));
    steps.push(wait_for("look", "ready/go"));
    let mut running = stage.spawn(&in_order(steps));
    running.until_there("ready/stopped");
    // The run goes on; only the tasks have ended.
    stage.nothing_is_left();
    running.no_zombie_stays();
    stage.sandbox.write("vault/ready/go", "");
    assert_eq!(running.end(), Some(0), "{choice:?}: {}", stage.said());
    let results = stage.results();
    let promoted = results.iter().filter(|result| result["data"]["disposition"] == "promoted_to_task");
    assert_eq!(promoted.count(), SHAPES.len(), "{choice:?}");
    assert!(results.iter().all(|result| result["ok"] == true), "{choice:?}");
}

#[track_caller]
fn ended_by_timeouts(choice: SandboxChoice) {
    const LIMIT: u64 = 400;
    let Some(stage) = LoadStage::new(choice) else { return };
    let mut steps: Vec<Value> = (0..SHAPES.len()).map(|shape| stage.start(shape)).collect();
    for step in &mut steps {
        step["args"]["yield_time_ms"] = json!(300_000);
        step["args"]["timeout_ms"] = json!(LIMIT);
        step["onError"] = json!("skip");
    }
    // Commands take turns in the order of the plan, so these come last.
    steps.extend(in_order(vec![make("timed-out", "ready/timed-out"), wait_for("look", "ready/go")]));
    let mut running = stage.spawn(&steps);
    running.until_there("ready/timed-out");
    stage.nothing_is_left();
    running.no_zombie_stays();
    stage.sandbox.write("vault/ready/go", "");
    assert_eq!(running.end(), Some(1), "{choice:?}: {}", stage.said());
    let results = stage.results();
    let timed_out: Vec<&Value> = results.iter().filter(|result| result["status"] == "timeout").collect();
    assert_eq!(timed_out.len(), SHAPES.len(), "{choice:?}: {}", stage.said());
    for result in timed_out {
        assert!(took_ms(result) <= latest_end(LIMIT), "{choice:?}: {result}");
    }
}

/// A run in which all shapes are tasks, and one of them is being waited for as a call.
fn waiting(stage: &LoadStage) -> RunningCommands<'_> {
    let mut steps = stage.starts();
    let env = json!({ "NAP": stage.nap(SHAPES.len()), "READY": "ready/waiting" });
    let args = json!({ "cmd": SHAPES[2].1, "env": env, "yield_time_ms": 300_000 });
    steps.push(json!({ "id": "waits", "tool": "ExecCommand", "args": args }));
    let mut running = stage.spawn(&in_order(steps));
    running.until_there("ready/waiting");
    running
}

#[track_caller]
fn ended_by_a_cancelled_run(choice: SandboxChoice) {
    let Some(stage) = LoadStage::new(choice) else { return };
    let running = waiting(&stage);
    running.send(Signal::INT);
    assert_eq!(running.end(), Some(130), "{choice:?}: {}", stage.said());
    stage.nothing_is_left();
    stage.sandbox.tollgate(&["verify", "last"]).expect_code(0);
}

#[track_caller]
fn ended_by_the_end_of_the_run(choice: SandboxChoice) {
    let Some(stage) = LoadStage::new(choice) else { return };
    let running = stage.spawn(&in_order(stage.starts()));
    assert_eq!(running.end(), Some(0), "{choice:?}: {}", stage.said());
    stage.nothing_is_left();
    stage.sandbox.tollgate(&["verify", "last"]).expect_code(0);
}

#[track_caller]
fn ended_by_the_end_of_the_binary(choice: SandboxChoice) {
    let Some(stage) = LoadStage::new(choice) else { return };
    let running = waiting(&stage);
    running.send(Signal::KILL);
    assert_eq!(running.end(), None, "{choice:?}: {}", stage.said());
    stage.nothing_is_left();
}

/// Each ending behind each sandbox is a test of its own, so that they can run side by side.
macro_rules! endings {
    ($($name:ident: $ending:ident behind $choice:ident;)*) => {
        $(#[test] fn $name() { $ending(SandboxChoice::$choice); })*
    };
}

endings! {
    nothing_survives_its_stop_behind_bubblewrap: ended_by_stops behind Bubblewrap;
    nothing_survives_its_stop_behind_landlock: ended_by_stops behind Landlock;
    nothing_survives_its_time_behind_bubblewrap: ended_by_timeouts behind Bubblewrap;
    nothing_survives_its_time_behind_landlock: ended_by_timeouts behind Landlock;
    nothing_survives_a_cancelled_run_behind_bubblewrap: ended_by_a_cancelled_run behind Bubblewrap;
    nothing_survives_a_cancelled_run_behind_landlock: ended_by_a_cancelled_run behind Landlock;
    nothing_survives_the_end_of_its_run_behind_bubblewrap: ended_by_the_end_of_the_run behind Bubblewrap;
    nothing_survives_the_end_of_its_run_behind_landlock: ended_by_the_end_of_the_run behind Landlock;
    nothing_survives_a_killed_binary_behind_bubblewrap: ended_by_the_end_of_the_binary behind Bubblewrap;
    nothing_survives_a_killed_binary_behind_landlock: ended_by_the_end_of_the_binary behind Landlock;
}

#[test]
fn a_kill_of_the_child_alone_leaves_survivors_of_most_shapes() {
    let number = format!("9{}00", std::process::id());
    let folder = tempfile::tempdir().unwrap();
    let mut survived = Vec::new();
    for (shape, (name, script)) in SHAPES.iter().enumerate() {
        let nap = format!("{number}{shape:02}");
        let mut child = Command::new("sh")
            .args(["-c", script])
            .current_dir(folder.path())
            .envs([("NAP", nap.as_str()), ("READY", "ready")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + PATIENCE;
        while !folder.path().join("ready").exists() {
            assert!(Instant::now() < deadline, "{name} never began");
            std::thread::yield_now();
        }
        std::fs::remove_file(folder.path().join("ready")).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        if !with_number(&nap).is_empty() {
            survived.push(*name);
        }
        while let Some((pid, _)) = with_number(&nap).first() {
            let _gone = kill_process(Pid::from_raw(*pid).unwrap(), Signal::KILL);
            assert!(Instant::now() < deadline, "{name} cannot be ended");
        }
    }
    assert!(survived.len() >= 10, "too tame to prove anything: only {survived:?} survived");
}
