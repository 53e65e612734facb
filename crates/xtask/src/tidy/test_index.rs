//! An index of all tests of the workspace, for documents that name them.

use std::collections::BTreeMap;

use super::tree::{SourceTree, crate_of};

/// Test functions by crate and name, each with its module paths.
pub(crate) struct TestIndex {
    modules: BTreeMap<(String, String), Vec<String>>,
}

impl TestIndex {
    pub(crate) fn build(tree: &SourceTree) -> TestIndex {
        let mut modules: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for (path, text) in tree.sources() {
            let Some(krate) = crate_of(path) else { continue };
            let module = module_path(path);
            for name in tests_in(text) {
                modules.entry((krate.to_owned(), name.to_owned())).or_default().push(module.clone());
            }
        }
        TestIndex { modules }
    }

    /// Looks up `crate::module::test_name`.
    ///
    /// The name decides: a test that moved to another file, or to another crate, is found as long as it is the only one of
    /// its name there. Of several tests with one name in a crate, the module says which is meant; it may be shortened from
    /// the left, down to the file.
    ///
    /// Returns the reason if no test has that name, or if more than one could be meant.
    pub(crate) fn find(&self, path: &str) -> Result<(), String> {
        let Some((krate, rest)) = path.split_once("::") else {
            return Err(format!("`{path}` is not of the form `crate::file::test_name`"));
        };
        let Some((module, name)) = rest.rsplit_once("::") else {
            return Err(format!("`{path}` does not name the file of `{krate}` that has the test"));
        };
        let Some(modules) = self.modules.get(&(krate.to_owned(), name.to_owned())) else {
            return self.find_elsewhere(krate, name);
        };
        let matches = |found: &String| found == module || found.ends_with(&format!("::{module}"));
        if modules.len() == 1 || modules.iter().any(matches) {
            return Ok(());
        }
        let found: Vec<String> = modules.iter().map(|module| format!("`{krate}::{module}`")).collect();
        Err(format!("test `{name}` is in {}, not in `{module}`", found.join(", ")))
    }

    /// Searches all other crates for a test that its crate does not contain any more.
    fn find_elsewhere(&self, krate: &str, name: &str) -> Result<(), String> {
        let mut others = self.modules.iter().filter(|((_, test), _)| test == name);
        match (others.next(), others.next()) {
            (Some((_, modules)), None) if modules.len() == 1 => Ok(()),
            (None, _) => Err(format!("crate `{krate}` has no test `{name}`")),
            _ => Err(format!("crate `{krate}` has no test `{name}`, and several others have one")),
        }
    }
}

/// `crates/plan/src/machine/retry.rs` is `machine::retry`, `crates/engine/tests/runs.rs` is `runs`.
pub(crate) fn module_path(path: &str) -> String {
    let inside = path.splitn(4, '/').nth(3).unwrap_or(path);
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let inside = inside.strip_suffix("/mod").or_else(|| inside.strip_suffix("/main")).unwrap_or(inside);
    inside.replace('/', "::")
}

/// The functions that carry a test attribute (`#[test]`, `#[tokio::test(…)]`), also inside `proptest!`.
fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let mut marked = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        if line.starts_with("#[") {
            marked |= line.starts_with("#[test]") || line.contains("::test");
            return None;
        }
        if line.starts_with("//") {
            return None;
        }
        let was_marked = std::mem::take(&mut marked);
        let name = test_name(line)?;
        was_marked.then_some(name)
    })
}

/// The name of the function that a line begins.
pub(crate) fn test_name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::{SourceTree, TestIndex};

    fn index() -> TestIndex {
        TestIndex::build(&SourceTree::of(&[
            (
                "crates/plan/src/machine/retry.rs",
                "fn helper() {}\n\n    #[test]\n    fn retries_end() {\n    proptest! {\n        #[test]\n        \
                 // why\n        fn no_order_loses_a_step(order in any::<u64>()) {\n",
            ),
            (
                "crates/engine/tests/runs.rs",
                "#[tokio::test(start_paused = true)]\nasync fn a_run_ends() {}\n",
            ),
        ]))
    }

    #[test]
    fn a_test_is_found_by_crate_file_and_name() {
        for path in [
            "plan::machine::retry::retries_end",
            "plan::retry::retries_end",
            "plan::retry::no_order_loses_a_step",
            "engine::runs::a_run_ends",
        ] {
            assert_eq!(index().find(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn a_test_that_moved_is_found_by_its_name() {
        for path in ["plan::try::retries_end", "engine::it::runs::a_run_ends", "plan::runs::a_run_ends"] {
            assert_eq!(index().find(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn what_is_not_a_test_is_not_found() {
        let why = |path: &str| index().find(path).unwrap_err();
        assert_eq!(why("plan::retry::helper"), "crate `plan` has no test `helper`");
        assert_eq!(
            why("plan::retries_end"),
            "`plan::retries_end` does not name the file of `plan` that has the test"
        );
        assert_eq!(why("retries_end"), "`retries_end` is not of the form `crate::file::test_name`");
    }

    #[test]
    fn a_name_that_two_tests_have_needs_its_module() {
        let test = "#[test]\nfn it_ends() {}\n";
        let index = TestIndex::build(&SourceTree::of(&[
            ("crates/plan/tests/it/a.rs", test),
            ("crates/plan/tests/it/b.rs", test),
            ("crates/engine/tests/runs.rs", test),
        ]));
        assert_eq!(index.find("plan::a::it_ends"), Ok(()));
        assert_eq!(
            index.find("plan::c::it_ends").unwrap_err(),
            "test `it_ends` is in `plan::it::a`, `plan::it::b`, not in `c`"
        );
        assert_eq!(
            index.find("vault::a::it_ends").unwrap_err(),
            "crate `vault` has no test `it_ends`, and several others have one"
        );
    }
}
