//! Generates `docs/failures.md` from the source of `envelope::Failure`, and checks that it is current.

use std::fmt::Write as _;

use super::failure_source::{FailureEntry, FailureSources, parse};
use super::problem::TidyProblem;
use super::tree::SourceTree;

pub(crate) const DOCUMENT: &str = "docs/failures.md";
const SOURCE: &str = "crates/envelope/src/failure.rs";
const ERROR_KIND: &str = "crates/app/src/error.rs";
const EXIT: &str = "crates/tollgate/src/exit.rs";

const HEADER: &str = "\
# Failures

Every way a call can end without doing its work. `kind` is the name in `error.kind`, `code` the coarser word in
`error.code` that every client knows, `status` the status of the result. *Retryable* says whether the same call may
succeed if it is tried again and cannot have had an effect; a tool may know better for one case.

This page is made from the doc comments in [`failure.rs`](../crates/envelope/src/failure.rs) by
`cargo xtask tidy --fix`. Change them there.
";

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    match document(tree) {
        Err(why) => {
            vec![TidyProblem::file(SOURCE, why, "keep each answer one `match self` without a wildcard")]
        }
        Ok(document) if tree.text(DOCUMENT) == Some(&document) => Vec::new(),
        Ok(_) => {
            vec![TidyProblem::file(DOCUMENT, "is not what the source says", "run `cargo xtask tidy --fix`")]
        }
    }
}

/// Returns the generated document.
pub(crate) fn document(tree: &SourceTree) -> Result<String, String> {
    let text = |path: &str| tree.text(path).ok_or_else(|| format!("there is no `{path}`"));
    let sources = FailureSources { failure: text(SOURCE)?, error_kind: text(ERROR_KIND)?, exit: text(EXIT)? };
    Ok(render(&parse(sources)?))
}

fn render(entries: &[FailureEntry]) -> String {
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

    use super::{DOCUMENT, ERROR_KIND, EXIT, FailureEntry, HEADER, SOURCE, check, document, render};
    use crate::tidy::failure_source::tests::{
        ERROR_KIND as SAMPLE_KIND, EXIT as SAMPLE_EXIT, SOURCE as SAMPLE,
    };
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    #[test]
    fn an_entry_says_cause_and_remedy_first() {
        let entry = FailureEntry {
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
        let mut tree = SourceTree::of(&[
            (SOURCE, SAMPLE),
            (ERROR_KIND, SAMPLE_KIND),
            (EXIT, SAMPLE_EXIT),
            (DOCUMENT, "old"),
        ]);
        expect!["docs/failures.md: is not what the source says: run `cargo xtask tidy --fix`\n"]
            .assert_eq(&listed(&check(&tree)));
        let document = document(&tree).unwrap();
        tree.insert(DOCUMENT, document);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_source_of_another_shape_is_reported_not_guessed() {
        let tree = SourceTree::of(&[
            (SOURCE, "pub enum Nothing {}"),
            (ERROR_KIND, SAMPLE_KIND),
            (EXIT, SAMPLE_EXIT),
            (DOCUMENT, "old"),
        ]);
        expect![[r"
            crates/envelope/src/failure.rs: no `pub const fn name(self)`: keep each answer one `match self` without a wildcard
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
