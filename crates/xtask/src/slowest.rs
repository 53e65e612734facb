//! Finds the slowest tests in what nextest prints.
//!
//! `cargo test` prints no time for a test on a stable toolchain, so without nextest there is nothing to find.

use std::fmt::Write as _;

/// The tests seen so far, with their seconds.
#[derive(Debug, Default)]
pub(crate) struct Slowest {
    seen: Vec<(f64, String)>,
}

impl Slowest {
    /// Takes note of a line such as `PASS [   0.012s] (  3/120) plan::machine retries_are_bounded`.
    pub(crate) fn read_line(&mut self, line: &str) {
        let Some((verdict, rest)) = line.trim_start().split_once(" [") else { return };
        if !matches!(verdict.trim_end(), "PASS" | "FAIL" | "LEAK") {
            return;
        }
        let Some((seconds, name)) = rest.split_once("s]") else { return };
        let Ok(seconds) = seconds.trim().parse() else { return };
        let name = name.trim_start();
        // The running count is there since nextest 0.9.95; older ones go straight to the name.
        let name = match name.strip_prefix('(').and_then(|counted| counted.split_once(") ")) {
            Some((_, name)) => name,
            None => name,
        };
        self.seen.push((seconds, name.trim().to_owned()));
    }

    /// The slowest first, as many as asked for; empty when no time was seen.
    pub(crate) fn report(mut self, count: usize) -> String {
        if self.seen.is_empty() {
            return String::new();
        }
        self.seen.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut text = String::from("Slowest tests:\n");
        for (seconds, name) in self.seen.iter().take(count) {
            let _ = writeln!(text, "  {seconds:>8.3} s  {name}");
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::Slowest;

    #[test]
    fn the_slowest_tests_come_first() {
        let mut slowest = Slowest::default();
        for line in [
            "    Starting 3 tests across 2 binaries",
            "        PASS [   0.012s] (  1/3) envelope hash::tests::the_printed_form_is_the_only_spelling",
            "        SLOW [> 10.000s]         engine::crash a_killed_run_resumes",
            "        PASS [  12.500s] (  2/3) engine::crash a_killed_run_resumes",
            "        PASS [   0.500s] plan::machine a_line_of_an_older_nextest",
            "     Summary [  12.600s] 3 tests run: 3 passed, 0 skipped",
        ] {
            slowest.read_line(line);
        }
        expect![[r"
            Slowest tests:
                12.500 s  engine::crash a_killed_run_resumes
                 0.500 s  plan::machine a_line_of_an_older_nextest

        "]]
        .assert_eq(&slowest.report(2));
    }

    #[test]
    fn without_times_nothing_is_said() {
        let mut slowest = Slowest::default();
        slowest.read_line("test hash::tests::the_printed_form_is_the_only_spelling ... ok");
        assert_eq!(slowest.report(5), "");
    }
}
