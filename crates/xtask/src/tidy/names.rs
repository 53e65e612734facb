//! Forbids module names that fit any content.

use super::problem::TidyProblem;
use super::tree::{SourceTree, crate_of};

const MAGNETS: [&str; 8] = ["core", "common", "types", "utils", "util", "helpers", "misc", "manager"];

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for (path, _) in tree.sources() {
        let mut segments = path.strip_suffix(".rs").unwrap_or(path).split('/');
        if crate_of(path).is_some() {
            segments.next();
        }
        for name in segments {
            if let Some(what) = verdict(name) {
                problems.push(TidyProblem::file(path, format!("`{name}` {what}"), "name what it holds"));
            }
        }
    }
    problems
}

fn verdict(name: &str) -> Option<&'static str> {
    if MAGNETS.contains(&name) {
        return Some("is a name for anything");
    }
    let version = name.rsplit_once("_v").is_some_and(|(_, number)| number.parse::<u32>().is_ok());
    (version || name.contains("legacy"))
        .then_some("is a copy of something that should have been replaced in one change")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::check;
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    #[test]
    fn magnets_and_twins_are_found_in_crates_folders_and_files() {
        let tree = SourceTree::of(&[
            ("crates/common/src/lib.rs", ""),
            ("crates/engine/src/helpers/clock.rs", ""),
            ("crates/plan/src/check_v2.rs", ""),
            ("crates/plan/src/legacy_parse.rs", ""),
            ("crates/plan/src/typed.rs", ""),
            ("crates/vault/src/utility.rs", ""),
        ]);
        expect![[r"
            crates/common/src/lib.rs: `common` is a name for anything: name what it holds
            crates/engine/src/helpers/clock.rs: `helpers` is a name for anything: name what it holds
            crates/plan/src/check_v2.rs: `check_v2` is a copy of something that should have been replaced in one change: name what it holds
            crates/plan/src/legacy_parse.rs: `legacy_parse` is a copy of something that should have been replaced in one change: name what it holds
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
