//! Words that must not stay: marks of unfinished work. What is not finished is not there.

use super::problem::Problem;
use super::tree::Tree;

/// The one file that may spell them: this one.
const SELF: &str = "crates/xtask/src/tidy/words.rs";

const UNFINISHED: [&str; 6] = ["todo!(", "unimplemented!(", "dbg!(", "#[ignore", "// TODO", "// FIXME"];

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| *path != SELF && path.ends_with(".rs")) {
        for (index, line) in text.lines().enumerate() {
            for word in UNFINISHED.iter().filter(|word| holds(line, word)) {
                problems.push(Problem::line(
                    path,
                    index + 1,
                    format!("`{word}`"),
                    "finish it, or take it out",
                ));
            }
        }
    }
    problems
}

/// Whether the line has the word, not merely as the tail of a longer one (`my_dbg!(`).
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
    fn unfinished_work_is_found() {
        let tree = Tree::of(&[
            (SELF, "todo!()"),
            ("crates/plan/src/lib.rs", "fn a() { todo!() }\n#[ignore = \"slow\"]\nmy_dbg!(1)\n"),
            ("docs/a.md", "todo!(is fine in prose)\n"),
        ]);
        expect![[r"
            crates/plan/src/lib.rs:1: `todo!(`: finish it, or take it out
            crates/plan/src/lib.rs:2: `#[ignore`: finish it, or take it out
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
