//! `cargo xtask tidy`: checks what the documents promise and no compiler checks.
//!
//! Each check is a pure function over the files of the workspace, in a file of its own with its tests. All problems are
//! reported at once, each with its place and a fix.

mod tree;
mod problem;
mod test_index;
mod manifest;
mod dependencies;
mod absences;
mod exclusives;
mod names;
mod manifests;
mod lockfile;
mod headers;
mod text;
mod unfinished;
mod links;
mod invariants;
mod conformance;
mod failure_source;
mod failures;

use anyhow::Context;

use crate::command::{ToolCommand, root, write};

use self::dependencies::CrateGraph;
use self::problem::TidyProblem;
use self::tree::SourceTree;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TidyMode {
    Check,
    /// Also rewrite the documents that are generated.
    Fix,
}

/// The input of a check.
struct CheckInput {
    tree: SourceTree,
    graph: CrateGraph,
}

/// A check with its name.
struct TidyCheck {
    /// `ARCHITECTURE.md` refers to it as `tidy::<name>`.
    name: &'static str,
    run: fn(&CheckInput) -> Vec<TidyProblem>,
}

const CHECKS: [TidyCheck; 13] = [
    TidyCheck { name: "dependencies", run: |workspace| dependencies::check(&workspace.graph) },
    TidyCheck { name: "absences", run: |workspace| absences::check(&workspace.tree) },
    TidyCheck { name: "exclusives", run: |workspace| exclusives::check(&workspace.tree) },
    TidyCheck { name: "names", run: |workspace| names::check(&workspace.tree) },
    TidyCheck { name: "manifests", run: |workspace| manifests::check(&workspace.tree) },
    TidyCheck { name: "lockfile", run: |workspace| lockfile::check(&workspace.tree) },
    TidyCheck { name: "headers", run: |workspace| headers::check(&workspace.tree) },
    TidyCheck { name: "text", run: |workspace| text::check(&workspace.tree) },
    TidyCheck { name: "unfinished", run: |workspace| unfinished::check(&workspace.tree) },
    TidyCheck { name: "links", run: |workspace| links::check(&workspace.tree) },
    TidyCheck { name: "invariants", run: |workspace| invariants::check(&workspace.tree, &check_names()) },
    TidyCheck { name: "conformance", run: |workspace| conformance::check(&workspace.tree) },
    TidyCheck { name: "failures", run: |workspace| failures::check(&workspace.tree) },
];

fn check_names() -> Vec<&'static str> {
    CHECKS.iter().map(|check| check.name).collect()
}

pub(crate) fn tidy(mode: TidyMode) -> anyhow::Result<bool> {
    let mut workspace = CheckInput { tree: SourceTree::load(&root())?, graph: graph()? };
    if mode == TidyMode::Fix {
        rewrite_generated(&mut workspace.tree)?;
    }
    let mut count = 0;
    for check in &CHECKS {
        let problems = (check.run)(&workspace);
        count += problems.len();
        for problem in problems {
            println!("{problem}  [tidy::{}]", check.name);
        }
    }
    match count {
        0 => println!("tidy: {} checks, nothing to fix", CHECKS.len()),
        1 => println!("tidy: 1 problem"),
        _ => println!("tidy: {count} problems"),
    }
    Ok(count == 0)
}

/// Rewrites the generated documents. A source that cannot be read is reported by its check.
fn rewrite_generated(tree: &mut SourceTree) -> anyhow::Result<()> {
    let documents = [
        (failures::DOCUMENT, failures::document(tree).ok()),
        (conformance::DOCUMENT, conformance::document(tree)),
    ];
    for (path, document) in documents {
        if let Some(document) = document
            && tree.text(path) != Some(&document)
        {
            write(path, &document)?;
            println!("rewrote {path}");
            tree.insert(path, document);
        }
    }
    Ok(())
}

fn graph() -> anyhow::Result<CrateGraph> {
    let metadata = ToolCommand::new(&["cargo", "metadata", "--format-version", "1"]).read()?;
    CrateGraph::parse(&metadata).context("cannot understand `cargo metadata`")
}
