//! Requires one version of each crate: a second one is built, audited and shipped twice.

use std::collections::BTreeMap;

use super::problem::TidyProblem;
use super::tree::SourceTree;

const LOCKFILE: &str = "Cargo.lock";

/// Crates that are in the lock file more than once, by the start of their name, and why that cannot be avoided.
const ALLOWED: [(&str, &str); 13] = [
    ("base64", "axum's WebSocket asks for 0.22, the token counter of a benchmark for 0.23"),
    ("bitflags", "1 is asked for by crates that only another system builds"),
    ("block-buffer", "follows digest"),
    ("cpufeatures", "follows digest"),
    ("crypto-common", "follows digest"),
    ("digest", "axum's WebSocket greets with the sha1 of 0.10, sha2 is at 0.11"),
    ("getrandom", "jsonschema's ahash asks for 0.3, uuid and tempfile for 0.4"),
    ("io-lifetimes", "fs-set-times has not followed cap-std to 3 yet"),
    ("r-efi", "follows getrandom; built for UEFI only"),
    ("rand", "tungstenite masks with 0.9, proptest draws with 0.10"),
    ("ryu-js", "the crates that the benchmark measures against ask for 0.2; never in the binary"),
    ("syn", "proc macros move from 2 to 3 one by one; build time only"),
    ("windows", "the bindings follow each user's release; built for Windows only"),
];

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    let Some(text) = tree.text(LOCKFILE) else {
        return vec![TidyProblem::file(LOCKFILE, "there is no lock file", "run `cargo build` and commit it")];
    };
    let mut versions: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
    let mut name = None;
    for (index, line) in text.lines().enumerate() {
        if let Some(found) = quoted(line, "name = ") {
            name = Some((found, index + 1));
        } else if let (Some(version), Some((name, line))) = (quoted(line, "version = "), name) {
            versions.entry(name).or_default().push((line, version));
        }
    }
    versions.retain(|_, found| found.len() > 1);

    let mut problems = Vec::new();
    for (name, found) in &versions {
        if !ALLOWED.iter().any(|(allowed, _)| name.starts_with(allowed)) {
            let list: Vec<&str> = found.iter().map(|(_, version)| *version).collect();
            let line = found.last().map_or(1, |(line, _)| *line);
            problems.push(TidyProblem::line(
                LOCKFILE,
                line,
                format!("`{name}` is there as {}", list.join(" and ")),
                format!("agree on one (`cargo tree -i {name}`), or give the reason in xtask's `lockfile.rs`"),
            ));
        }
    }
    for (allowed, _) in ALLOWED {
        if !versions.keys().any(|name| name.starts_with(allowed)) {
            problems.push(TidyProblem::file(
                LOCKFILE,
                format!("`{allowed}` is no longer there twice"),
                "take it out of the list in xtask's `lockfile.rs`",
            ));
        }
    }
    problems
}

fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{ALLOWED, check};
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    fn lock(packages: &[(&str, &str)]) -> SourceTree {
        let text: String = packages
            .iter()
            .map(|(name, version)| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n"))
            .collect();
        SourceTree::of(&[("Cargo.lock", &text)])
    }

    #[test]
    fn a_second_version_needs_a_reason_and_a_reason_needs_a_second_version() {
        let mut packages: Vec<(&str, &str)> =
            ALLOWED.iter().flat_map(|(name, _)| [(*name, "1.0.0"), (*name, "2.0.0")]).collect();
        assert_eq!(check(&lock(&packages)), []);

        packages.retain(|package| *package != ("syn", "2.0.0"));
        packages.extend([("hyper", "0.14.1"), ("hyper", "1.2.0"), ("serde", "1.0.0")]);
        expect![[r#"
            Cargo.lock:106: `hyper` is there as 0.14.1 and 1.2.0: agree on one (`cargo tree -i hyper`), or give the reason in xtask's `lockfile.rs`
            Cargo.lock: `syn` is no longer there twice: take it out of the list in xtask's `lockfile.rs`
        "#]]
        .assert_eq(&listed(&check(&lock(&packages))));
    }
}
