//! Keeps `docs/failures.md` equal to what the source of `envelope::Failure` says.

use std::fmt::Write as _;

use super::failure_source::{Entry, parse};
use super::problem::Problem;
use super::tree::Tree;

pub(crate) const DOCUMENT: &str = "docs/failures.md";
const SOURCE: &str = "crates/envelope/src/failure.rs";

const HEADER: &str = "\
# Failures

Every way a call can end without doing its work. `kind` is the name in `error.kind`, `code` the coarser word in
`error.code` that every client knows, `status` the status of the result. *Retryable* says whether the same call may
succeed if it is tried again and cannot have had an effect; a tool may know better for one case.

This page is made from the doc comments in [`failure.rs`](../crates/envelope/src/failure.rs) by
`cargo xtask tidy --fix`. Change them there.
";

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    match document(tree) {
        Err(why) => vec![Problem::file(SOURCE, why, "keep each answer one `match self` without a wildcard")],
        Ok(document) if tree.text(DOCUMENT) == Some(&document) => Vec::new(),
        Ok(_) => vec![Problem::file(DOCUMENT, "is not what the source says", "run `cargo xtask tidy --fix`")],
    }
}

/// The document that the source asks for.
pub(crate) fn document(tree: &Tree) -> Result<String, String> {
    let source = tree.text(SOURCE).ok_or("there is no such file")?;
    Ok(render(&parse(source)?))
}

fn render(entries: &[Entry]) -> String {
    let mut text = HEADER.to_owned();
    for entry in entries {
        let retry = if entry.retryable == "true" { "retryable" } else { "not retryable" };
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\nWhat to do: {}.\n\n`{}` · status `{}` · {retry} · exit code {}\n",
            entry.name, entry.cause, entry.remedy, entry.code, entry.status, entry.exit_code
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{DOCUMENT, Entry, HEADER, SOURCE, check, document, render};
    use crate::tidy::failure_source::tests::SOURCE as SAMPLE;
    use crate::tidy::problem::listed;
    use crate::tidy::tree::Tree;

    #[test]
    fn an_entry_says_cause_and_remedy_first() {
        let entry = Entry {
            name: "timeout".to_owned(),
            cause: "The call did not end in its time.".to_owned(),
            code: "TIMEOUT".to_owned(),
            status: "timeout".to_owned(),
            retryable: "true".to_owned(),
            remedy: "ask for less in one call".to_owned(),
            exit_code: "1".to_owned(),
        };
        let text = render(&[entry]);
        expect![[r"

            ## timeout

            The call did not end in its time.

            What to do: ask for less in one call.

            `TIMEOUT` · status `timeout` · retryable · exit code 1
        "]]
        .assert_eq(text.strip_prefix(HEADER).unwrap());
    }

    #[test]
    fn a_document_that_lags_behind_is_found_and_the_rewritten_one_is_not() {
        let mut tree = Tree::of(&[(SOURCE, SAMPLE), (DOCUMENT, "old")]);
        expect!["docs/failures.md: is not what the source says: run `cargo xtask tidy --fix`\n"]
            .assert_eq(&listed(&check(&tree)));
        let document = document(&tree).unwrap();
        tree.insert(DOCUMENT, document);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_source_of_another_shape_is_reported_not_guessed() {
        let tree = Tree::of(&[(SOURCE, "pub enum Nothing {}"), (DOCUMENT, "old")]);
        expect![[r"
            crates/envelope/src/failure.rs: no `pub const fn name(self)`: keep each answer one `match self` without a wildcard
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
