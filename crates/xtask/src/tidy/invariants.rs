//! Checks that every invariant in `ARCHITECTURE.md` names an existing check.
//!
//! An invariant is a numbered item under the heading `Invariants` and ends with `*(check)*`, where a check is
//! `tidy::name`, `test: crate::file::name`, `type: crate::Name` or `clippy: lint`; several are separated by commas.

use super::problem::TidyProblem;
use super::test_index::TestIndex;
use super::tree::{SourceTree, crate_of};

const DOCUMENT: &str = "ARCHITECTURE.md";

pub(crate) fn check(tree: &SourceTree, tidy_checks: &[&str]) -> Vec<TidyProblem> {
    let Some(text) = tree.text(DOCUMENT) else {
        return vec![TidyProblem::file(DOCUMENT, "there is no such document", "write it")];
    };
    let items = items(text);
    if items.is_empty() {
        return vec![TidyProblem::file(DOCUMENT, "no invariants", "number them under `## Invariants`")];
    }
    let tests = TestIndex::build(tree);
    let mut problems = Vec::new();
    for (line, item) in items {
        let Some(checks) = named_checks(&item) else {
            problems.push(TidyProblem::line(
                DOCUMENT,
                line,
                "an invariant that nothing holds",
                "end it with `*(tidy::…)*`, `*(test: …)*`, `*(type: …)*` or `*(clippy: …)*`",
            ));
            continue;
        };
        for named in checks.split(", ") {
            if let Err(what) = look_up(tree, tidy_checks, &tests, named) {
                problems.push(TidyProblem::line(DOCUMENT, line, what, "name what holds the invariant"));
            }
        }
    }
    problems
}

/// Line number and text of every numbered item under the heading, its lines joined.
fn items(text: &str) -> Vec<(usize, String)> {
    let mut inside = false;
    let mut items: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix('#') {
            inside = heading.trim_start_matches('#').trim() == "Invariants";
        } else if inside && is_numbered(line) {
            items.push((index + 1, line.to_owned()));
        } else if inside
            && line.starts_with(' ')
            && let Some((_, item)) = items.last_mut()
        {
            item.push(' ');
            item.push_str(line.trim());
        }
    }
    items
}

fn is_numbered(line: &str) -> bool {
    line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

fn named_checks(item: &str) -> Option<&str> {
    let (_, last) = item.trim_end().rsplit_once("*(")?;
    last.strip_suffix(")*")
}

fn look_up(tree: &SourceTree, tidy_checks: &[&str], tests: &TestIndex, named: &str) -> Result<(), String> {
    if let Some(name) = named.strip_prefix("tidy::") {
        return exists(tidy_checks.contains(&name), || format!("tidy has no check `{name}`"));
    }
    let Some((kind, name)) = named.split_once(": ") else {
        return Err(format!("`{named}` is not a kind of check"));
    };
    match kind {
        "test" => tests.find(name),
        "type" => exists(has_type(tree, name), || format!("there is no type `{name}`")),
        "clippy" => exists(has_lint(tree, name), || format!("the lint `{name}` is not switched on")),
        _ => Err(format!("`{kind}` is not a kind of check")),
    }
}

fn exists(yes: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if yes { Ok(()) } else { Err(otherwise()) }
}

fn has_type(tree: &SourceTree, named: &str) -> bool {
    let Some((krate, name)) = named.split_once("::") else { return false };
    let declares = |line: &str| {
        ["struct ", "enum ", "trait "].iter().any(|keyword| {
            line.split_once(keyword)
                .and_then(|(_, rest)| rest.strip_prefix(name))
                .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
        })
    };
    tree.sources().any(|(path, text)| crate_of(path) == Some(krate) && text.lines().any(declares))
}

fn has_lint(tree: &SourceTree, lint: &str) -> bool {
    let listed = |path: &str, start: &str| {
        tree.text(path).is_some_and(|text| text.lines().any(|line| line.starts_with(start)))
    };
    // `disallowed-methods` is on by default if `clippy.toml` has a list.
    listed("Cargo.toml", &format!("{lint} =")) || listed("clippy.toml", &format!("{lint} ="))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::check;
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    #[test]
    fn an_invariant_is_held_by_something_that_exists() {
        let document = "\
# Architecture
1. Not an invariant.
## Invariants
1. One. *(tidy::dependencies)*
2. Two, over
   two lines. *(test: plan::order::steps_keep_their_order, type: plan::Order)*
3. Three. *(clippy: disallowed-methods)*
4. Nothing holds this.
5. Gone. *(tidy::gone, test: plan::order::gone, type: plan::Ord, clippy: gone, hope: so, plainly)*
";
        let tree = SourceTree::of(&[
            ("ARCHITECTURE.md", document),
            ("clippy.toml", "disallowed-methods = []\n"),
            ("crates/plan/src/order.rs", "pub struct Order(u8);\n#[test]\nfn steps_keep_their_order() {}\n"),
        ]);
        expect![[r"
            ARCHITECTURE.md:8: an invariant that nothing holds: end it with `*(tidy::…)*`, `*(test: …)*`, `*(type: …)*` or `*(clippy: …)*`
            ARCHITECTURE.md:9: tidy has no check `gone`: name what holds the invariant
            ARCHITECTURE.md:9: crate `plan` has no test `gone`: name what holds the invariant
            ARCHITECTURE.md:9: there is no type `plan::Ord`: name what holds the invariant
            ARCHITECTURE.md:9: the lint `gone` is not switched on: name what holds the invariant
            ARCHITECTURE.md:9: `hope` is not a kind of check: name what holds the invariant
            ARCHITECTURE.md:9: `plainly` is not a kind of check: name what holds the invariant
        "]]
        .assert_eq(&listed(&check(&tree, &["dependencies"])));
    }
}
