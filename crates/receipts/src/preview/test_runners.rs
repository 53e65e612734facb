//! Recognises the lines of test runners about passing tests, and of build tools about their steps.
//!
//! Only exact forms are recognised. All other lines, above all failures and summaries, are kept. Skipped and
//! ignored tests do not count as passing.

/// Report of a line about passing tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassedReport {
    Tests(u64),
    /// A whole file or package; the line does not count its tests.
    File,
    /// The line only announces the start of a test (`=== RUN`).
    Begins,
}

/// Recognises the test reports of one text.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunnerDetector {
    /// Build tools and installers also print ticks, so a tick counts only if the text has a test summary.
    ticks_are_tests: bool,
}

impl RunnerDetector {
    pub(super) fn of(lines: &[&str]) -> RunnerDetector {
        RunnerDetector { ticks_are_tests: lines.iter().any(|line| sums_up_ticks(line)) }
    }

    /// Returns the report of a line that announces only success.
    pub(super) fn passed(self, line: &str) -> Option<PassedReport> {
        let text = line.trim();
        match text.as_bytes().first()? {
            0xe2 if self.ticks_are_tests => ticked(text),
            0xe2 => None,
            first => passed_in_words(text, *first),
        }
    }
}

/// Recognises test summaries. jest and vitest: `Tests:  1 failed`, `Test Files  2 passed`. mocha: `2 passing`.
/// node: `ℹ tests 3`. bats: `3 tests, 0 failures`.
fn sums_up_ticks(line: &str) -> bool {
    let text = line.trim_start();
    match text.as_bytes().first() {
        Some(b'T') => {
            ["Tests:", "Tests  ", "Test Suites:", "Test Files  "].iter().any(|start| text.starts_with(start))
        }
        Some(b'0'..=b'9') => text.split(' ').nth(1) == Some("passing") || text.contains(" tests, "),
        Some(0xe2) => text.starts_with("ℹ tests "),
        Some(_) | None => false,
    }
}

fn passed_in_words(text: &str, first: u8) -> Option<PassedReport> {
    match first {
        // cargo test: `test a::b ... ok`. unittest: `test_x (a.B.test_x) ... ok`.
        b't' if text.starts_with("test") && text.ends_with(" ... ok") => Some(PassedReport::Tests(1)),
        // deno: `name ... ok (5ms)`.
        _ if text.ends_with("s)") && text.contains(" ... ok (") => Some(PassedReport::Tests(1)),
        b'P' => passed_in_capitals(text),
        b'-' => text.starts_with("--- PASS: ").then_some(PassedReport::Tests(1)),
        b'=' => ["=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "]
            .iter()
            .any(|start| text.starts_with(start))
            .then_some(PassedReport::Begins),
        b'o' => ok_line(text),
        _ => pytest(text),
    }
}

/// nextest: `PASS [   0.005s] crate test`. jest: `PASS src/a.test.ts`. automake: `PASS: name`.
/// dotnet: `PassedReport Name [3 ms]`.
fn passed_in_capitals(text: &str) -> Option<PassedReport> {
    if text.starts_with("PASS: ") {
        return Some(PassedReport::Tests(1));
    }
    if let Some(rest) = text.strip_prefix("PASS ") {
        let rest = rest.trim_start();
        return Some(if rest.starts_with('[') { PassedReport::Tests(1) } else { PassedReport::File });
    }
    (text.starts_with("Passed ") && text.ends_with(']')).then_some(PassedReport::Tests(1))
}

/// go: `ok`, a tab, the package, its time. TAP: `ok 3 - name`, unless it was skipped or is still to do.
fn ok_line(text: &str) -> Option<PassedReport> {
    let rest = text.strip_prefix("ok")?;
    if rest.starts_with("  \t") || rest.starts_with('\t') {
        return Some(PassedReport::File);
    }
    let rest = rest.strip_prefix(' ')?;
    let skipped = rest.contains("# SKIP") || rest.contains("# TODO") || rest.contains("# skip");
    (rest.starts_with(|c: char| c.is_ascii_digit()) && !skipped).then_some(PassedReport::Tests(1))
}

/// jest, vitest, mocha, node: a tick and the name. vitest adds the number of tests in a file.
fn ticked(text: &str) -> Option<PassedReport> {
    let name = ["✓ ", "✔ ", "√ "].iter().find_map(|tick| text.strip_prefix(tick))?;
    let in_file =
        name.split_once(" (").and_then(|(_, rest)| rest.split_once(" test")).and_then(|(count, after)| {
            (after.starts_with(')') || after.starts_with("s)")).then(|| count.parse().ok()).flatten()
        });
    Some(PassedReport::Tests(in_file.unwrap_or(1)))
}

/// `a.py::test_x PASSED [ 10%]`, `[gw0] [ 10%] PASSED a.py::test_x`, or `a.py ..... [ 10%]` with dots only.
fn pytest(text: &str) -> Option<PassedReport> {
    // Nearly every line of every log reaches this point, and nearly all fail this check.
    if !matches!(text.as_bytes().last(), Some(b']' | b'D' | b'.')) && !text.starts_with("[gw") {
        return None;
    }
    let body = match text.strip_suffix("%]") {
        Some(rest) => {
            rest.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ').strip_suffix('[')?.trim_end()
        }
        None => text,
    };
    if body.contains("::")
        && (body.ends_with(" PASSED") || (body.starts_with("[gw") && body.contains("] PASSED ")))
    {
        return Some(PassedReport::Tests(1));
    }
    let (file, marks) = body.rsplit_once(' ')?;
    let dots = !marks.is_empty() && marks.bytes().all(|mark| mark == b'.');
    (dots && file.ends_with(".py")).then_some(PassedReport::Tests(marks.len() as u64))
}

/// A group of similar lines of a build tool. Two lines of one group have the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BuilderStep(u8);

impl BuilderStep {
    /// Cargo's lines name crates, and `Compiling thiserror v2.0.1` is not an error.
    pub(super) fn names_only(self) -> bool {
        self.0 == 0
    }
}

const CHORES: [(u8, &str); 30] = [
    (0, "Compiling "),
    (0, "Checking "),
    (0, "Downloaded "),
    (0, "Fresh "),
    (0, "Adding "),
    (0, "Documenting "),
    (1, "Downloading crates"),
    (2, "npm warn "),
    (2, "npm WARN "),
    (3, "npm http fetch "),
    (4, "Collecting "),
    (4, "Downloading "),
    (4, "Using cached "),
    (5, "Requirement already satisfied: "),
    (6, "go: downloading "),
    (7, "Get:"),
    (7, "Hit:"),
    (8, "Selecting previously unselected package "),
    (8, "Preparing to unpack "),
    (8, "Unpacking "),
    (9, "Setting up "),
    (10, "Downloading from "),
    (10, "Downloaded from "),
    (10, "[INFO] Download"),
    (11, "Building C"),
    (12, "remote: Counting objects"),
    (12, "remote: Compressing objects"),
    (12, "Receiving objects: "),
    (12, "Resolving deltas: "),
    (13, "CC "),
];

/// Returns the group of build steps that the line belongs to.
pub(super) fn builder_step(line: &str) -> Option<BuilderStep> {
    let mut text = line.trim_start();
    // ninja and cmake print a counter in brackets first: `[12/300] `, `[ 10%] `.
    if text.starts_with('[')
        && let Some((count, rest)) = text.split_once("] ")
        && count[1..].bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'/' | b'%' | b' '))
    {
        text = rest;
    }
    let first = *text.as_bytes().first()?;
    let &(group, _) =
        CHORES.iter().filter(|(_, start)| start.as_bytes()[0] == first).find(|(group, start)| {
            text.starts_with(start) && (*group != 0 || text.split(' ').nth(2).is_some_and(is_version))
        })?;
    Some(BuilderStep(group))
}

fn is_version(word: &str) -> bool {
    word.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
