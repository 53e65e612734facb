//! `cargo xtask test`: the stages in order, each with its duration, stopping at the first that fails.

use std::time::Duration;

use crate::command::{Shown, timed};
use crate::requirements::{has_nextest, install_missing};
use crate::slowest::Slowest;
use crate::tidy::{self, Mode};

/// Tests that take long (crashes at random moments, large plans) look for this.
const SLOW_TESTS: (&str, &str) = ("RUN_SLOW_TESTS", "1");

/// Where property tests begin: always at the same place, so that no change fails by luck. Whoever wants to look
/// further gives another number.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

/// How many of the slowest tests are named at the end.
const NAMED_SLOWEST: usize = 5;

/// One stage: what it is called and how to repeat it alone.
struct Stage {
    name: &'static str,
    repeat: Shown,
    work: Work,
}

enum Work {
    /// Runs the command as it is shown.
    Command,
    /// Runs it and notes the time of each test.
    TimedTests,
    /// Runs tidy in this process, which is already built.
    Tidy,
}

impl Stage {
    fn run(&self, slowest: &mut Slowest) -> anyhow::Result<bool> {
        match self.work {
            Work::Command => self.repeat.run(),
            Work::TimedTests => self.repeat.run_reading(|line| {
                eprintln!("{line}");
                slowest.read_line(line);
            }),
            Work::Tidy => tidy::tidy(Mode::Check),
        }
    }
}

pub(crate) fn test() -> anyhow::Result<bool> {
    install_missing()?;
    let mut slowest = Slowest::default();
    let mut done: Vec<(&str, Duration)> = Vec::new();
    for stage in stages() {
        println!("==> {}: {}", stage.name, stage.repeat);
        let (outcome, took) = timed(|| stage.run(&mut slowest));
        if !outcome? {
            println!("\nFAILED: {} after {}. Repeat it with:\n    {}", stage.name, shown(took), stage.repeat);
            return Ok(false);
        }
        println!("    {} passed in {}\n", stage.name, shown(took));
        done.push((stage.name, took));
    }
    print!("{}", slowest.report(NAMED_SLOWEST));
    println!("All stages passed:");
    for (name, took) in &done {
        println!("  {name:<8} {:>9}", shown(*took));
    }
    println!("  {:<8} {:>9}", "in all", shown(done.iter().map(|(_, took)| *took).sum()));
    Ok(true)
}

fn stages() -> [Stage; 4] {
    [
        Stage {
            name: "format",
            repeat: Shown::new(&["cargo", "fmt", "--all", "--check"]),
            work: Work::Command,
        },
        Stage {
            name: "clippy",
            repeat: Shown::new(&["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
            work: Work::Command,
        },
        Stage { name: "tidy", repeat: Shown::new(&["cargo", "xtask", "tidy"]), work: Work::Tidy },
        tests(),
    ]
}

/// All tests, also after one has failed: one run names everything that is broken.
fn tests() -> Stage {
    let (words, work): (&[&str], Work) = if has_nextest() {
        (&["cargo", "nextest", "run", "--workspace", "--no-fail-fast"], Work::TimedTests)
    } else {
        (&["cargo", "test", "--workspace", "--no-fail-fast"], Work::Command)
    };
    Stage {
        name: "tests",
        repeat: Shown::new(words).env(environment(std::env::var_os(SEED.0).is_some())),
        work,
    }
}

/// What the tests are told. A seed that was given is passed on as it is.
fn environment(seeded: bool) -> &'static [(&'static str, &'static str)] {
    if seeded { &[SLOW_TESTS] } else { &[SLOW_TESTS, SEED] }
}

fn shown(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{environment, tests};

    #[test]
    fn property_tests_begin_at_the_same_place_unless_another_is_given() {
        assert_eq!(environment(false), [("RUN_SLOW_TESTS", "1"), ("PROPTEST_RNG_SEED", "1")]);
        assert_eq!(environment(true), [("RUN_SLOW_TESTS", "1")]);
        assert!(tests().repeat.to_string().starts_with("RUN_SLOW_TESTS=1 "));
    }
}
