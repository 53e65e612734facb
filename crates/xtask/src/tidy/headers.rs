//! Requires a header in every source file that says why the file exists.

use super::problem::TidyProblem;
use super::tree::{SourceTree, crate_of};

/// A shorter file needs no header, unless it is the root of a crate.
const TINY: usize = 15;

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    let in_src =
        |path: &str| crate_of(path).is_some_and(|name| path.starts_with(&format!("crates/{name}/src/")));
    tree.sources()
        .filter(|(path, text)| {
            let face = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
            in_src(path) && !text.starts_with("//!") && (face || text.lines().count() > TINY)
        })
        .map(|(path, _)| {
            TidyProblem::line(
                path,
                1,
                "no header",
                "begin with `//!` and why the file exists, in one sentence",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::check;
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    #[test]
    fn a_file_without_a_header_is_found_unless_it_is_tiny_or_a_test() {
        let long = "const A: u8 = 0;\n".repeat(16);
        let tree = SourceTree::of(&[
            ("crates/plan/src/lib.rs", "mod order;\n"),
            ("crates/plan/src/order.rs", &long),
            ("crates/plan/src/tiny.rs", "const A: u8 = 0;\n"),
            ("crates/plan/tests/orders.rs", &long),
            ("crates/vault/src/lib.rs", "//! The vault.\n"),
        ]);
        expect![[r"
            crates/plan/src/lib.rs:1: no header: begin with `//!` and why the file exists, in one sentence
            crates/plan/src/order.rs:1: no header: begin with `//!` and why the file exists, in one sentence
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
