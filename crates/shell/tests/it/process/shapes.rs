//! Commands that resist their end, and every way to end them: no process survives, and the call returns.

use std::fs::{self, File};
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use shell::process::{
    CommandInput, CommandJob, CommandOutcome, CommandSpawner, EndCause, FinishedCommand, RunningCommand,
    TaskRegistry, run_command,
};
use tempfile::TempDir;
use toolkit::{CancelCause, CancelToken};

use super::job::{TempArtifacts, shell_job};

/// Each writes to `$READY` when it has its shape. `$NAP` is a unique duration.
const SHAPES: [(&str, &str); 13] = [
    ("leaves the session", "setsid sleep $NAP & : >$READY; wait"),
    (
        "a daemon behind two forks",
        "(setsid sh -c 'sleep $NAP & : >$READY; exec sleep $NAP' </dev/null >/dev/null 2>&1 &); sleep $NAP",
    ),
    ("ignores the request to end", "trap '' TERM; : >$READY; while :; do sleep $NAP; done"),
    ("a grandchild holds the pipe", "(sleep $NAP &); : >$READY; sleep $NAP"),
    (
        "a tree of sixty",
        "grow() { if [ $1 -gt 0 ]; then grow $(($1 - 1)) & grow $(($1 - 1)) & fi; sleep $NAP; }
         grow 4 & : >$READY; wait",
    ),
    ("is stopped", ": >$READY; kill -STOP $$; sleep $NAP"),
    ("makes a zombie", "true & : >$READY; exec sleep $NAP"),
    ("closes its output", ": >$READY; exec >&- 2>&-; sleep $NAP"),
    ("ends while a child holds the pipe", "sleep $NAP & : >$READY; exit 0"),
    ("floods", ": >$READY; exec yes $NAP"),
    ("reads for ever", ": >$READY; cat; sleep $NAP"),
    ("ignores the end of its terminal", "trap '' HUP; nohup sleep $NAP & : >$READY; wait"),
    ("a child with an empty environment", "env -i setsid sleep $NAP & : >$READY; sleep $NAP"),
];

/// A shape that was not started yet.
struct Unruly {
    name: &'static str,
    marker: String,
    nap: String,
    ready: PathBuf,
    _folder: TempDir,
}

impl Unruly {
    fn new((name, script): (&'static str, &str)) -> (Unruly, CommandJob) {
        let mut job = shell_job(script, TempArtifacts::new());
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        mknodat(CWD, &ready, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        // The process and the number in the marker, as a length of sleep.
        let nap = job.marker.trim_start_matches("test-").replace('-', "0000");
        job.command.env("READY", &ready).env("NAP", &nap);
        job.input = CommandInput::Open(Vec::new());
        (Unruly { name, marker: job.marker.clone(), nap, ready, _folder: folder }, job)
    }

    /// Waits until it has its shape.
    async fn is_ready(&self) {
        let ready = self.ready.clone();
        // Opening a pipe for reading waits for the first writer.
        tokio::task::spawn_blocking(move || File::open(ready).unwrap()).await.unwrap();
    }

    fn check(&self, finished: &FinishedCommand, cause: EndCause) {
        let ends_by_itself = self.name.starts_with("ends");
        assert!(
            finished.cause == cause || (ends_by_itself && finished.cause == EndCause::Exited),
            "{}",
            self.name
        );
        assert_eq!((finished.survivors.as_slice(), self.left()), (&[][..], vec![]), "{}", self.name);
    }

    fn left(&self) -> Vec<i32> {
        let mut left = survivors(&self.marker);
        left.extend(with(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == self.nap.as_bytes())
        }));
        left
    }
}

/// Returns the living processes that carry a mark.
pub(crate) fn survivors(marker: &str) -> Vec<i32> {
    let mark = format!("TOLLGATE_TASK={marker}");
    with(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    })
}

fn with(is_it: impl Fn(i32) -> bool) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| is_it(*pid)).collect()
}

/// Runs all shapes at the same time, each to its end.
async fn each<Way, Run>(way: Way)
where
    Way: Fn(Unruly, CommandJob) -> Run,
    Run: Future<Output = ()> + Send + 'static,
{
    let running: Vec<_> =
        SHAPES.map(Unruly::new).into_iter().map(|(it, job)| tokio::spawn(way(it, job))).collect();
    for one in running {
        one.await.unwrap();
    }
}

/// Fails unless it happens within two seconds.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(2), what).await.expect("it returns within two seconds")
}

// Conformance: result 6.5
//     Timeout, cancel, stop and exit end a command with everything it started.
//     In: shell/process/supervisor.rs, shell/sandbox/mod.rs
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_a_timeout() {
    each(|it, mut job| async move {
        let limit = Duration::from_millis(700);
        job.limits.timeout = Some(limit);
        let (spawner, tasks, cancel) =
            (CommandSpawner::new().unwrap(), TaskRegistry::new(), CancelToken::new());
        let call = run_command(&spawner, &tasks, job, None, &cancel);
        let outcome = tokio::time::timeout(limit + Duration::from_secs(2), call).await.expect("it returns");
        let (CommandOutcome::TimedOut(finished) | CommandOutcome::Completed(finished)) = outcome else {
            panic!("{}: {outcome:?}", it.name)
        };
        it.check(&finished, EndCause::TimedOut);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_a_cancelled_call() {
    each(|it, job| async move {
        let (spawner, tasks, cancel) =
            (CommandSpawner::new().unwrap(), TaskRegistry::new(), CancelToken::new());
        let mut call = pin!(run_command(&spawner, &tasks, job, None, &cancel));
        let early = tokio::select! {
            () = it.is_ready() => None,
            outcome = &mut call => Some(outcome),
        };
        cancel.cancel(CancelCause::Run);
        let outcome = match early {
            Some(outcome) => outcome,
            None => soon(call).await,
        };
        let (CommandOutcome::Cancelled(finished) | CommandOutcome::Completed(finished)) = outcome else {
            panic!("{}: {outcome:?}", it.name)
        };
        it.check(&finished, EndCause::Cancelled);
    })
    .await;
}

// Conformance: result 6.5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_a_stop() {
    each(|it, job| async move {
        let running = RunningCommand::start(&CommandSpawner::new().unwrap(), job).await.unwrap();
        it.is_ready().await;
        let end = soon(running.stop(EndCause::Stopped, Duration::from_millis(100))).await;
        it.check(end.as_ref().as_ref().unwrap(), EndCause::Stopped);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_the_stop_of_all_tasks() {
    let tasks = TaskRegistry::new();
    let promote = {
        let tasks = tasks.clone();
        move |it: Unruly, job: CommandJob| {
            let tasks = tasks.clone();
            async move {
                let running = RunningCommand::start(&CommandSpawner::new().unwrap(), job).await.unwrap();
                it.is_ready().await;
                let id = tasks.promote(running);
                let ends = soon(tasks.stop_all(Duration::from_millis(100))).await;
                let end = ends.into_iter().find(|(ended, _)| *ended == id).map(|(_, end)| end);
                // Another may have stopped all of them before.
                let end = match end {
                    Some(end) => end,
                    None => soon(tasks.stop(id, Duration::ZERO)).await.unwrap(),
                };
                it.check(end.as_ref().as_ref().unwrap(), EndCause::Stopped);
            }
        }
    };
    each(promote).await;
    assert_eq!(tasks.list().len(), SHAPES.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_the_end_of_the_registry() {
    each(|it, job| async move {
        let tasks = TaskRegistry::new();
        let running = RunningCommand::start(&CommandSpawner::new().unwrap(), job).await.unwrap();
        it.is_ready().await;
        tasks.promote(running);
        drop(tasks);
        assert_eq!(it.left(), Vec::<i32>::new(), "{}", it.name);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_a_call_that_is_let_go_of() {
    each(|it, job| async move {
        let (spawner, tasks, cancel) =
            (CommandSpawner::new().unwrap(), TaskRegistry::new(), CancelToken::new());
        {
            let call = pin!(run_command(&spawner, &tasks, job, None, &cancel));
            tokio::select! {
                () = it.is_ready() => {}
                outcome = call => assert!(matches!(outcome, CommandOutcome::Completed(_)), "{outcome:?}"),
            }
        }
        // A dropped call is not waited for, and its end is not reported.
        soon(async {
            while !it.left().is_empty() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    })
    .await;
}
