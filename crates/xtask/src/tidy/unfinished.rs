//! Forbids marks of unfinished work.

use super::problem::TidyProblem;
use super::tree::SourceTree;

/// The only file that may contain them: this one.
const SELF: &str = "crates/xtask/src/tidy/unfinished.rs";

const UNFINISHED: [&str; 6] = ["todo!(", "unimplemented!(", "dbg!(", "#[ignore", "// TODO", "// FIXME"];

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| *path != SELF && path.ends_with(".rs")) {
        for (index, line) in text.lines().enumerate() {
            for word in UNFINISHED.iter().filter(|word| holds(line, word)) {
                problems.push(TidyProblem::line(
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

/// Returns whether the line contains the word, and not only as the end of a longer one (`my_dbg!(`).
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
    use crate::tidy::tree::SourceTree;

    #[test]
    fn unfinished_work_is_found() {
        let tree = SourceTree::of(&[
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
