//! `cargo xtask test`: runs the stages in order, prints the duration of each, and stops at the first failure.

use std::time::Duration;

use crate::command::{ToolCommand, timed};
use crate::requirements::{has_nextest, install_missing};
use crate::test_log::TestLog;
use crate::tidy::{self, TidyMode};

/// Slow tests (crashes at random moments, large plans) run if this variable is set.
const SLOW_TESTS: (&str, &str) = ("RUN_SLOW_TESTS", "1");

/// Seed of the property tests. It is fixed, so that no change fails by chance; set the variable to search further.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

/// A target without the Linux sandbox: commands are refused there, and the code that refuses them has to compile.
const OTHER_TARGET: &str = "x86_64-apple-darwin";

/// Crates that are checked for [`OTHER_TARGET`]. The others (app, backend, http-edge, mcp-client, mcp-server, responses,
/// tollgate) depend on `ring`, which needs a C compiler for the target.
const PORTABLE_CRATES: [&str; 13] = [
    "call-session",
    "command-line",
    "engine",
    "envelope",
    "host",
    "journal",
    "notes",
    "plan",
    "receipts",
    "sentinel",
    "shell",
    "toolkit",
    "vault",
];

/// Crates with a platform module. `--cfg tollgate_portable` selects its portable half on Linux.
const PLATFORM_CRATES: [&str; 4] = ["vault", "journal", "shell", "backend"];
const PORTABLE_CFG: &[(&str, &str)] = &[("RUSTFLAGS", "--cfg tollgate_portable")];
/// A target folder of its own, so that the flags do not rebuild everything twice.
const PORTABLE_TARGET_DIR: &str = "target/portable";

/// Modules of tollgate's integration tests that run on the release build: the properties of commands, and how soon they
/// end, are promised for the binary that people build.
const RELEASE_TEST_MODULES: [&str; 4] = ["commands", "exec_cases", "fork_bombs", "hundred_commands"];

/// Selects the binary that these tests start.
const RELEASE: &[(&str, &str)] = &[("TOLLGATE_BUILD", "release")];

/// Number of slowest tests in the summary.
const LISTED_SLOWEST: usize = 5;

/// A stage: its name, and the command that repeats it alone.
struct TestStage {
    name: &'static str,
    repeat: ToolCommand,
    work: StageWork,
}

enum StageWork {
    /// Runs the command.
    Command,
    /// Runs the command and reads the time and the retries of each test from its output.
    LoggedTests,
    /// Runs tidy in this process, which is already built.
    Tidy,
}

impl TestStage {
    fn run(&self, log: &mut TestLog) -> anyhow::Result<bool> {
        match self.work {
            StageWork::Command => self.repeat.run(),
            StageWork::LoggedTests => self.repeat.run_reading(|line| {
                eprintln!("{line}");
                log.read_line(line);
            }),
            StageWork::Tidy => tidy::tidy(TidyMode::Check),
        }
    }
}

pub(crate) fn test() -> anyhow::Result<bool> {
    install_missing()?;
    let mut log = TestLog::default();
    let mut done: Vec<(&str, Duration)> = Vec::new();
    for stage in stages() {
        println!("==> {}: {}", stage.name, stage.repeat);
        let (outcome, took) = timed(|| stage.run(&mut log));
        if !outcome? {
            println!(
                "\nFAILED: {} after {}. Repeat it with:\n    {}",
                stage.name,
                seconds(took),
                stage.repeat
            );
            return Ok(false);
        }
        println!("    {} passed in {}\n", stage.name, seconds(took));
        done.push((stage.name, took));
    }
    print!("{}", log.report(LISTED_SLOWEST));
    println!("All stages passed:");
    for (name, took) in &done {
        println!("  {name:<8} {:>9}", seconds(*took));
    }
    println!("  {:<8} {:>9}", "in all", seconds(done.iter().map(|(_, took)| *took).sum()));
    Ok(true)
}

fn stages() -> Vec<TestStage> {
    let nextest = has_nextest();
    let mut stages = vec![
        TestStage {
            name: "format",
            repeat: ToolCommand::new(&["cargo", "fmt", "--all", "--check"]),
            work: StageWork::Command,
        },
        TestStage {
            name: "clippy",
            repeat: ToolCommand::new(&[
                "cargo",
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ]),
            work: StageWork::Command,
        },
        TestStage {
            name: "tidy",
            repeat: ToolCommand::new(&["cargo", "xtask", "tidy"]),
            work: StageWork::Tidy,
        },
        portable_code(),
    ];
    stages.extend(other_target());
    stages.extend([
        tests(nextest),
        TestStage {
            name: "release",
            repeat: ToolCommand::new(&["cargo", "build", "--release"]),
            work: StageWork::Command,
        },
        release_tests(nextest),
    ]);
    stages
}

/// Compiles the portable half of each platform module, which no other stage builds on Linux.
fn portable_code() -> TestStage {
    let mut words = vec!["cargo", "check", "--target-dir", PORTABLE_TARGET_DIR];
    words.extend(PLATFORM_CRATES.iter().flat_map(|krate| ["-p", krate]));
    TestStage {
        name: "portable",
        repeat: ToolCommand::new(&words).env(PORTABLE_CFG),
        work: StageWork::Command,
    }
}

/// Compiles for a system without a sandbox, if its standard library can be installed.
fn other_target() -> Option<TestStage> {
    if !ToolCommand::new(&["rustup", "target", "add", OTHER_TARGET]).works() {
        println!("Skipped: the check for {OTHER_TARGET}, whose standard library cannot be installed here\n");
        return None;
    }
    let mut words = vec!["cargo", "clippy", "--target", OTHER_TARGET];
    words.extend(PORTABLE_CRATES.iter().flat_map(|krate| ["-p", krate]));
    words.extend(["--", "-D", "warnings"]);
    Some(TestStage { name: "others", repeat: ToolCommand::new(&words), work: StageWork::Command })
}

/// All tests but those of the release build. A failure does not stop the others: one run names everything that is broken.
fn tests(nextest: bool) -> TestStage {
    let others = format!("not ({})", release_filter());
    let (words, work): (&[&str], StageWork) = if nextest {
        (&["cargo", "nextest", "run", "--workspace", "--no-fail-fast", "-E", &others], StageWork::LoggedTests)
    } else {
        (&["cargo", "test", "--workspace", "--no-fail-fast"], StageWork::Command)
    };
    TestStage {
        name: "tests",
        repeat: ToolCommand::new(words).env(environment(std::env::var_os(SEED.0).is_some())),
        work,
    }
}

/// The tests of commands, on the binary that the stage before has built.
fn release_tests(nextest: bool) -> TestStage {
    let filter = release_filter();
    let modules = RELEASE_TEST_MODULES.map(|module| format!("{module}::"));
    let (words, work) = if nextest {
        let words = vec!["cargo", "nextest", "run", "-p", "tollgate", "--no-fail-fast", "-E", &filter];
        (words, StageWork::LoggedTests)
    } else {
        let mut words = vec!["cargo", "test", "-p", "tollgate", "--test", "it", "--no-fail-fast", "--"];
        words.extend(modules.iter().map(String::as_str));
        (words, StageWork::Command)
    };
    TestStage { name: "commands", repeat: ToolCommand::new(&words).env(RELEASE), work }
}

/// The filter of nextest for [`RELEASE_TEST_MODULES`].
fn release_filter() -> String {
    let modules = RELEASE_TEST_MODULES.join("|");
    format!("package(tollgate) and binary(it) and test(/^({modules})::/)")
}

/// Variables of the tests. A seed that is set already is passed on as it is.
fn environment(seeded: bool) -> &'static [(&'static str, &'static str)] {
    if seeded { &[SLOW_TESTS] } else { &[SLOW_TESTS, SEED] }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{
        PLATFORM_CRATES, PORTABLE_CRATES, RELEASE_TEST_MODULES, environment, release_filter, release_tests,
        tests,
    };
    use crate::command::root;

    #[test]
    fn property_tests_begin_at_the_same_place_unless_another_is_given() {
        assert_eq!(environment(false), [("RUN_SLOW_TESTS", "1"), ("PROPTEST_RNG_SEED", "1")]);
        assert_eq!(environment(true), [("RUN_SLOW_TESTS", "1")]);
        assert!(tests(true).repeat.to_string().starts_with("RUN_SLOW_TESTS=1 "));
    }

    /// Each test runs in one of the two stages.
    #[test]
    fn what_is_left_out_of_one_stage_is_run_by_another() {
        let filter = release_filter();
        let (all, release) = (tests(true).repeat.to_string(), release_tests(true).repeat.to_string());
        assert!(all.contains(&format!("not ({filter})")) && release.contains(&filter), "{all}\n{release}");
        let plain = release_tests(false).repeat.to_string();
        for module in RELEASE_TEST_MODULES {
            assert!(filter.contains(module) && plain.contains(&format!(" {module}::")), "{filter}\n{plain}");
            assert!(root().join(format!("crates/tollgate/tests/it/{module}.rs")).is_file(), "{module}");
        }
        assert!(
            !tests(false).repeat.to_string().contains("not ("),
            "without a filter there is nothing to leave out"
        );
    }

    #[test]
    fn every_checked_crate_exists() {
        for krate in PORTABLE_CRATES.iter().chain(&PLATFORM_CRATES) {
            assert!(root().join("crates").join(krate).join("Cargo.toml").is_file(), "{krate}");
        }
    }
}
