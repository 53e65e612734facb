//! `cargo xtask tidy`: holds by machine what the documents promise and no compiler checks.
//!
//! Each check is a pure function over the files of the workspace, in a file of its own with its tests. All
//! problems are reported at once, each with its place and what to do about it.

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
mod words;
mod links;
mod invariants;
mod conformance;
mod failure_source;
mod failures;

use anyhow::Context;

use crate::command::{Shown, root, write};

use self::dependencies::Graph;
use self::problem::Problem;
use self::tree::Tree;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Check,
    /// Also rewrite the documents that are generated.
    Fix,
}

/// What a check may look at.
struct Workspace {
    tree: Tree,
    graph: Graph,
}

/// One promise that tidy holds.
struct Check {
    /// The name under which `ARCHITECTURE.md` refers to it: `tidy::<name>`.
    name: &'static str,
    run: fn(&Workspace) -> Vec<Problem>,
}

const CHECKS: [Check; 13] = [
    Check { name: "dependencies", run: |workspace| dependencies::check(&workspace.graph) },
    Check { name: "absences", run: |workspace| absences::check(&workspace.tree) },
    Check { name: "exclusives", run: |workspace| exclusives::check(&workspace.tree) },
    Check { name: "names", run: |workspace| names::check(&workspace.tree) },
    Check { name: "manifests", run: |workspace| manifests::check(&workspace.tree) },
    Check { name: "lockfile", run: |workspace| lockfile::check(&workspace.tree) },
    Check { name: "headers", run: |workspace| headers::check(&workspace.tree) },
    Check { name: "text", run: |workspace| text::check(&workspace.tree) },
    Check { name: "words", run: |workspace| words::check(&workspace.tree) },
    Check { name: "links", run: |workspace| links::check(&workspace.tree) },
    Check { name: "invariants", run: |workspace| invariants::check(&workspace.tree, &check_names()) },
    Check { name: "conformance", run: |workspace| conformance::check(&workspace.tree) },
    Check { name: "failures", run: |workspace| failures::check(&workspace.tree) },
];

fn check_names() -> Vec<&'static str> {
    CHECKS.iter().map(|check| check.name).collect()
}

pub(crate) fn tidy(mode: Mode) -> anyhow::Result<bool> {
    let mut workspace = Workspace { tree: Tree::load(&root())?, graph: graph()? };
    if mode == Mode::Fix {
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
        0 => println!("tidy: {} checks, nothing to mend", CHECKS.len()),
        1 => println!("tidy: 1 problem"),
        _ => println!("tidy: {count} problems"),
    }
    Ok(count == 0)
}

fn rewrite_generated(tree: &mut Tree) -> anyhow::Result<()> {
    // A source that cannot be read is reported by the check; there is nothing to write from it.
    let Ok(document) = failures::document(tree) else { return Ok(()) };
    if tree.text(failures::DOCUMENT) != Some(&document) {
        write(failures::DOCUMENT, &document)?;
        println!("rewrote {}", failures::DOCUMENT);
        tree.insert(failures::DOCUMENT, document);
    }
    Ok(())
}

fn graph() -> anyhow::Result<Graph> {
    let metadata = Shown::new(&["cargo", "metadata", "--format-version", "1"]).read()?;
    Graph::parse(&metadata).context("cannot understand `cargo metadata`")
}
