//! Generates the tables of `docs/conformance.md` from comments at the tests, and checks that they are current.
//!
//! A clause is written right above the test that proves it, with its number, its text and the files that implement it:
//!
//! ```text
//! // Conformance: envelope 2.3
//! //     A step over a list becomes one call an item, each of which knows its item.
//! //     In: plan/machine/expand.rs
//! #[test]
//! ```
//!
//! Another test that proves the same clause has only the first line. `In` names files as in `plan/machine/expand.rs`, short
//! for `crates/plan/src/machine/expand.rs`. In the page, `<!-- clauses: envelope 2 -->` marks the table with the clauses
//! `envelope 2.*`; headings and other text are written by hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::problem::TidyProblem;
use super::test_index::{module_path, test_name};
use super::tree::{SourceTree, crate_of};

pub(crate) const DOCUMENT: &str = "docs/conformance.md";

const TAG: &str = "// Conformance: ";
const FILES: &str = "In: ";
const MARKER: &str = "<!-- clauses: ";
const TABLE_HEADER: &str = "| clause | where it lives | tests |\n|---|---|---|\n";

/// `envelope 2.3`: the table and the row.
type ClauseNumber = (String, usize);

/// A clause with the tests that prove it.
#[derive(Debug, Default)]
struct ConformanceClause {
    text: Option<String>,
    files: Vec<String>,
    tests: Vec<String>,
}

/// A comment at a test.
#[derive(Debug, Default)]
struct ClauseComment {
    line: usize,
    number: String,
    text: String,
    files: Vec<String>,
    /// Name of the test below.
    test: Option<String>,
}

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    let (clauses, mut problems) = collect(tree);
    let Some(page) = tree.text(DOCUMENT) else {
        problems.push(TidyProblem::file(DOCUMENT, "there is no such document", "write it"));
        return problems;
    };
    problems.extend(unplaced_clauses(page, &clauses));
    if problems.is_empty() && render(page, &clauses) != page {
        let what = "is not what the comments at the tests say";
        problems.push(TidyProblem::file(DOCUMENT, what, "run `cargo xtask tidy --fix`"));
    }
    problems
}

/// Returns the page with current tables; `None` if a comment is wrong, which [`check`] reports.
pub(crate) fn document(tree: &SourceTree) -> Option<String> {
    let (clauses, problems) = collect(tree);
    let page = tree.text(DOCUMENT)?;
    problems.is_empty().then(|| render(page, &clauses))
}

/// Reads the comments of all sources.
fn collect(tree: &SourceTree) -> (BTreeMap<ClauseNumber, ConformanceClause>, Vec<TidyProblem>) {
    let mut clauses: BTreeMap<ClauseNumber, ConformanceClause> = BTreeMap::new();
    let mut problems = Vec::new();
    let mut places: BTreeMap<ClauseNumber, (String, usize)> = BTreeMap::new();
    // The tests of this file contain samples of comments.
    for (path, text) in
        tree.sources().filter(|(path, _)| crate_of(path).is_some_and(|krate| krate != "xtask"))
    {
        for comment in comments(text) {
            let mut report = |what: &str, fix: &str| {
                let what = format!("conformance clause `{}` {what}", comment.number);
                problems.push(TidyProblem::line(path, comment.line, what, fix));
            };
            let Some(number) = parse_number(&comment.number) else {
                report("has no number", "write it as `envelope 2.3`: specification, table and row");
                continue;
            };
            let clause = clauses.entry(number.clone()).or_default();
            match &comment.test {
                Some(test) => clause.tests.push(format!("{}::{test}", test_module(path))),
                None => report("is not above a test", "put the comment right above the test that proves it"),
            }
            if !comment.text.is_empty() {
                if clause.text.is_some() {
                    report("has two texts", "keep the text at one of its tests");
                }
                clause.text = Some(comment.text);
                clause.files = comment.files;
            }
            places.entry(number).or_insert_with(|| (path.to_owned(), comment.line));
        }
    }
    for (number, (path, line)) in &places {
        if clauses.get(number).is_some_and(|clause| clause.text.is_none()) {
            let what = format!("conformance clause `{} has no text", printed(number));
            problems.push(TidyProblem::line(
                path,
                *line,
                what,
                "write it below the number at one of its tests",
            ));
        }
    }
    (clauses, problems)
}

/// `crates/engine/tests/it/runs.rs` is `engine::runs`.
fn test_module(path: &str) -> String {
    let module = module_path(path);
    let module = module.strip_prefix("it::").unwrap_or(&module);
    format!("{}::{module}", crate_of(path).unwrap_or_default())
}

/// The comments of a source. Lines below the number are the text; the last of them may name files.
fn comments(text: &str) -> Vec<ClauseComment> {
    let mut found: Vec<ClauseComment> = Vec::new();
    // Comments that still wait for their test, and whether the last of them may continue.
    let (mut waiting, mut open) = (0, false);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(number) = line.strip_prefix(TAG) {
            found.push(ClauseComment {
                line: index + 1,
                number: number.to_owned(),
                ..ClauseComment::default()
            });
            (waiting, open) = (waiting + 1, true);
        } else if let Some(more) = line.strip_prefix("//     ").filter(|_| open) {
            if let Some(comment) = found.last_mut() {
                match more.strip_prefix(FILES) {
                    Some(files) => comment.files.extend(files.split(", ").map(str::to_owned)),
                    None if comment.files.is_empty() => push_word(&mut comment.text, more),
                    // A long list of files goes on in the next line.
                    None => comment.files.extend(more.split(", ").map(str::to_owned)),
                }
            }
        } else if waiting > 0 {
            open = false;
            if line.starts_with("#[") || line.starts_with("//") || line.ends_with(")]") {
                continue;
            }
            let test = test_name(line).map(str::to_owned);
            for comment in found.iter_mut().rev().take(waiting) {
                comment.test.clone_from(&test);
            }
            waiting = 0;
        }
    }
    for comment in &mut found {
        for file in &mut comment.files {
            *file = file.trim_end_matches(',').to_owned();
        }
    }
    found
}

fn push_word(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}

fn parse_number(number: &str) -> Option<ClauseNumber> {
    let (table, row) = number.rsplit_once('.')?;
    let (specification, position) = table.split_once(' ')?;
    let is_word = !specification.is_empty() && specification.bytes().all(|byte| byte.is_ascii_lowercase());
    let _position: usize = position.parse().ok()?;
    is_word.then_some((table.to_owned(), row.parse().ok()?))
}

fn printed((table, row): &ClauseNumber) -> String {
    format!("{table}.{row}`")
}

/// Clauses whose table has no marker in the page, and markers without clauses.
fn unplaced_clauses(page: &str, clauses: &BTreeMap<ClauseNumber, ConformanceClause>) -> Vec<TidyProblem> {
    let markers: Vec<(usize, &str)> =
        page.lines().enumerate().filter_map(|(index, line)| Some((index + 1, marker(line)?))).collect();
    let mut tables: Vec<&str> = clauses.keys().map(|(table, _)| table.as_str()).collect();
    tables.dedup();
    let missing = tables.iter().filter(|table| !markers.iter().any(|(_, marked)| marked == *table));
    let mut problems: Vec<TidyProblem> = missing
        .map(|table| {
            let what = format!("no table for the clauses `{table}.*`");
            TidyProblem::file(DOCUMENT, what, format!("add `{MARKER}{table} -->` below a heading"))
        })
        .collect();
    problems.extend(markers.iter().filter(|(_, marked)| !tables.contains(marked)).map(|(line, marked)| {
        TidyProblem::line(
            DOCUMENT,
            *line,
            format!("no clause `{marked}.*`"),
            "remove the heading and the marker",
        )
    }));
    problems
}

fn marker(line: &str) -> Option<&str> {
    line.strip_prefix(MARKER)?.strip_suffix(" -->")
}

/// Replaces the table below each marker.
fn render(page: &str, clauses: &BTreeMap<ClauseNumber, ConformanceClause>) -> String {
    let mut text = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let Some(table) = marker(line) else { continue };
        while lines.next_if(|next| next.is_empty() || next.starts_with('|')).is_some() {}
        text.push('\n');
        text.push_str(TABLE_HEADER);
        for clause in clauses.iter().filter(|((of, _), _)| of == table).map(|(_, clause)| clause) {
            text.push_str(&row(clause));
        }
        if lines.peek().is_some() {
            text.push('\n');
        }
    }
    text
}

fn row(clause: &ConformanceClause) -> String {
    let files: Vec<String> = clause.files.iter().map(|file| link(file)).collect();
    let tests: Vec<String> = clause.tests.iter().map(|test| format!("`{test}`")).collect();
    let mut row = String::new();
    let text = clause.text.as_deref().unwrap_or_default();
    let _infallible = writeln!(row, "| {text} | {} | {} |", files.join(", "), tests.join(", "));
    row
}

/// `plan/machine/expand.rs` leads to `crates/plan/src/machine/expand.rs`.
fn link(file: &str) -> String {
    match file.split_once('/') {
        Some((krate, rest)) if krate != "crates" => format!("[`{file}`](../crates/{krate}/src/{rest})"),
        _ => format!("[`{file}`](../{file})"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{DOCUMENT, check, document};
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    const PAGE: &str = "\
# Conformance

<!-- clauses: envelope 2 -->

| clause | where it lives | tests |
|---|---|---|
| outdated | | |

## What is left open
";

    const TESTS: &str = "\
    // Conformance: envelope 2.10
    //     The last one.
    //     In: plan/order.rs, plan/machine/mod.rs
    // Conformance: envelope 2.2
    /// Sorted by number.
    #[tokio::test(start_paused = true)]
    async fn steps_keep_their_order() {
        // Conformance: not here
    }
";

    const PROPERTIES: &str = "\
// Conformance: envelope 2.2
//     A step over a list becomes one call an item,
//     each of which knows its item.
//     In: crates/plan/README.md
#[test]
fn no_order_loses_a_step(order in any::<u64>()) {}
";

    fn tree(tests: &str) -> SourceTree {
        SourceTree::of(&[
            ("crates/plan/src/order.rs", tests),
            ("crates/plan/tests/it/orders.rs", PROPERTIES),
            (DOCUMENT, PAGE),
        ])
    }

    #[test]
    fn the_page_has_each_clause_with_its_files_and_its_tests() {
        let mut tree = tree(&TESTS.replace("        // Conformance: not here\n", ""));
        expect![
            "docs/conformance.md: is not what the comments at the tests say: run `cargo xtask tidy --fix`\n"
        ]
        .assert_eq(&listed(&check(&tree)));
        let page = document(&tree).unwrap();
        expect![[r"
            # Conformance

            <!-- clauses: envelope 2 -->

            | clause | where it lives | tests |
            |---|---|---|
            | A step over a list becomes one call an item, each of which knows its item. | [`crates/plan/README.md`](../crates/plan/README.md) | `plan::order::steps_keep_their_order`, `plan::orders::no_order_loses_a_step` |
            | The last one. | [`plan/order.rs`](../crates/plan/src/order.rs), [`plan/machine/mod.rs`](../crates/plan/src/machine/mod.rs) | `plan::order::steps_keep_their_order` |

            ## What is left open
        "]]
        .assert_eq(&page);
        tree.insert(DOCUMENT, page);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_comment_without_a_number_a_text_or_a_test_is_found() {
        let source = "\
// Conformance: envelope 2.1
// Conformance: envelope
#[test]
fn a() {}

// Conformance: envelope 2.2
//     Another text.
const A: u8 = 0;
// Conformance: proxy 1.1
//     A clause without a table.
#[test]
fn b() {}
";
        expect![[r"
            crates/plan/src/order.rs:2: conformance clause `envelope` has no number: write it as `envelope 2.3`: specification, table and row
            crates/plan/src/order.rs:6: conformance clause `envelope 2.2` is not above a test: put the comment right above the test that proves it
            crates/plan/tests/it/orders.rs:1: conformance clause `envelope 2.2` has two texts: keep the text at one of its tests
            crates/plan/src/order.rs:1: conformance clause `envelope 2.1` has no text: write it below the number at one of its tests
            docs/conformance.md: no table for the clauses `proxy 1.*`: add `<!-- clauses: proxy 1 -->` below a heading
        "]]
        .assert_eq(&listed(&check(&tree(source))));
    }
}
