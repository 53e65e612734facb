//! Every clause in `docs/conformance.md` names the tests that prove it, and those exist.
//!
//! The last column of each table holds one or more `crate::file::test_name` in backticks.

use super::problem::Problem;
use super::test_index::TestIndex;
use super::tree::Tree;

const DOCUMENT: &str = "docs/conformance.md";

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(text) = tree.text(DOCUMENT) else {
        return vec![Problem::file(DOCUMENT, "there is no such document", "write it")];
    };
    let tests = TestIndex::build(tree);
    let mut problems = Vec::new();
    let mut rows = 0;
    for (line, cell) in last_cells(text) {
        rows += 1;
        let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            problems.push(Problem::line(
                DOCUMENT,
                line,
                "a clause without a test",
                "name the test that proves it, as `crate::file::test_name`",
            ));
        }
        for name in named {
            if let Err(what) = tests.find(name) {
                problems.push(Problem::line(DOCUMENT, line, what, "name the test that proves the clause"));
            }
        }
    }
    if rows == 0 {
        problems.push(Problem::file(DOCUMENT, "no clauses", "one row a clause: clause, place, tests"));
    }
    problems
}

/// Line number and last cell of every table row below a header.
fn last_cells(text: &str) -> Vec<(usize, &str)> {
    let mut cells = Vec::new();
    let mut below_header = false;
    for (index, line) in text.lines().enumerate() {
        let Some(row) = line.trim().strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
            below_header = false;
            continue;
        };
        if row.starts_with("--") || row.starts_with(":-") {
            below_header = true;
        } else if below_header {
            cells.push((index + 1, row.rsplit('|').next().unwrap_or(row).trim()));
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::check;
    use crate::tidy::problem::listed;
    use crate::tidy::tree::Tree;

    #[test]
    fn a_clause_without_an_existing_test_is_found() {
        let document = "\
| clause | where | tests |
|---|---|---|
| proven | `order.rs` | `plan::order::steps_keep_their_order` |
| hoped for | `order.rs` | |
| half | `order.rs` | `plan::order::steps_keep_their_order`, `plan::order::gone` |
";
        let tree = Tree::of(&[
            ("crates/plan/src/order.rs", "#[test]\nfn steps_keep_their_order() {}\n"),
            ("docs/conformance.md", document),
        ]);
        expect![[r"
            docs/conformance.md:4: a clause without a test: name the test that proves it, as `crate::file::test_name`
            docs/conformance.md:5: crate `plan` has no test `gone`: name the test that proves the clause
        "]]
        .assert_eq(&listed(&check(&tree)));
    }

    #[test]
    fn a_document_without_clauses_proves_nothing() {
        assert_eq!(check(&Tree::of(&[("docs/conformance.md", "# Empty\n")])).len(), 1);
    }
}
