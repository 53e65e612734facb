//! Finished commands, and one that keeps running: tests, builds, version control, listings, JSON, noise.

use serde_json::{Value, json};

use super::{CorpusCase, answered, kept, log, stream};

fn exited(code: i32, stdout: &str, stderr: &str) -> Value {
    json!({
        "disposition": "completed", "exit_status": code, "stdout": stream(stdout), "stderr": stream(stderr),
        "sandbox": "bubblewrap", "duration_ms": 1_204,
    })
}

fn ran(name: &'static str, code: i32, out: &str, err: &str, facts: &[&str]) -> CorpusCase {
    answered(name, "ExecCommand", exited(code, out, err), facts)
}

pub(super) fn cases() -> Vec<CorpusCase> {
    [tests(), builds(), versions(), listings(), json_on_stdout(), noise(), ends()]
        .into_iter()
        .flatten()
        .collect()
}

fn tests() -> Vec<CorpusCase> {
    vec![
        ran(
            "cargo test, two fail",
            101,
            include_str!("texts/cargo_test_failures.txt"),
            include_str!("texts/cargo_test_failures.stderr.txt"),
            &[
                "code 101",
                "ledger::import::csv::tests::joins_split_lines",
                "crates/ledger/src/import/csv.rs:214:9",
                "a quoted field goes on in the next line",
                r#"right: ["2026-03-01", "Rent\nMarch", "-880.00"]"#,
                "report::monthly::tests::orders_by_date",
                "crates/ledger/src/report/monthly.rs:88:14",
                "called `Option::unwrap()` on a `None` value",
                "97 passed; 2 failed",
                "-p ledger --lib",
            ],
        ),
        ran(
            "cargo test, all pass",
            0,
            include_str!("texts/cargo_test_passes.txt"),
            "",
            &["code 0", "test result: ok. 120 passed; 0 failed; 0 ignored"],
        ),
        ran(
            "pytest, three fail",
            1,
            include_str!("texts/pytest_failures.txt"),
            "",
            &[
                "code 1",
                "test_token_expires_at_the_full_hour",
                "tests/test_auth.py:91",
                "is_valid(Token(user='ada', expires=1767229200), now=1767229200)",
                "test_search_ranks_titles_before_bodies",
                "tests/test_search.py:57",
                "At index 0 diff: 'Tides' != 'The Harbour'",
                "test_search_survives_an_open_quote",
                "shelf/query.py:188: IndexError",
                "3 failed, 156 passed",
            ],
        ),
        ran(
            "jest, one fails",
            1,
            include_str!("texts/jest_failures.txt"),
            "",
            &[
                "code 1",
                "PriceTag › strikes through the old price when there is a discount",
                "+ text-decoration: none;",
                "src/components/PriceTag.test.tsx:40:17",
                "1 failed, 61 passed, 62 total",
            ],
        ),
        ran(
            "go test, one fails",
            1,
            include_str!("texts/go_test_failure.txt"),
            "",
            &[
                "code 1",
                "--- FAIL: TestReconnect",
                "reconnect_test.go:71: got 2 attempts, want 3 within 500ms",
                "example.org/relay/link",
            ],
        ),
    ]
}

fn builds() -> Vec<CorpusCase> {
    vec![
        ran(
            "cargo build, three errors",
            101,
            "",
            include_str!("texts/cargo_build_errors.txt"),
            &[
                "code 101",
                "error[E0308]: mismatched types",
                "src/reader.rs:58:24",
                "line.trim().to_string()",
                "error[E0502]",
                "src/reader.rs:91:13",
                "unused import: `std::io::Write`",
                "error[E0599]: no method named `expand` found for struct `Template`",
                "src/main.rs:37:29",
                "due to 3 previous errors",
            ],
        ),
        ran(
            "ninja, a header is missing",
            1,
            include_str!("texts/make_error.txt"),
            "",
            &[
                "code 1",
                "/work/tide/src/net_tls.c:17:10: fatal error: mbedtls/ssl.h: No such file or directory",
                "FAILED: src/CMakeFiles/tide.dir/net_tls.c.o",
            ],
        ),
        ran(
            "npm install",
            0,
            include_str!("texts/npm_install.txt"),
            include_str!("texts/npm_install.stderr.txt"),
            &[
                "code 0",
                "added 1387 packages",
                "9 vulnerabilities (3 moderate, 6 high)",
                "npm audit fix --force",
                "npm warn deprecated",
            ],
        ),
        ran(
            "pip install",
            0,
            include_str!("texts/pip_install.txt"),
            "",
            &["code 0", "Successfully installed", "httpx-0.28.1", "pydantic-2.11.7"],
        ),
    ]
}

fn versions() -> Vec<CorpusCase> {
    vec![
        ran(
            "git status",
            0,
            include_str!("texts/git_status.txt"),
            "",
            &[
                "code 0",
                "feature/offline-queue",
                "by 2 commits",
                "new file:   src/queue/journal.ts",
                "modified:   src/app.ts",
                "deleted:    src/queue/legacy.ts",
                "notes/offline.md",
            ],
        ),
        ran(
            "git log",
            0,
            include_str!("texts/git_log.txt"),
            "",
            &[
                "code 0",
                "fix(sync): wait for the lock before the first push",
                "feat(queue): keep entries in a journal",
                "docs: name the limits of the queue",
            ],
        ),
        ran(
            "git diff",
            0,
            include_str!("texts/git_diff.txt"),
            "",
            &[
                "code 0",
                "+++ b/src/queue/index.ts",
                "@@ -12,18 +12,24 @@",
                "+const KEEP_DAYS = 30;",
                "-    this.waiting = [];",
                "deleted file mode 100644",
                "-  return JSON.parse(text) as Entry[];",
            ],
        ),
    ]
}

fn listings() -> Vec<CorpusCase> {
    vec![
        ran(
            "ls -l",
            0,
            include_str!("texts/ls_l.txt"),
            "",
            &["code 0", "Cargo.toml", "38211", "drwxr-xr-x", "rustfmt.toml", "tests"],
        ),
        ran(
            "find",
            0,
            include_str!("texts/find.txt"),
            "",
            &["code 0", "./src/button.ts", "./src/net/http/", "./docs/reference/locale.md"],
        ),
        ran("wc", 0, include_str!("texts/wc_table.txt"), "", &["code 0", "388 src/reader.rs", "1272 total"]),
    ]
}

fn json_on_stdout() -> Vec<CorpusCase> {
    vec![
        ran(
            "a JSON object",
            0,
            include_str!("texts/json_object.txt"),
            "",
            &[
                "code 0",
                "harbour-api",
                "2.7.1",
                "healthy: false",
                "failing",
                "connect ETIMEDOUT 10.2.0.18:9200",
                "148",
                "c41d9be",
                "bulk-import",
            ],
        ),
        ran(
            "JSON lines",
            0,
            include_str!("texts/json_lines.txt"),
            "",
            &["code 0", "charge failed", "ord_9127", "card_declined"],
        ),
    ]
}

fn noise() -> Vec<CorpusCase> {
    vec![
        ran(
            "a progress bar",
            0,
            include_str!("texts/progress_bar.txt"),
            "",
            &[
                "code 0",
                "100%",
                "Indexed 1400 photos, 3 skipped: IMG_0419.CR3, IMG_1102.MOV, IMG_1377.CR3",
                "photos.idx (18.2 MB)",
            ],
        ),
        ran(
            "a linter in colour",
            1,
            include_str!("texts/colours.txt"),
            "",
            &[
                "code 1",
                "src/net/http/client.ts",
                "41:7",
                "'timeout' is assigned a value but never used",
                "src/ui/forms/field.ts",
                "12:1",
                "Promises must be awaited",
                "29:22",
                "4 problems (3 errors, 1 warning)",
            ],
        ),
        ran(
            "the same warning a hundred times",
            0,
            "",
            include_str!("texts/repeated_warnings.txt"),
            &[
                "code 0",
                "ld: warning: object file built for newer version (14.4) than being linked (13.0)",
                "59 identical lines",
                "src/codec/deflate.c:611: warning: 'window' may be used uninitialized",
                "linked build/codecd (4.1 MB)",
            ],
        ),
        ran(
            "a stack trace",
            1,
            "",
            include_str!("texts/stack_trace.txt"),
            &[
                "code 1",
                "Read 18,240 rows",
                "/work/report/summary.py\", line 29, in amount",
                "decimal.InvalidOperation",
                "row 9417: gross is '1.204,50', which is not a number",
            ],
        ),
    ]
}

fn ends() -> Vec<CorpusCase> {
    let log = log::service().into_bytes();
    let icon: Vec<u8> =
        [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &(0..=255).cycle().take(2_900).collect::<Vec<u8>>()].concat();
    vec![
        ran("nothing printed", 0, "", "", &["code 0", "no output"]),
        ran(
            "only errors printed",
            1,
            "",
            include_str!("texts/stderr_only.txt"),
            &[
                "code 1",
                "stderr",
                "'assets/logo@2x.png': No such file or directory",
                "'/usr/share/shelf/logo.png': Read-only file system",
            ],
        ),
        answered(
            "killed by a signal",
            "ExecCommand",
            json!({
                "disposition": "completed", "signal": "SIGSEGV", "stdout": stream("decoding clip-07.mkv\nframe 1182\n"),
                "stderr": stream(""), "sandbox": "bubblewrap", "duration_ms": 830,
            }),
            &["SIGSEGV", "clip-07.mkv", "frame 1182"],
        ),
        CorpusCase {
            artifacts: vec![("artifacts/icon-stdout.bin", icon.clone())],
            ..answered(
                "bytes that are no text",
                "ExecCommand",
                json!({
                    "disposition": "completed", "exit_status": 0, "stdout": kept("artifacts/icon-stdout.bin", &icon),
                    "stderr": stream(""), "sandbox": "bubblewrap", "duration_ms": 41,
                }),
                &["code 0", "artifacts/icon-stdout.bin", "2916 bytes"],
            )
        },
        CorpusCase {
            artifacts: vec![("artifacts/serve-stdout.log", log.clone())],
            ..answered(
                "a log of 5,000 lines",
                "ExecCommand",
                json!({
                    "disposition": "completed", "exit_status": 1, "stdout": kept("artifacts/serve-stdout.log", &log),
                    "stderr": stream(""), "sandbox": "bubblewrap", "duration_ms": 9_120,
                }),
                &[
                    "code 1",
                    "artifacts/serve-stdout.log",
                    "5000 lines",
                    "artifact_read",
                    "ERROR worker 7: cannot write batch 118: no space left on device (/var/spool/harbour)",
                    "stopped after 4999 messages, 1 batch lost",
                ],
            )
        },
        answered(
            "a server that goes on",
            "ExecCommand",
            json!({
                "disposition": "promoted_to_task", "task_id": "task_3",
                "stdout": stream(include_str!("texts/server_start.txt")), "stderr": stream(""),
                "sandbox": "bubblewrap", "duration_ms": 10_000,
            }),
            &["background task", "task_3", "http://localhost:5173/", "ready in 412 ms"],
        ),
    ]
}
