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

/// A system that has none of the walls of Linux: commands are refused there, and what refuses them has to compile.
const ELSEWHERE: &str = "x86_64-apple-darwin";

/// Test files of `tollgate` that are run on the release build: what they prove about commands, and about how soon they
/// end, is promised of the binary that people build.
const ON_RELEASE: [&str; 4] = ["commands", "exec_cases", "fork_bombs", "hundred_commands"];

/// Which build those files look for.
const RELEASE: &[(&str, &str)] = &[("TOLLGATE_BUILD", "release")];

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

fn stages() -> Vec<Stage> {
    let nextest = has_nextest();
    let mut stages = vec![
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
    ];
    stages.extend(elsewhere());
    stages.extend([
        tests(nextest),
        Stage { name: "release", repeat: Shown::new(&["cargo", "build", "--release"]), work: Work::Command },
        release_tests(nextest),
    ]);
    stages
}

/// Compiles the commands for a system without walls, where its standard library can be had.
fn elsewhere() -> Option<Stage> {
    if !Shown::new(&["rustup", "target", "add", ELSEWHERE]).works() {
        println!(
            "Skipped: whether commands compile for {ELSEWHERE}, whose standard library cannot be had here\n"
        );
        return None;
    }
    let words = ["cargo", "clippy", "-p", "shell", "--target", ELSEWHERE, "--", "-D", "warnings"];
    Some(Stage { name: "others", repeat: Shown::new(&words), work: Work::Command })
}

/// All tests, also after one has failed: one run names everything that is broken.
fn tests(nextest: bool) -> Stage {
    let later = format!("not (package(tollgate) and binary(/^({})$/))", ON_RELEASE.join("|"));
    let (words, work): (&[&str], Work) = if nextest {
        (&["cargo", "nextest", "run", "--workspace", "--no-fail-fast", "-E", &later], Work::TimedTests)
    } else {
        (&["cargo", "test", "--workspace", "--no-fail-fast"], Work::Command)
    };
    Stage {
        name: "tests",
        repeat: Shown::new(words).env(environment(std::env::var_os(SEED.0).is_some())),
        work,
    }
}

/// The tests about commands, on the binary that the stage before has built.
fn release_tests(nextest: bool) -> Stage {
    let (mut words, work) = if nextest {
        (vec!["cargo", "nextest", "run", "-p", "tollgate", "--no-fail-fast"], Work::TimedTests)
    } else {
        (vec!["cargo", "test", "-p", "tollgate", "--no-fail-fast"], Work::Command)
    };
    words.extend(ON_RELEASE.iter().flat_map(|file| ["--test", file]));
    Stage { name: "commands", repeat: Shown::new(&words).env(RELEASE), work }
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
    use super::{ON_RELEASE, environment, release_tests, tests};
    use crate::command::root;

    #[test]
    fn property_tests_begin_at_the_same_place_unless_another_is_given() {
        assert_eq!(environment(false), [("RUN_SLOW_TESTS", "1"), ("PROPTEST_RNG_SEED", "1")]);
        assert_eq!(environment(true), [("RUN_SLOW_TESTS", "1")]);
        assert!(tests(true).repeat.to_string().starts_with("RUN_SLOW_TESTS=1 "));
    }

    /// Whichever build they are run on, they are run.
    #[test]
    fn what_is_left_out_of_one_stage_is_run_by_another() {
        let (all, release) = (tests(true).repeat.to_string(), release_tests(true).repeat.to_string());
        for file in ON_RELEASE {
            assert!(all.contains(file) && release.contains(&format!("--test {file}")), "{all}\n{release}");
            assert!(root().join(format!("crates/tollgate/tests/{file}.rs")).is_file(), "{file}");
        }
        assert!(
            !tests(false).repeat.to_string().contains("not ("),
            "without a filter there is nothing to leave out"
        );
    }
}
