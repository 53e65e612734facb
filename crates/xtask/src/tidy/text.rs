//! Forbids whitespace that no reader sees and every diff shows.

use super::problem::TidyProblem;
use super::tree::SourceTree;

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    let manifests = tree.texts().filter(|(path, _)| path.ends_with(".toml"));
    for (path, text) in tree.sources().chain(tree.documents()).chain(manifests) {
        for (index, line) in text.lines().enumerate() {
            if line.ends_with([' ', '\t', '\r']) && !is_string(path, line) {
                problems.push(TidyProblem::line(
                    path,
                    index + 1,
                    "whitespace at the end of the line",
                    "remove it",
                ));
            }
            if line.contains('\t') {
                problems.push(TidyProblem::line(
                    path,
                    index + 1,
                    "a tab",
                    "use spaces, or `\\t` in a string",
                ));
            }
        }
        if !text.is_empty() && !text.ends_with('\n') {
            let last = text.lines().count();
            problems.push(TidyProblem::line(path, last, "no newline at the end of the file", "add one"));
        }
        if text.ends_with("\n\n") {
            let last = text.lines().count();
            problems.push(TidyProblem::line(path, last, "empty lines at the end of the file", "remove them"));
        }
    }
    problems
}

/// Returns whether a line that ends in whitespace is inside of a string: rustfmt removes such whitespace from code, and
/// an expected output may contain it.
fn is_string(path: &str, line: &str) -> bool {
    path.ends_with(".rs") && !line.trim_start().starts_with("//")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::check;
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    #[test]
    fn invisible_differences_are_found() {
        let tree = SourceTree::of(&[
            ("README.md", "one \ntwo\n\n"),
            ("crates/plan/src/lib.rs", "// why \nfn a() {\n\tb(\"c \n\");\n}"),
            ("crates/tollgate/demo/Inbox.md", "data \n"),
            ("docs/fine.md", "fine\n"),
        ]);
        expect![[r"
            crates/plan/src/lib.rs:1: whitespace at the end of the line: remove it
            crates/plan/src/lib.rs:3: a tab: use spaces, or `\t` in a string
            crates/plan/src/lib.rs:5: no newline at the end of the file: add one
            README.md:1: whitespace at the end of the line: remove it
            README.md:3: empty lines at the end of the file: remove them
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
