//! Background tasks, and reads of what commands left.

use serde_json::{Value, json};

use super::{CorpusCase, answered, log, stream};

fn task(id: &str, command: &str, status: &str, runtime_ms: u64) -> Value {
    json!({ "task_id": id, "command": command, "status": status, "runtime_ms": runtime_ms, "bytes": 20_480 })
}

fn ended(id: &str, command: &str, code: i32, runtime_ms: u64) -> Value {
    let mut task = task(id, command, "exited", runtime_ms);
    task["exit_status"] = code.into();
    task
}

/// New output of a stream that is still written.
fn new(text: &str) -> Value {
    json!({ "text": text, "complete": true, "from": 4_096, "bytes": text.len() })
}

pub(super) fn cases() -> Vec<CorpusCase> {
    [looks(), words(), artifacts()].into_iter().flatten().collect()
}

fn looks() -> Vec<CorpusCase> {
    let server = || task("task_3", "npm run dev", "running", 412_000);
    vec![
        answered(
            "a task has printed more",
            "TaskOutput",
            json!({
                "retrieval_status": "success", "task": server(),
                "stdout": new(include_str!("texts/server_more.txt")), "stderr": new(""),
            }),
            &[
                "task_3",
                "running",
                "Failed to resolve import \"./legacy\" from \"src/queue/index.ts\"",
                "/work/harbour-web/src/queue/index.ts:3:24",
            ],
        ),
        answered(
            "a task has nothing new",
            "TaskOutput",
            json!({ "retrieval_status": "timeout", "task": server(), "stdout": new(""), "stderr": new("") }),
            &["task_3", "still running", "nothing new"],
        ),
        answered(
            "a task has ended",
            "TaskOutput",
            json!({
                "retrieval_status": "success", "task": ended("task_4", "python train.py", 0, 1_840_000),
                "stdout": stream(include_str!("texts/task_end.txt")), "stderr": stream(""),
            }),
            &["task_4", "code 0", "best val_loss 0.0518 at epoch 8", "runs/2026-03-14/best.pt"],
        ),
    ]
}

fn words() -> Vec<CorpusCase> {
    vec![
        answered(
            "the tasks",
            "TaskList",
            json!({ "tasks": [
                ended("task_1", "cargo build --release", 0, 96_000),
                ended("task_2", "cargo test --workspace", 101, 203_000),
                task("task_3", "npm run dev", "running", 412_000),
                task("task_5", "tail -f /var/log/harbour/access.log | grep -v health", "running", 31_000),
            ]}),
            &[
                "4 tasks",
                "task_1",
                "cargo build --release",
                "task_2",
                "code 101",
                "task_3",
                "npm run dev",
                "still running",
                "412 s",
                "task_5",
            ],
        ),
        answered(
            "a task is stopped",
            "TaskStop",
            json!({
                "task": {
                    "task_id": "task_3", "command": "npm run dev", "status": "killed", "signal": "SIGTERM",
                    "runtime_ms": 431_000, "bytes": 21_102,
                },
                "was_running": true,
            }),
            &["task_3", "stopped", "SIGTERM"],
        ),
        answered(
            "a task is typed to",
            "TaskInput",
            json!({ "task_id": "task_6", "bytes_written": 4, "stdin_closed": false }),
            &["task_6", "4 bytes"],
        ),
    ]
}

fn artifacts() -> Vec<CorpusCase> {
    let log = log::service();
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    let before = |line: usize| lines[..line - 1].iter().map(|line| line.len()).sum::<usize>();
    let piece: String = lines[3_305..3_317].concat();
    let path = "artifacts/serve-stdout.log";
    let found = |line: usize, matched: bool| {
        let text = lines[line - 1].trim_end();
        json!({ "line": line, "at_byte": before(line), "matched": matched, "text": text })
    };
    vec![
        answered(
            "lines of an artifact",
            "artifact.read",
            json!({
                "path": path, "view": "lines", "total_bytes": log.len(), "total_lines": log::LINES,
                "pieces": [{
                    "start_line": 3_306, "start_byte": before(3_306), "end_byte": before(3_306) + piece.len(),
                    "content": piece, "encoding": "utf8",
                }],
            }),
            &[
                "3306-3317",
                "artifacts/serve-stdout.log",
                "5000 lines",
                "cannot write batch 118: no space left on device",
            ],
        ),
        answered(
            "matches in an artifact",
            "artifact.read",
            json!({
                "path": path, "view": "grep", "total_bytes": log.len(), "total_lines": log::LINES,
                "found": [
                    found(3_310, false), found(3_311, true), found(3_312, false),
                    found(4_999, false), found(5_000, true),
                ],
                "grep": { "pattern": "ERROR|lost", "context": 1, "max_matches": 100 }, "matches": 2,
            }),
            &[
                "2 matching lines",
                "artifacts/serve-stdout.log",
                "3311: ",
                "no space left on device (/var/spool/harbour)",
                "5000: ",
                "1 batch lost",
            ],
        ),
    ]
}
