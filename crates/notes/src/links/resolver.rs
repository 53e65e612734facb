//! Link resolver: finds the file that a link points to.
//!
//! The rules for a target in a note are those of Obsidian:
//! 1. `/a/b` is a path from the root; `./a` and `../a` are paths from the folder of the note. No other
//!    location is tried.
//! 2. Any other target, also a name without a folder, is first a path from the root.
//! 3. Otherwise it is the end of a path. Files below the folder of the note come first, then the shortest path wins,
//!    counted in UTF-16 code units; of equally long paths, the first in order.
//!
//! Each step tries the name as given and then with `.md`. Names are compared folded; if several files fold to
//! the same name, the one spelled like the link wins.

use std::ops::Range;

use envelope::VaultPath;

use super::file_moves::FileMoves;
use super::fold::{fold, linked_path};
use super::link::{LinkKind, NoteLink};

/// All files of a vault, indexed by the end of their paths.
pub struct LinkResolver {
    /// Sorted by folded name, then by folded path. A sorted list takes a third of the memory of a map, and a lookup takes
    /// a fraction of a microsecond.
    files: Vec<IndexedFile>,
    /// Positions in `files`, sorted by folded name, then shortest path first. The files of one name have the same range
    /// in both lists.
    by_length: Vec<u32>,
}

#[derive(Clone)]
struct IndexedFile {
    path: VaultPath,
    folded: Box<str>,
    /// Offset of the name in `folded`.
    name_at: usize,
    /// Length of the path in UTF-16 code units.
    length: usize,
}

impl IndexedFile {
    fn new(path: VaultPath) -> IndexedFile {
        let linked = linked_path(&path);
        let folded = fold(&linked).into_boxed_str();
        let name_at = folded.len() - name_of(&folded).len();
        let length = linked.encode_utf16().count();
        drop(linked);
        IndexedFile { path, folded, name_at, length }
    }

    fn name(&self) -> &str {
        &self.folded[self.name_at..]
    }

    fn order(&self) -> (&str, &str, &VaultPath) {
        (self.name(), &self.folded, &self.path)
    }

    fn length_order(&self) -> (usize, &str, &VaultPath) {
        (self.length, &self.folded, &self.path)
    }

    /// Whether the path ends with these complete segments.
    fn ends_with(&self, folded: &str) -> bool {
        let before = self.folded.strip_suffix(folded);
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

impl LinkResolver {
    /// Indexes all files, regardless of extension. No link can name a file whose name is not UTF-8, so none leads to one.
    pub fn new(paths: impl IntoIterator<Item = VaultPath>) -> LinkResolver {
        let linkable = paths.into_iter().filter(|path| path.text().is_some());
        LinkResolver::sorted(linkable.map(IndexedFile::new).collect())
    }

    fn sorted(mut files: Vec<IndexedFile>) -> LinkResolver {
        files.sort_unstable_by(|a, b| a.order().cmp(&b.order()));
        let mut by_length: Vec<u32> = (0..).take(files.len()).collect();
        for same_name in by_length.chunk_by_mut(|a, b| files[*a as usize].name() == files[*b as usize].name())
        {
            same_name.sort_unstable_by(|a, b| {
                files[*a as usize].length_order().cmp(&files[*b as usize].length_order())
            });
        }
        LinkResolver { files, by_length }
    }

    /// Returns the resolver for the vault after the files have moved.
    pub(super) fn after(&self, moves: &FileMoves) -> LinkResolver {
        let moved = |file: &IndexedFile| {
            let to = moves.after(&file.path)?;
            Some(if *to == file.path { file.clone() } else { IndexedFile::new(to.clone()) })
        };
        LinkResolver::sorted(self.files.iter().filter_map(moved).collect())
    }

    /// Returns the file that a link points to. Returns `None` if the file does not exist, or for a link into
    /// its own note.
    pub fn resolve(&self, source: &VaultPath, link: &NoteLink) -> Option<&VaultPath> {
        match link.kind {
            // A canvas names its files by full path.
            LinkKind::CanvasFile => self.exact(&link.target),
            LinkKind::Wiki
            | LinkKind::Embed
            | LinkKind::Markdown
            | LinkKind::MarkdownImage
            | LinkKind::Definition
            | LinkKind::Property
            | LinkKind::CanvasText => self.find(source, &link.target),
        }
    }

    pub(super) fn find(&self, source: &VaultPath, target: &str) -> Option<&VaultPath> {
        if target.is_empty() {
            return None;
        }
        if let Some(from_root) = target.strip_prefix('/') {
            return self.at(from_root);
        }
        if is_dotted(target) {
            return self.find_relative(source, target);
        }
        self.at(target).or_else(|| self.nearest(source, target))
    }

    /// Returns the file at a path relative to the folder of `source`.
    pub(super) fn find_relative(&self, source: &VaultPath, target: &str) -> Option<&VaultPath> {
        let source = linked_path(source);
        let folder = source.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut segments: Vec<&str> = folder.split('/').filter(|segment| !segment.is_empty()).collect();
        for segment in target.split('/') {
            match segment {
                "" | "." => {}
                // A path that leaves the vault resolves to nothing.
                ".." => {
                    segments.pop()?;
                }
                name => segments.push(name),
            }
        }
        self.at(&segments.join("/"))
    }

    /// Returns how many files a name without a folder could refer to.
    pub(super) fn count_named(&self, name: &str) -> usize {
        let count = |name: &str| self.named(&fold(name)).count();
        count(name) + count(&with_md(name))
    }

    fn at(&self, path: &str) -> Option<&VaultPath> {
        self.exact(path).or_else(|| self.exact(&with_md(path)))
    }

    fn exact(&self, path: &str) -> Option<&VaultPath> {
        let folded = fold(path);
        let named = &self.files[self.named(name_of(&folded))];
        let start = named.partition_point(|file| *file.folded < *folded);
        spelled_like(path, &named[start..], &folded)
    }

    /// Returns the file whose path ends with `path`; those below the folder of `source` come first, then the shortest.
    fn nearest(&self, source: &VaultPath, path: &str) -> Option<&VaultPath> {
        let folder = linked_path(source).rsplit_once('/').map(|(folder, _)| fold(folder) + "/");
        let nearest_named = |path: &str| {
            let folded = fold(path);
            let named = self.named(name_of(&folded));
            let below = folder.as_deref().and_then(|folder| {
                let files = below(&self.files[named.clone()], folder);
                files.iter().filter(|file| file.ends_with(&folded)).min_by_key(|file| file.length_order())
            });
            let anywhere = || {
                let mut shortest_first = self.by_length[named.clone()].iter();
                shortest_first.find_map(|at| Some(&self.files[*at as usize]).filter(|f| f.ends_with(&folded)))
            };
            let best = &below.or_else(anywhere)?.folded;
            let group = &self.files[named];
            spelled_like(path, &group[group.partition_point(|file| file.folded < *best)..], best)
        };
        nearest_named(path).or_else(|| nearest_named(&with_md(path)))
    }

    /// Returns the range of the files with this name.
    fn named(&self, folded_name: &str) -> Range<usize> {
        let start = self.files.partition_point(|file| file.name() < folded_name);
        let rest = &self.files[start..];
        // Most names belong to at most one file.
        let count = match rest.iter().take(2).filter(|file| file.name() == folded_name).count() {
            2 => rest.partition_point(|file| file.name() == folded_name),
            few => few,
        };
        start..start + count
    }
}

/// Returns the files of one name whose folded paths begin with `folder`.
fn below<'a>(files: &'a [IndexedFile], folder: &str) -> &'a [IndexedFile] {
    let rest = &files[files.partition_point(|file| *file.folded < *folder)..];
    &rest[..rest.partition_point(|file| file.folded.starts_with(folder))]
}

/// Of the first files, those with this folded path, returns the one spelled like the path.
fn spelled_like<'a>(path: &str, files: &'a [IndexedFile], folded: &str) -> Option<&'a VaultPath> {
    let group = || files.iter().take_while(|file| *file.folded == *folded);
    let file = group().find(|file| linked_path(&file.path).ends_with(path)).or_else(|| group().next())?;
    Some(&file.path)
}

pub(super) fn is_dotted(target: &str) -> bool {
    target.split('/').any(|segment| matches!(segment, "." | ".."))
}

fn with_md(path: &str) -> String {
    format!("{path}.md")
}

#[cfg(test)]
mod tests {
    use envelope::VaultPath;

    use super::LinkResolver;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    #[track_caller]
    fn check(files: &[&str], source: &str, means: &[(&str, Option<&str>)]) {
        let index = LinkResolver::new(files.iter().map(|file| path(file)));
        for (target, expected) in means {
            let found = index.find(&path(source), target).map(VaultPath::as_str);
            assert_eq!(found, *expected, "{target:?} in {source}");
        }
    }

    #[test]
    fn a_name_is_a_path_from_the_root_then_below_the_folder_then_at_the_shortest_path() {
        let files = ["Note.md", "a/Note.md", "b/c/Note.md", "b/Other.md", "x/y/Other.md", "pic.png"];
        check(&files, "b/From.md", &[("Note", Some("Note.md")), ("Other", Some("b/Other.md"))]);
        check(&files, "a/From.md", &[("Note", Some("Note.md")), ("./Note", Some("a/Note.md"))]);
        check(
            &files,
            "x/From.md",
            &[("other.MD", Some("x/y/Other.md")), ("pic", None), ("pic.png", Some("pic.png"))],
        );
        let files = ["a/b/c/Note.md", "a/x/Note.md", "z/Note.md", "y/Note.md"];
        check(&files, "a/b/From.md", &[("Note", Some("a/b/c/Note.md"))]);
        check(&files, "a/From.md", &[("Note", Some("a/x/Note.md"))]);
        check(&files, "q/From.md", &[("Note", Some("y/Note.md"))]);
        check(&files, "From.md", &[("Note", Some("y/Note.md")), ("x/Note", Some("a/x/Note.md"))]);
    }

    #[test]
    fn a_path_is_looked_for_from_the_root_then_below_the_folder_then_as_the_shortest_end() {
        let files = ["a/Note.md", "b/a/Note.md", "b/c/Note.md", "d/c/Note.md", "d/e/f/Note.md"];
        check(
            &files,
            "b/From.md",
            &[
                ("a/Note", Some("a/Note.md")),
                ("c/Note", Some("b/c/Note.md")),
                ("f/Note", Some("d/e/f/Note.md")),
                ("/f/Note", None),
                ("./a/Note", Some("b/a/Note.md")),
                ("../d/c/Note.md", Some("d/c/Note.md")),
                ("../../d/c/Note.md", None),
                ("ote", None),
                ("", None),
            ],
        );
        check(&files, "d/e/From.md", &[("c/Note", Some("b/c/Note.md"))]);
    }

    /// Bytes would put the emoji after the umlauts, and a folded `ß` has two characters.
    #[test]
    fn lengths_are_counted_in_utf16_code_units() {
        let files = ["ööö/Note.md", "🚀🚀/Note.md", "aaaaa/Note.md"];
        check(&files, "x/From.md", &[("Note", Some("ööö/Note.md"))]);
        let files = ["ßßß/Note.md", "aaaa/Note.md"];
        check(&files, "x/From.md", &[("Note", Some("ßßß/Note.md"))]);
    }

    #[test]
    fn names_are_compared_folded_and_spelling_breaks_the_tie() {
        let files = ["Cafe\u{301}.md", "ΟΔΟΣ.md", "t/note.md", "t/Note.md", "a b.md", "v1.2 plan.md"];
        check(
            &files,
            "x.md",
            &[
                ("CAFÉ", Some("Cafe\u{301}.md")),
                ("οδος", Some("ΟΔΟΣ.md")),
                ("οδοσ.md", Some("ΟΔΟΣ.md")),
                ("t/Note", Some("t/Note.md")),
                ("note", Some("t/note.md")),
                ("a\u{a0}b", Some("a b.md")),
                ("v1.2 plan", Some("v1.2 plan.md")),
            ],
        );
    }
}
