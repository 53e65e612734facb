//! Where every test of the workspace stands, so that a document that names one can be held to it.

use std::collections::BTreeMap;

use super::tree::{Tree, crate_of};

/// Test functions by crate and name, each with the module paths it was found under.
pub(crate) struct TestIndex {
    modules: BTreeMap<(String, String), Vec<String>>,
}

impl TestIndex {
    pub(crate) fn build(tree: &Tree) -> TestIndex {
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

    /// Looks up `crate::module::test_name`; the module may be shortened from the left, down to the file.
    /// Says what is wrong when there is no such test.
    pub(crate) fn find(&self, named: &str) -> Result<(), String> {
        let Some((krate, rest)) = named.split_once("::") else {
            return Err(format!("`{named}` is not of the form `crate::file::test_name`"));
        };
        let Some((module, name)) = rest.rsplit_once("::") else {
            return Err(format!("`{named}` does not say in which file of `{krate}` the test is"));
        };
        let Some(modules) = self.modules.get(&(krate.to_owned(), name.to_owned())) else {
            return Err(format!("crate `{krate}` has no test `{name}`"));
        };
        let stands_in = |found: &String| found == module || found.ends_with(&format!("::{module}"));
        if modules.iter().any(stands_in) {
            return Ok(());
        }
        Err(format!("test `{name}` is in `{krate}::{}`, not in `{module}`", modules.join("`, `")))
    }
}

/// `crates/plan/src/machine/retry.rs` is `machine::retry`, `crates/engine/tests/runs.rs` is `runs`.
fn module_path(path: &str) -> String {
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
        let line = line.strip_prefix("async ").unwrap_or(line);
        let name = line.strip_prefix("fn ")?.split(['(', '<']).next()?;
        was_marked.then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::{TestIndex, Tree};

    fn index() -> TestIndex {
        TestIndex::build(&Tree::of(&[
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
        for named in [
            "plan::machine::retry::retries_end",
            "plan::retry::retries_end",
            "plan::retry::no_order_loses_a_step",
            "engine::runs::a_run_ends",
        ] {
            assert_eq!(index().find(named), Ok(()), "{named}");
        }
    }

    #[test]
    fn what_is_not_a_test_is_not_found() {
        let why = |named: &str| index().find(named).unwrap_err();
        assert_eq!(why("plan::retry::helper"), "crate `plan` has no test `helper`");
        assert_eq!(
            why("plan::try::retries_end"),
            "test `retries_end` is in `plan::machine::retry`, not in `try`"
        );
        assert_eq!(
            why("plan::retries_end"),
            "`plan::retries_end` does not say in which file of `plan` the test is"
        );
        assert_eq!(why("retries_end"), "`retries_end` is not of the form `crate::file::test_name`");
    }
}
