//! Requires uniform manifests: the workspace's lints, no doc tests, dependencies from the workspace table that the sources
//! use.

use super::manifest::{ManifestEntry, entries};
use super::problem::TidyProblem;
use super::tree::{SourceTree, crate_of};

/// Dependencies with default features, and why. All others turn them off.
const DEFAULT_FEATURES_WANTED: [(&str, &str); 10] = [
    ("expect-test", "has none"),
    ("itoa", "has none"),
    ("json-canon", "has none"),
    ("rustix", "std, which every user of it links anyway"),
    ("serde", "std"),
    ("serde_jcs", "has none"),
    ("serde_json", "std"),
    ("strsim", "has none"),
    ("tempfile", "getrandom, so that names cannot be guessed"),
    ("thiserror", "std"),
];

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        let entries = entries(text);
        match crate_of(path) {
            Some(folder) => member(tree, path, folder, &entries, &mut problems),
            None => table(path, &entries, &mut problems),
        }
        for entry in entries.iter().filter(|entry| entry.value.contains("git =")) {
            problems.push(TidyProblem::line(
                path,
                entry.line,
                format!("`{}` comes from a git repository", entry.key),
                "use a release from the registry, which cannot change or vanish",
            ));
        }
    }
    problems
}

fn member(
    tree: &SourceTree,
    path: &str,
    folder: &str,
    entries: &[ManifestEntry<'_>],
    problems: &mut Vec<TidyProblem>,
) {
    let has = |section: &str, key: &str, value: &str| {
        entries.iter().any(|entry| entry.section == section && entry.key == key && entry.value == value)
    };
    if !has("lints", "workspace", "true") {
        problems.push(TidyProblem::file(
            path,
            "the workspace lints are off",
            "add `[lints]` `workspace = true`",
        ));
    }
    if !has("package", "name", &format!("\"{folder}\"")) {
        problems.push(TidyProblem::file(
            path,
            "the crate is not called like its folder",
            "rename one of them",
        ));
    }
    if tree.exists(&format!("crates/{folder}/src/lib.rs")) && !has("lib", "doctest", "false") {
        problems.push(TidyProblem::file(
            path,
            "doc tests are on",
            "add `[lib]` `doctest = false`; each doc test links a binary of its own",
        ));
    }
    for entry in entries.iter().filter(|entry| entry.section.ends_with("dependencies")) {
        if !entry.key.ends_with(".workspace") && !entry.value.contains("workspace = true") {
            problems.push(TidyProblem::line(
                path,
                entry.line,
                format!("`{}` does not come from the workspace table", entry.key),
                "declare it in the root Cargo.toml and write `workspace = true` here",
            ));
        }
        let name = entry.key.split('.').next().unwrap_or(entry.key);
        if entry.section == "dependencies" && !is_named_in_sources(tree, folder, name) {
            problems.push(TidyProblem::line(
                path,
                entry.line,
                format!("no source of the crate names `{name}`"),
                "remove it, or move it to `[dev-dependencies]`",
            ));
        }
    }
}

/// Returns true if a file below the crate's `src` contains the name as a word, as it is written in Rust.
fn is_named_in_sources(tree: &SourceTree, folder: &str, name: &str) -> bool {
    let (sources, word) = (format!("crates/{folder}/src/"), name.replace('-', "_"));
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    tree.texts().filter(|(path, _)| path.starts_with(&sources)).any(|(_, text)| {
        text.match_indices(&word).any(|(start, _)| {
            !text[..start].ends_with(is_part) && !text[start + word.len()..].starts_with(is_part)
        })
    })
}

fn table(path: &str, entries: &[ManifestEntry<'_>], problems: &mut Vec<TidyProblem>) {
    for entry in entries.iter().filter(|entry| entry.section == "workspace.dependencies") {
        let ours = entry.value.contains("path =");
        let wanted = DEFAULT_FEATURES_WANTED.iter().any(|(name, _)| *name == entry.key);
        if !ours && !wanted && !entry.value.contains("default-features = false") {
            problems.push(TidyProblem::line(
                path,
                entry.line,
                format!("`{}` takes its default features", entry.key),
                "write `default-features = false`, or give the reason in xtask's `manifests.rs`",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::check;
    use crate::tidy::problem::listed;
    use crate::tidy::tree::SourceTree;

    #[test]
    fn a_crate_that_is_declared_like_the_others_passes() {
        let manifest = "[package]\nname = \"plan\"\n[lib]\ndoctest = false\n[lints]\nworkspace = true\n\
                        [dependencies]\nserde.workspace = true\ntokio = { workspace = true, features = [\"rt\"] }\n";
        let root = "[workspace.dependencies]\nplan = { path = \"crates/plan\" }\nserde = \"1\"\n\
                    toml = { version = \"1\", default-features = false }\n";
        let tree = SourceTree::of(&[
            ("Cargo.toml", root),
            ("crates/plan/Cargo.toml", manifest),
            ("crates/plan/src/lib.rs", "use serde::Serialize;\nuse tokio::time;\n"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn each_departure_is_named() {
        let manifest =
            "[package]\nname = \"plans\"\n[dependencies]\nserde = \"1\"\nbase-x.workspace = true\n";
        let root = "[workspace.dependencies]\nhyper = \"1\"\nfork = { git = \"https://example.org/fork\", \
                    default-features = false }\n";
        let tree = SourceTree::of(&[
            ("Cargo.toml", root),
            ("crates/plan/Cargo.toml", manifest),
            ("crates/plan/src/lib.rs", "use serde::Serialize;\nlet base_x2 = 1;\n"),
        ]);
        expect![[r"
            Cargo.toml:2: `hyper` takes its default features: write `default-features = false`, or give the reason in xtask's `manifests.rs`
            Cargo.toml:3: `fork` comes from a git repository: use a release from the registry, which cannot change or vanish
            crates/plan/Cargo.toml: the workspace lints are off: add `[lints]` `workspace = true`
            crates/plan/Cargo.toml: the crate is not called like its folder: rename one of them
            crates/plan/Cargo.toml: doc tests are on: add `[lib]` `doctest = false`; each doc test links a binary of its own
            crates/plan/Cargo.toml:4: `serde` does not come from the workspace table: declare it in the root Cargo.toml and write `workspace = true` here
            crates/plan/Cargo.toml:5: no source of the crate names `base-x`: remove it, or move it to `[dev-dependencies]`
        "]]
        .assert_eq(&listed(&check(&tree)));
    }
}
