//! Reads the output of nextest: the time of each test, and the tests that passed only on a retry.
//!
//! `cargo test` prints no time for a test on a stable toolchain and has no retries, so without nextest the log is empty.

use std::fmt::Write as _;

/// The tests seen so far.
#[derive(Debug, Default)]
pub(crate) struct TestLog {
    times: Vec<(f64, String)>,
    /// Tests that failed first and passed on a retry, with the number of the try that passed: `2/3`.
    retried: Vec<(String, String)>,
}

impl TestLog {
    /// Records a line such as `PASS [   0.012s] (  3/120) plan::machine retries_are_bounded`.
    pub(crate) fn read_line(&mut self, line: &str) {
        let Some((verdict, rest)) = line.trim_start().split_once(" [") else { return };
        let Some((time, name)) = rest.split_once("s]") else { return };
        let name = test_name(name);
        let verdict = verdict.trim_end();
        if let Some(tries) = verdict.strip_prefix("FLAKY") {
            let entry = (name, tries.trim().to_owned());
            // Printed when the test ends, and once more in the summary of nextest.
            if !self.retried.contains(&entry) {
                self.retried.push(entry);
            }
        } else if matches!(verdict, "PASS" | "FAIL" | "LEAK")
            && let Ok(time) = time.trim().parse()
        {
            self.times.push((time, name));
        }
    }

    /// Returns the tests that passed only on a retry, and the slowest tests, as many as asked for. Empty if no test was
    /// seen.
    pub(crate) fn report(mut self, count: usize) -> String {
        let mut text = String::new();
        if !self.retried.is_empty() {
            text.push_str("Passed only on a retry:\n");
            for (name, tries) in &self.retried {
                let _ = writeln!(text, "  try {tries}  {name}");
            }
            text.push('\n');
        }
        if self.times.is_empty() {
            return text;
        }
        self.times.sort_by(|a, b| b.0.total_cmp(&a.0));
        text.push_str("Slowest tests:\n");
        for (seconds, name) in self.times.iter().take(count) {
            let _ = writeln!(text, "  {seconds:>8.3} s  {name}");
        }
        text.push('\n');
        text
    }
}

/// The name without the running count, which nextest prints since 0.9.95.
fn test_name(text: &str) -> String {
    let text = text.trim();
    match text.strip_prefix('(').and_then(|counted| counted.split_once(") ")) {
        Some((_, name)) => name.trim().to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::TestLog;

    #[test]
    fn the_slowest_tests_come_first() {
        let mut log = TestLog::default();
        for line in [
            "    Starting 3 tests across 2 binaries",
            "        PASS [   0.012s] (  1/3) envelope hash::tests::the_printed_form_is_the_only_spelling",
            "        SLOW [> 10.000s]         engine::crash a_killed_run_resumes",
            "        PASS [  12.500s] (  2/3) engine::crash a_killed_run_resumes",
            "        PASS [   0.500s] plan::machine a_line_of_an_older_nextest",
            "     Summary [  12.600s] 3 tests run: 3 passed, 0 skipped",
        ] {
            log.read_line(line);
        }
        expect![[r"
            Slowest tests:
                12.500 s  engine::crash a_killed_run_resumes
                 0.500 s  plan::machine a_line_of_an_older_nextest

        "]]
        .assert_eq(&log.report(2));
    }

    #[test]
    fn a_test_that_passed_only_on_a_retry_is_named_once() {
        let mut log = TestLog::default();
        for line in [
            "  TRY 1 FAIL [   0.012s] (  1/2) tollgate::it mcp_clients::suites::both_suites_pass",
            "  TRY 2 PASS [   0.013s] (  1/2) tollgate::it mcp_clients::suites::both_suites_pass",
            "   FLAKY 2/3 [   0.013s] (  1/2) tollgate::it mcp_clients::suites::both_suites_pass",
            "     Summary [   0.100s] 2 tests run: 2 passed (1 flaky), 0 skipped",
            "   FLAKY 2/3 [   0.013s] tollgate::it mcp_clients::suites::both_suites_pass",
        ] {
            log.read_line(line);
        }
        expect![[r"
            Passed only on a retry:
              try 2/3  tollgate::it mcp_clients::suites::both_suites_pass

        "]]
        .assert_eq(&log.report(5));
    }

    #[test]
    fn without_times_nothing_is_said() {
        let mut log = TestLog::default();
        log.read_line("test hash::tests::the_printed_form_is_the_only_spelling ... ok");
        assert_eq!(log.report(5), "");
    }
}
