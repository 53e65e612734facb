//! Forbids words in the sources of a crate where a dependency rule is not enough: the standard library gives every
//! crate files, processes, clocks and an environment.

use super::problem::TidyProblem;
use super::tree::{SourceTree, code_lines, crate_of};

struct ForbiddenWords {
    crates: &'static [&'static str],
    words: &'static [&'static str],
    fix: &'static str,
}

const ABSENCES: [ForbiddenWords; 7] = [
    ForbiddenWords {
        crates: &["envelope", "plan", "command-line", "notes", "sentinel"],
        words: &["std::fs", "std::net", "std::thread"],
        fix: "this crate does no I/O; take the bytes as a parameter",
    },
    ForbiddenWords {
        crates: &["envelope", "plan", "notes", "journal"],
        words: &["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now"],
        fix: "take the time as a parameter, or a replay cannot repeat it",
    },
    // Not `engine`: it passes a part of the environment to the processes of hooks.
    ForbiddenWords {
        crates: &[
            "envelope",
            "plan",
            "journal",
            "toolkit",
            "receipts",
            "command-line",
            "notes",
            "vault",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
        ],
        words: &["env::var", "env::current_dir", "env::home_dir"],
        fix: "settings come from outside; take them as a parameter",
    },
    ForbiddenWords {
        crates: &[
            "envelope",
            "plan",
            "journal",
            "toolkit",
            "receipts",
            "command-line",
            "notes",
            "engine",
            "vault",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
        ],
        words: &["Uuid::now_v7", "Uuid::new_v4"],
        fix: "ids come from outside; take them as a parameter, or a replay cannot repeat them",
    },
    // The time of day appears in answers, so it is a parameter; durations are measured with tokio's clock.
    ForbiddenWords {
        crates: &["backend", "http-edge", "sentinel", "responses", "mcp-server", "call-session"],
        words: &["SystemTime::now", "Timestamp::now", "Zoned::now"],
        fix: "take the time of day as a parameter, or an answer cannot be repeated",
    },
    ForbiddenWords {
        crates: &[
            "envelope",
            "plan",
            "journal",
            "toolkit",
            "receipts",
            "command-line",
            "notes",
            "vault",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
        ],
        words: &["process::Command"],
        fix: "this crate starts no process",
    },
    ForbiddenWords {
        crates: &["app"],
        words: &[
            " println!",
            "process::exit",
            "ExitCode",
            "IsTerminal",
            "termios",
            "io::stdin",
            "io::stdout",
            "io::stderr",
            "process::Command",
            "env::args",
        ],
        fix: "this crate has no terminal and no exit codes; return a value, and let the front end show it",
    },
];

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for (path, text) in tree.sources() {
        let Some(krate) = crate_of(path) else { continue };
        if !path.starts_with(&format!("crates/{krate}/src/")) {
            continue;
        }
        for absence in ABSENCES.iter().filter(|absence| absence.crates.contains(&krate)) {
            for (line, code) in code_lines(text) {
                for word in absence.words.iter().filter(|word| code.contains(**word)) {
                    problems.push(TidyProblem::line(
                        path,
                        line,
                        format!("`{word}` in `{krate}`"),
                        absence.fix,
                    ));
                }
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::check;
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    #[test]
    fn a_clock_in_a_pure_crate_is_found_and_one_in_a_comment_or_a_test_is_not() {
        let source = "// no Instant::now here\nlet now = Timestamp::now();\n#[cfg(test)]\nmod tests { std::fs::read }\n";
        let tree = SourceTree::of(&[
            ("crates/plan/src/order.rs", source),
            ("crates/plan/tests/order.rs", "std::fs::read"),
            ("crates/vault/src/lib.rs", "std::process::Command::new"),
            ("crates/tollgate/src/main.rs", source),
        ]);
        expect![[r"
            crates/plan/src/order.rs:2: `Timestamp::now` in `plan`: take the time as a parameter, or a replay cannot repeat it
            crates/vault/src/lib.rs:1: `process::Command` in `vault`: this crate starts no process
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
