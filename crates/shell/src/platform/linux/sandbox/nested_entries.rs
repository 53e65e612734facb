//! Protected entries below the top level of the vault: the `.git` of a repository in a folder, the `.git` file of a
//! worktree or a submodule, an `.obsidian` further down.
//!
//! They are found before a command, so that the sandbox can hold them in place, and again after it: an entry that the
//! command created could not be held, and is reported to the user.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::SandboxProfile;

/// Limits of searched folders and of held entries for one command.
const MAX_FOLDERS: usize = 50_000;
const MAX_ENTRIES: usize = 500;

/// Entries that a warning names.
const MAX_NAMED: usize = 10;

/// Identity of a file or folder, and its change time. A command cannot set the change time: a folder with the same
/// stamp has the same entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EntryStamp {
    device: u64,
    inode: u64,
    /// A file system may reuse the inode number of a removed file.
    created: Option<SystemTime>,
    changed: (i64, i64),
}

impl EntryStamp {
    fn of(about: &Metadata) -> EntryStamp {
        EntryStamp {
            device: about.dev(),
            inode: about.ino(),
            created: about.created().ok(),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    fn is_same_entry(self, other: EntryStamp) -> bool {
        (self.device, self.inode, self.created) == (other.device, other.inode, other.created)
    }
}

/// The protected entries below the top level of a vault at one moment.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct NestedEntries {
    /// The vault. Protected entries at its top level are not nested and are not listed here.
    root: PathBuf,
    /// All protected names in lower case.
    names: Vec<String>,
    /// Protected folders, files and links, by path.
    entries: BTreeMap<PathBuf, EntryStamp>,
    /// Protected links. They cannot be held, because a link cannot be a mount point.
    links: BTreeSet<PathBuf>,
    /// All folders that were searched.
    folders: BTreeMap<PathBuf, EntryStamp>,
    /// Set if the vault exceeds the limits.
    incomplete: bool,
}

impl NestedEntries {
    /// Searches the vault.
    pub(super) fn find(profile: &SandboxProfile) -> NestedEntries {
        let names = profile.protected.iter().chain(&profile.hidden).map(|name| name.to_lowercase()).collect();
        let mut found = NestedEntries { root: profile.root.clone(), names, ..NestedEntries::default() };
        found.search(vec![profile.root.clone()]);
        found
    }

    /// Folders and files that can be held in place.
    pub(super) fn holdable(&self) -> impl Iterator<Item = &Path> {
        self.entries.keys().filter(|path| !self.links.contains(*path)).map(PathBuf::as_path)
    }

    /// Whether a folder holds a protected entry, or may hold one because it was not searched.
    pub(super) fn is_any_below(&self, folder: &Path) -> bool {
        self.incomplete || self.entries.keys().any(|path| path.starts_with(folder))
    }

    /// Returns the folders between the root and each entry, outer ones first. An entry is only held if none of them can
    /// be moved away and replaced.
    pub(super) fn parents(&self) -> BTreeSet<&Path> {
        let above = |path: &Path| path.ancestors().skip(1).take_while(|folder| *folder != self.root).count();
        self.holdable().flat_map(|path| path.ancestors().skip(1).take(above(path))).collect()
    }

    /// Returns the differences to the current state, one sentence each.
    pub(super) fn changes(&self) -> Vec<String> {
        let now = self.refresh();
        let added = now.entries.keys().filter(|path| !self.entries.contains_key(*path));
        let replaced = self.entries.iter().filter(|(path, before)| {
            !now.entries.get(*path).is_some_and(|stamp| stamp.is_same_entry(**before))
        });
        let mut output = Vec::new();
        output.extend(format_paths(&self.root, added).map(|names| {
            format!(
                "{names} appeared while the command ran; programs load settings and code from it, so look at it before \
                 you use it"
            )
        }));
        output.extend(
            format_paths(&self.root, replaced.map(|(path, _)| path))
                .map(|names| format!("{names} was removed or replaced while the command ran")),
        );
        if self.incomplete || now.incomplete {
            output.push(format!(
                "the vault has more than {MAX_FOLDERS} folders or {MAX_ENTRIES} nested repositories, so not all of \
                 them were protected"
            ));
        }
        output
    }

    /// Searches again. Only folders whose entries have changed are read.
    fn refresh(&self) -> NestedEntries {
        let mut now =
            NestedEntries { root: self.root.clone(), names: self.names.clone(), ..NestedEntries::default() };
        let mut changed: BTreeSet<PathBuf> = BTreeSet::new();
        // Outer folders come first. A link that replaced a folder is not followed.
        for (folder, before) in &self.folders {
            let is_reached = |parent: &Path| now.folders.contains_key(parent) || changed.contains(parent);
            if *folder != self.root && !folder.parent().is_some_and(is_reached) {
                continue;
            }
            match fs::symlink_metadata(folder) {
                Ok(about) if EntryStamp::of(&about) == *before => {
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
            // Stamped before it is read: a change in between is seen by the next search.
            if !about.is_dir() {
                continue;
            }
            self.folders.insert(folder.clone(), EntryStamp::of(&about));
            // The command cannot read a folder that we cannot read.
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
                    self.entries.insert(entry.path(), EntryStamp::of(&about));
                } else if kind.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
    }

    fn is_protected(&self, name: &OsStr) -> bool {
        // Most names do not start with a dot, and need not be converted.
        let Some(name) = name.to_str().filter(|name| name.starts_with('.')) else { return false };
        let name = name.to_lowercase();
        self.names.contains(&name)
    }
}

/// Formats `notes/a/.git, notes/b/.git and 3 more`. `None` without paths.
fn format_paths<'a>(root: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Option<String> {
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

    use super::super::ResourceLimits;
    use super::{NestedEntries, SandboxProfile};
    use crate::sandbox::ExecPolicy;

    fn profile(root: &Path) -> SandboxProfile {
        let limits = ResourceLimits { memory_bytes: 1, processes: 1, file_bytes: 1, open_files: 1 };
        SandboxProfile {
            root: root.to_owned(),
            protected: vec![".git".to_owned(), ".obsidian".to_owned()],
            hidden: Vec::new(),
            readable: Vec::new(),
            writable: Vec::new(),
            network: false,
            exec: ExecPolicy::unrestricted(),
            limits,
        }
    }

    fn put(path: &Path, text: &str) {
        fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Returns the warnings after a change in a vault with a repository, a worktree and a link.
    fn output(change: impl FnOnce(&Path)) -> Vec<String> {
        let vault = tempfile::tempdir().unwrap();
        let root = vault.path();
        fs::create_dir_all(root.join("a/repo/.git/hooks")).unwrap();
        fs::create_dir_all(root.join("a/tree/src")).unwrap();
        fs::create_dir_all(root.join("b")).unwrap();
        put(&root.join("a/tree/.GIT"), "gitdir: ../repo/.git\n");
        symlink("../repo/.git", root.join("a/repo/.obsidian")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        let before = NestedEntries::find(&profile(root));
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
        assert_eq!(output(changes), [] as [&str; 0]);
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
        .assert_debug_eq(&output(changes));
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
        .assert_debug_eq(&output(changes));
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
        .assert_debug_eq(&output(changes));
    }
}
