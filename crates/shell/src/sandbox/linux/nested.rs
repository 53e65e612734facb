//! Protected names below the top of the vault: the `.git` of a repository in a folder, the `.git` file of a worktree
//! or a submodule, an `.obsidian` further down.
//!
//! They are looked for before a command, so that the sandbox can hold them in place, and again after it: one that a
//! command made anew could not be held, and is reported to the user.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Reach;

/// More folders than this are not searched, and more entries not held, for one command.
const MAX_FOLDERS: usize = 50_000;
const MAX_ENTRIES: usize = 500;

/// How many entries a warning names.
const MAX_NAMED: usize = 10;

/// Which file or folder a path leads to, and when its contents last changed. The change time cannot be set by a
/// command: a folder with the same stamp has the same entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    /// A file system may give the number of a removed file to the next one.
    created: Option<SystemTime>,
    changed: (i64, i64),
}

impl Stamp {
    fn of(about: &Metadata) -> Stamp {
        Stamp {
            device: about.dev(),
            inode: about.ino(),
            created: about.created().ok(),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    fn is_same_entry(self, other: Stamp) -> bool {
        (self.device, self.inode, self.created) == (other.device, other.inode, other.created)
    }
}

/// The protected entries below the top of a vault at one moment.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Nested {
    /// The vault. What is protected at its top is not nested and is not listed here.
    root: PathBuf,
    /// Every name that is protected, in lower case.
    names: Vec<String>,
    /// Protected folders, files and links, by path.
    entries: BTreeMap<PathBuf, Stamp>,
    /// Protected links. Nothing can be mounted on a link, so it cannot be held.
    links: BTreeSet<PathBuf>,
    /// Every folder that was searched.
    folders: BTreeMap<PathBuf, Stamp>,
    /// Set if the vault has more folders or protected entries than are looked at.
    incomplete: bool,
}

impl Nested {
    /// Searches the vault.
    pub(super) fn find(reach: &Reach) -> Nested {
        let names = reach.protected.iter().chain(&reach.hidden).map(|name| name.to_lowercase()).collect();
        let mut found = Nested { root: reach.root.clone(), names, ..Nested::default() };
        found.search(vec![reach.root.clone()]);
        found
    }

    /// Folders and files that can be held in place.
    pub(super) fn holdable(&self) -> impl Iterator<Item = &Path> {
        self.entries.keys().filter(|path| !self.links.contains(*path)).map(PathBuf::as_path)
    }

    /// Whether a folder holds a protected entry, or may hold one since it was not searched.
    pub(super) fn is_any_below(&self, folder: &Path) -> bool {
        self.incomplete || self.entries.keys().any(|path| path.starts_with(folder))
    }

    /// The folders between the root and each entry, outer ones first. An entry is only held if none of them can be
    /// moved away and another one put in its place.
    pub(super) fn parents(&self) -> BTreeSet<&Path> {
        let above = |path: &Path| path.ancestors().skip(1).take_while(|folder| *folder != self.root).count();
        self.holdable().flat_map(|path| path.ancestors().skip(1).take(above(path))).collect()
    }

    /// What is different now, one sentence each.
    pub(super) fn changes(&self) -> Vec<String> {
        let now = self.again();
        let added = now.entries.keys().filter(|path| !self.entries.contains_key(*path));
        let replaced = self.entries.iter().filter(|(path, before)| {
            !now.entries.get(*path).is_some_and(|stamp| stamp.is_same_entry(**before))
        });
        let mut said = Vec::new();
        said.extend(named(&self.root, added).map(|names| {
            format!(
                "{names} appeared while the command ran; programs load settings and code from it, so look at it before \
                 you use it"
            )
        }));
        said.extend(
            named(&self.root, replaced.map(|(path, _)| path))
                .map(|names| format!("{names} was removed or replaced while the command ran")),
        );
        if self.incomplete || now.incomplete {
            said.push(format!(
                "the vault has more than {MAX_FOLDERS} folders or {MAX_ENTRIES} nested repositories, so not all of \
                 them were protected"
            ));
        }
        said
    }

    /// The same search again. Only folders whose entries have changed are read.
    fn again(&self) -> Nested {
        let mut now = Nested { root: self.root.clone(), names: self.names.clone(), ..Nested::default() };
        let mut changed: BTreeSet<PathBuf> = BTreeSet::new();
        // Outer folders come first. What lies behind a link that took the place of one is not looked at.
        for (folder, before) in &self.folders {
            let is_reached = |parent: &Path| now.folders.contains_key(parent) || changed.contains(parent);
            if *folder != self.root && !folder.parent().is_some_and(is_reached) {
                continue;
            }
            match fs::symlink_metadata(folder) {
                Ok(about) if Stamp::of(&about) == *before => {
                    now.folders.insert(folder.clone(), *before);
                }
                Ok(about) if about.is_dir() => {
                    changed.insert(folder.clone());
                }
                Ok(_) | Err(_) => {}
            }
        }
        let is_unchanged = |path: &Path| path.parent().is_some_and(|parent| now.folders.contains_key(parent));
        let kept = self.entries.iter().filter(|(path, _)| is_unchanged(path));
        now.entries = kept.map(|(path, stamp)| (path.clone(), *stamp)).collect();
        now.search(changed.into_iter().collect());
        now
    }

    fn search(&mut self, mut folders: Vec<PathBuf>) {
        while let Some(folder) = folders.pop() {
            if self.folders.contains_key(&folder) {
                continue;
            }
            if self.folders.len() >= MAX_FOLDERS || self.entries.len() >= MAX_ENTRIES {
                self.incomplete = true;
                return;
            }
            let Ok(about) = fs::symlink_metadata(&folder) else { continue };
            // Stamped before it is read: what changes in between is read again.
            if !about.is_dir() {
                continue;
            }
            self.folders.insert(folder.clone(), Stamp::of(&about));
            // A folder that we cannot read cannot be read by the command either.
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                if self.is_protected(&entry.file_name()) {
                    if folder == self.root {
                        continue;
                    }
                    let Ok(about) = entry.metadata() else { continue };
                    if !kind.is_dir() && !kind.is_file() {
                        self.links.insert(entry.path());
                    }
                    self.entries.insert(entry.path(), Stamp::of(&about));
                } else if kind.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
    }

    fn is_protected(&self, name: &OsStr) -> bool {
        // Most names are no candidates, and need not be folded.
        let Some(name) = name.to_str().filter(|name| name.starts_with('.')) else { return false };
        let name = name.to_lowercase();
        self.names.contains(&name)
    }
}

/// `notes/a/.git, notes/b/.git and 3 more`, or nothing.
fn named<'a>(root: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Option<String> {
    let all: Vec<&PathBuf> = paths.collect();
    let shown = all.iter().take(MAX_NAMED).map(|path| {
        let path = path.strip_prefix(root).unwrap_or(path);
        format!("`{}`", path.display().to_string().escape_debug())
    });
    let shown: Vec<String> = shown.collect();
    let more = all.len() - shown.len();
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| format!("{}{tail}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::super::Limits;
    use super::{Nested, Reach};
    use crate::sandbox::ExecPolicy;

    fn reach(root: &Path) -> Reach {
        let limits = Limits { memory_bytes: 1, processes: 1, file_bytes: 1, open_files: 1 };
        Reach {
            root: root.to_owned(),
            protected: vec![".git".to_owned(), ".obsidian".to_owned()],
            hidden: Vec::new(),
            readable: Vec::new(),
            network: false,
            exec: ExecPolicy::unrestricted(),
            limits,
        }
    }

    fn put(path: &Path, text: &str) {
        fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// A vault with a repository, a worktree and a link, and what is said of it after it was changed.
    fn said(change: impl FnOnce(&Path)) -> Vec<String> {
        let vault = tempfile::tempdir().unwrap();
        let root = vault.path();
        fs::create_dir_all(root.join("a/repo/.git/hooks")).unwrap();
        fs::create_dir_all(root.join("a/tree/src")).unwrap();
        fs::create_dir_all(root.join("b")).unwrap();
        put(&root.join("a/tree/.GIT"), "gitdir: ../repo/.git\n");
        symlink("../repo/.git", root.join("a/repo/.obsidian")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        let before = Nested::find(&reach(root));
        let held: Vec<&Path> = before.holdable().map(|path| path.strip_prefix(root).unwrap()).collect();
        assert_eq!(held, [Path::new("a/repo/.git"), Path::new("a/tree/.GIT")]);
        let parents = before.parents();
        let parents: Vec<&Path> = parents.iter().map(|path| path.strip_prefix(root).unwrap()).collect();
        assert_eq!(parents, [Path::new("a"), Path::new("a/repo"), Path::new("a/tree")]);
        change(root);
        before.changes()
    }

    #[test]
    fn nothing_is_said_of_ordinary_changes() {
        let changes = |root: &Path| {
            put(&root.join("a/repo/note.md"), "new");
            fs::create_dir(root.join("b/more")).unwrap();
            put(&root.join("b/.gitignore"), "x");
        };
        assert_eq!(said(changes), [] as [&str; 0]);
    }

    #[test]
    fn what_is_new_is_named_wherever_it_is_and_whatever_it_is() {
        let changes = |root: &Path| {
            fs::create_dir_all(root.join("b/deep/er/.git")).unwrap();
            put(&root.join("a/tree/src/.obsidian"), "");
            symlink("x", root.join("b/.Git")).unwrap();
            fs::create_dir_all(root.join("New/.obsidian")).unwrap();
            fs::create_dir(root.join(".obsidian")).unwrap();
        };
        expect_test::expect![[r#"
            [
                "`New/.obsidian`, `a/tree/src/.obsidian`, `b/.Git`, `b/deep/er/.git` appeared while the command ran; programs load settings and code from it, so look at it before you use it",
            ]
        "#]]
        .assert_debug_eq(&said(changes));
    }

    #[test]
    fn what_was_moved_or_replaced_is_named() {
        let changes = |root: &Path| {
            fs::rename(root.join("a/repo"), root.join("b/repo")).unwrap();
            fs::create_dir_all(root.join("a/repo/.git")).unwrap();
        };
        expect_test::expect![[r#"
            [
                "`b/repo/.git`, `b/repo/.obsidian` appeared while the command ran; programs load settings and code from it, so look at it before you use it",
                "`a/repo/.git`, `a/repo/.obsidian` was removed or replaced while the command ran",
            ]
        "#]]
        .assert_debug_eq(&said(changes));
    }

    #[test]
    fn a_link_in_place_of_a_folder_is_not_followed() {
        let changes = |root: &Path| {
            fs::rename(root.join("a"), root.join("c")).unwrap();
            symlink("c", root.join("a")).unwrap();
        };
        expect_test::expect![[r#"
            [
                "`c/repo/.git`, `c/repo/.obsidian`, `c/tree/.GIT` appeared while the command ran; programs load settings and code from it, so look at it before you use it",
                "`a/repo/.git`, `a/repo/.obsidian`, `a/tree/.GIT` was removed or replaced while the command ran",
            ]
        "#]]
        .assert_debug_eq(&said(changes));
    }
}
