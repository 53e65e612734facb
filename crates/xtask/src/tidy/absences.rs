//! Words that must not occur in the sources of a crate, where a dependency rule cannot say it: the standard
//! library has files, processes, clocks and an environment for everyone.

use super::problem::Problem;
use super::tree::{Tree, code_lines, crate_of};

struct Absence {
    crates: &'static [&'static str],
    words: &'static [&'static str],
    mend: &'static str,
}

const ABSENCES: [Absence; 6] = [
    Absence {
        crates: &["envelope", "plan"],
        words: &["std::fs", "std::net", "std::thread"],
        mend: "this crate does no I/O; take the bytes as a parameter",
    },
    Absence {
        crates: &["envelope", "plan", "journal"],
        words: &["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now"],
        mend: "take the time as a parameter, or a replay cannot repeat it",
    },
    // Not `engine`: it hands a hook's process the part of the environment that the process may see.
    Absence {
        crates: &["envelope", "plan", "journal", "toolkit", "vault", "backend", "gateway"],
        words: &["env::var", "env::current_dir", "env::home_dir"],
        mend: "settings come from outside; take them as a parameter",
    },
    Absence {
        crates: &["envelope", "plan", "journal", "toolkit", "engine", "vault", "backend", "gateway"],
        words: &["Uuid::now_v7", "Uuid::new_v4"],
        mend: "ids come from outside; take them as a parameter, or a replay cannot repeat them",
    },
    // The time of day goes into answers, so it comes from outside; how long something takes is tokio's to tell.
    Absence {
        crates: &["backend", "gateway"],
        words: &["SystemTime::now", "Timestamp::now", "Zoned::now"],
        mend: "take the time of day as a parameter, or an answer cannot be repeated",
    },
    Absence {
        crates: &["envelope", "plan", "journal", "toolkit", "vault", "gateway"],
        words: &["process::Command"],
        mend: "this crate starts no process",
    },
];

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.sources() {
        let Some(krate) = crate_of(path) else { continue };
        if !path.starts_with(&format!("crates/{krate}/src/")) {
            continue;
        }
        for absence in ABSENCES.iter().filter(|absence| absence.crates.contains(&krate)) {
            for (line, code) in code_lines(text) {
                for word in absence.words.iter().filter(|word| code.contains(**word)) {
                    problems.push(Problem::line(path, line, format!("`{word}` in `{krate}`"), absence.mend));
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
    use crate::tidy::tree::Tree;

    #[test]
    fn a_clock_in_a_pure_crate_is_found_and_one_in_a_comment_or_a_test_is_not() {
        let source = "// no Instant::now here\nlet now = Timestamp::now();\n#[cfg(test)]\nmod tests { std::fs::read }\n";
        let tree = Tree::of(&[
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
