//! Checks that relative links in documents lead to existing files.

use super::problem::TidyProblem;
use super::tree::SourceTree;

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for (path, text) in tree.documents() {
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            for target in targets(line) {
                let Some(resolved) = resolve(path, target) else { continue };
                if !tree.exists(&resolved) {
                    problems.push(TidyProblem::line(
                        path,
                        index + 1,
                        format!("the link `{target}` points at nothing"),
                        format!("there is no `{resolved}`; fix the link or add the file"),
                    ));
                }
            }
        }
    }
    problems
}

/// Returns the text between `](` and `)`, outside of code.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let prose = line.split('`').step_by(2);
    prose.flat_map(|part| {
        part.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
    })
}

/// Returns the path of a link from the root; `None` if it leads out of the repository.
fn resolve(document: &str, target: &str) -> Option<String> {
    let target = target.split(['#', ' ']).next().unwrap_or(target);
    if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let mut segments: Vec<&str> = document.split('/').collect();
    segments.pop();
    for segment in target.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    Some(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::check;
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    #[test]
    fn a_dead_link_is_found_and_a_living_one_is_not() {
        let tree = SourceTree::of(&[
            (
                "README.md",
                "[a](docs/a.md#part) [b](docs) [c](https://example.org) [d](#here) [e](docs/nope.md)\n",
            ),
            ("docs/a.md", "[up](../README.md) `[code](x)` [broken [x](y.md)\n```\n[fenced](z.md)\n```\n"),
        ]);
        expect![[r"
            README.md:1: the link `docs/nope.md` points at nothing: there is no `docs/nope.md`; fix the link or add the file
            docs/a.md:1: the link `y.md` points at nothing: there is no `docs/y.md`; fix the link or add the file
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
