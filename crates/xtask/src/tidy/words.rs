//! Words that must not stay: marks of unfinished work, and paths that exist on one machine only. A stranger
//! has the repository and nothing else.

use super::problem::Problem;
use super::tree::Tree;

/// The one file that may spell them: this one.
const SELF: &str = "crates/xtask/src/tidy/words.rs";

const UNFINISHED: [&str; 6] = ["todo!(", "unimplemented!(", "dbg!(", "#[ignore", "// TODO", "// FIXME"];

const ONE_MACHINE: [&str; 3] = ["/home/", "/Users/", "/root/"];

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| *path != SELF && !path.ends_with(".lock")) {
        for (index, line) in text.lines().enumerate() {
            let mut report = |word: &str, mend: &str| {
                problems.push(Problem::line(path, index + 1, format!("`{word}`"), mend));
            };
            for word in UNFINISHED.iter().filter(|word| path.ends_with(".rs") && holds(line, word)) {
                report(word, "finish it, or take it out");
            }
            for word in ONE_MACHINE.iter().filter(|word| holds(line, word)) {
                report(word, "say it so that a stranger can follow it");
            }
        }
    }
    problems
}

/// Whether the line has the word, not merely as the tail of a longer one (`Notes/home/`, `my_dbg!(`).
fn holds(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || before == '_')
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{SELF, check};
    use crate::tidy::problem::listed;
    use crate::tidy::tree::Tree;

    #[test]
    fn unfinished_work_and_paths_of_one_machine_are_found() {
        let tree = Tree::of(&[
            (SELF, "todo!()"),
            (
                "crates/plan/src/lib.rs",
                "fn a() { todo!() }\n#[ignore = \"slow\"]\nread(\"Notes/home/a.md\")\n",
            ),
            ("docs/a.md", "see /home/me/a.md\ntodo!(is fine in prose)\n"),
        ]);
        expect![[r"
            crates/plan/src/lib.rs:1: `todo!(`: finish it, or take it out
            crates/plan/src/lib.rs:2: `#[ignore`: finish it, or take it out
            docs/a.md:1: `/home/`: say it so that a stranger can follow it
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
