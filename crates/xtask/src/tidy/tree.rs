//! The files of the workspace, read once, so that every check is a function of data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;

use crate::command::ToolCommand;

/// Every file that belongs to the workspace, by its path from the root with `/` between segments.
#[derive(Debug, Default)]
pub(crate) struct SourceTree {
    texts: BTreeMap<String, String>,
    /// Files that are not text.
    others: BTreeSet<String>,
}

/// Folders that a walk without git leaves out: built or downloaded files.
const FOREIGN: [&str; 4] = ["target", ".git", "node_modules", ".tollgate"];

impl SourceTree {
    pub(crate) fn load(root: &Path) -> anyhow::Result<SourceTree> {
        let mut tree = SourceTree::default();
        for path in paths(root)? {
            // A file that was deleted but not yet committed is still in git's list.
            let Ok(bytes) = std::fs::read(root.join(&path)) else { continue };
            match String::from_utf8(bytes) {
                Ok(text) => tree.insert(&path, text),
                Err(_) => drop(tree.others.insert(path)),
            }
        }
        Ok(tree)
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> SourceTree {
        let mut tree = SourceTree::default();
        for (path, text) in files {
            tree.insert(path, (*text).to_owned());
        }
        tree
    }

    pub(crate) fn insert(&mut self, path: &str, text: String) {
        self.texts.insert(path.to_owned(), text);
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Path and text of every text file, in order of path.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The Rust sources.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// Documents of the product in Markdown, without the notes of sample vaults and tests.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| {
            path.ends_with(".md")
                && (!path.contains('/') || path.starts_with("docs/") || path.ends_with("/README.md"))
        })
    }

    /// Returns whether the path is a file, or a folder with files in it.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.texts.contains_key(path)
            || self.others.contains(path)
            || self.texts.range(folder.clone()..).next().is_some_and(|(next, _)| next.starts_with(&folder))
            || self.others.range(folder.clone()..).next().is_some_and(|next| next.starts_with(&folder))
    }
}

/// Returns the crate of a path: `crates/<crate>/…`.
pub(crate) fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split_once('/').map(|(name, _)| name)
}

/// Returns lines of code before the unit tests, without comments: a test may read files, and a comment may name a
/// forbidden word.
pub(crate) fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .take_while(|line| !line.starts_with("#[cfg(test)]"))
        .enumerate()
        .map(|(index, line)| (index + 1, line.split("//").next().unwrap_or(line)))
}

fn paths(root: &Path) -> anyhow::Result<Vec<String>> {
    let git = ToolCommand::new(&["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    if root.join(".git").exists()
        && let Ok(list) = git.read()
    {
        return Ok(list.split_terminator('\0').map(str::to_owned).collect());
    }
    let mut found = Vec::new();
    walk(root, "", &mut found)?;
    Ok(found)
}

/// Lists the files of a tree without git, such as an unpacked archive.
fn walk(root: &Path, folder: &str, found: &mut Vec<String>) -> anyhow::Result<()> {
    let listing = std::fs::read_dir(root.join(folder)).with_context(|| format!("cannot list `{folder}`"))?;
    for entry in listing {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if !entry.file_type()?.is_dir() {
            found.push(path);
        } else if !FOREIGN.contains(&name.as_str()) {
            walk(root, &path, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{SourceTree, crate_of};

    #[test]
    fn a_folder_exists_when_something_is_in_it() {
        let tree = SourceTree::of(&[("docs/decisions/0001-a.md", ""), ("README.md", "")]);
        let exist = ["", "README.md", "docs", "docs/decisions", "docs/decisions/0001-a.md"];
        assert!(exist.iter().all(|path| tree.exists(path)));
        assert!(!["doc", "docs/decision", "README"].iter().any(|path| tree.exists(path)));
    }

    #[test]
    fn a_note_of_a_sample_vault_is_not_a_document() {
        let tree = SourceTree::of(&[
            ("ARCHITECTURE.md", ""),
            ("crates/tollgate/demo/Inbox.md", ""),
            ("crates/vault/README.md", ""),
            ("docs/STYLE.md", ""),
        ]);
        let documents: Vec<&str> = tree.documents().map(|(path, _)| path).collect();
        assert_eq!(documents, ["ARCHITECTURE.md", "crates/vault/README.md", "docs/STYLE.md"]);
        assert_eq!(crate_of("crates/vault/README.md"), Some("vault"));
        assert_eq!(crate_of("docs/STYLE.md"), None);
    }
}
