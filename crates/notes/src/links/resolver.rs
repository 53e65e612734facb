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
    /// Positions in `files`, sorted by folded name, then by the folders of the path from the last to the first. So the
    /// files whose paths end alike are beside each other. The ranges are those of `files`.
    by_end: Vec<u32>,
    shortest: ShortestPaths,
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

    /// Returns the segments of the path, the name first.
    fn segments(&self) -> impl Iterator<Item = &str> {
        self.folded.rsplit('/')
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
        let mut by_end: Vec<u32> = (0..).take(files.len()).collect();
        for same_name in by_end.chunk_by_mut(|a, b| files[*a as usize].name() == files[*b as usize].name()) {
            same_name
                .sort_unstable_by(|a, b| files[*a as usize].segments().cmp(files[*b as usize].segments()));
        }
        let shortest = ShortestPaths::of(&files);
        LinkResolver { files, by_length, by_end, shortest }
    }

    /// Returns the resolver for the vault after the files have moved.
    pub fn after(&self, moves: &FileMoves) -> LinkResolver {
        let moved = |file: &IndexedFile| {
            // No text of a note can name a path that is not UTF-8.
            let to = moves.after(&file.path).filter(|to| to.text().is_some())?;
            Some(if *to == file.path { file.clone() } else { IndexedFile::new(to.clone()) })
        };
        let added = moves.added().iter().filter(|path| path.text().is_some()).cloned().map(IndexedFile::new);
        LinkResolver::sorted(self.files.iter().filter_map(moved).chain(added).collect())
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
            let best = if folded.contains('/') {
                let ending = self.ending(named.clone(), &folded);
                let is_elsewhere = |file: &IndexedFile| {
                    folder.as_deref().is_none_or(|folder| !file.folded.starts_with(folder))
                };
                ending.min_by(|a, b| {
                    (is_elsewhere(a), a.length_order()).cmp(&(is_elsewhere(b), b.length_order()))
                })
            } else {
                let below = folder.as_deref().map(|folder| self.below(named.clone(), folder));
                let below = below.and_then(|below| self.shortest.in_range(&self.files, below));
                below.or_else(|| self.by_length[named.clone()].first().map(|at| &self.files[*at as usize]))
            };
            let best = &best?.folded;
            let group = &self.files[named];
            spelled_like(path, &group[group.partition_point(|file| file.folded < *best)..], best)
        };
        nearest_named(path).or_else(|| nearest_named(&with_md(path)))
    }

    /// Returns the files of one name whose paths end with these complete segments.
    fn ending(&self, named: Range<usize>, folded: &str) -> impl Iterator<Item = &IndexedFile> {
        let count = folded.split('/').count();
        let ending = |at: &u32| self.files[*at as usize].segments().take(count).cmp(folded.rsplit('/'));
        let same_name = &self.by_end[named];
        let rest = &same_name[same_name.partition_point(|at| ending(at).is_lt())..];
        let ending = &rest[..rest.partition_point(|at| ending(at).is_eq())];
        ending.iter().map(|at| &self.files[*at as usize])
    }

    /// Returns the range of the files of one name whose folded paths begin with `folder`.
    fn below(&self, named: Range<usize>, folder: &str) -> Range<usize> {
        let same_name = &self.files[named.clone()];
        let start = same_name.partition_point(|file| *file.folded < *folder);
        let count = same_name[start..].partition_point(|file| file.folded.starts_with(folder));
        named.start + start..named.start + start + count
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

/// Finds the shortest path in any range of files in logarithmic time: in a vault, thousands of notes can have the same
/// name below one folder, and each of them a link to it.
struct ShortestPaths {
    /// A binary tree in an array: the second half are the positions of all files, and each entry before is the one of
    /// its two children with the shorter path.
    tree: Vec<u32>,
}

impl ShortestPaths {
    fn of(files: &[IndexedFile]) -> ShortestPaths {
        let mut tree: Vec<u32> = vec![0; files.len()];
        tree.extend((0..).take(files.len()));
        for at in (1..files.len()).rev() {
            tree[at] = shorter(files, tree[2 * at], tree[2 * at + 1]);
        }
        ShortestPaths { tree }
    }

    fn in_range<'a>(&self, files: &'a [IndexedFile], range: Range<usize>) -> Option<&'a IndexedFile> {
        let mut best: Option<u32> = None;
        let mut take = |at: usize| {
            let found = self.tree[at];
            best = Some(best.map_or(found, |best| shorter(files, best, found)));
        };
        let (mut start, mut end) = (range.start + files.len(), range.end + files.len());
        while start < end {
            if start % 2 == 1 {
                take(start);
                start += 1;
            }
            if end % 2 == 1 {
                end -= 1;
                take(end);
            }
            (start, end) = (start / 2, end / 2);
        }
        best.map(|best| &files[best as usize])
    }
}

fn shorter(files: &[IndexedFile], a: u32, b: u32) -> u32 {
    if files[b as usize].length_order() < files[a as usize].length_order() { b } else { a }
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
    use proptest::prelude::{prop, prop_assert_eq, proptest};

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

    /// What the rules say, by looking at every file.
    fn nearest_of_all<'a>(files: &'a [VaultPath], source: &VaultPath, target: &str) -> Option<&'a VaultPath> {
        let folder = source.as_str().rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
        [target.to_owned(), format!("{target}.md")].iter().find_map(|target| {
            let ends = |file: &&VaultPath| {
                let before = file.as_str().strip_suffix(target.as_str());
                before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
            };
            let is_elsewhere = |file: &VaultPath| {
                folder.as_ref().is_none_or(|folder| !file.as_str().starts_with(folder.as_str()))
            };
            let key = |file: &&VaultPath| (is_elsewhere(file), file.as_str().len(), file.as_str().to_owned());
            files.iter().filter(ends).min_by_key(key)
        })
    }

    proptest! {
        #[test]
        fn the_index_finds_what_looking_at_every_file_finds(
            files in prop::collection::btree_set(r"([ab]/){0,4}[ab]\.md", 0..30),
            source in r"([ab]/){0,3}s\.md",
            target in r"([ab]/){0,2}[abc](\.md)?",
        ) {
            let files: Vec<VaultPath> = files.iter().map(|file| path(file)).collect();
            let index = LinkResolver::new(files.iter().cloned());
            let expected = nearest_of_all(&files, &path(&source), &target);
            prop_assert_eq!(index.nearest(&path(&source), &target), expected);
        }
    }

    /// Looking at each of the files of the name would take minutes.
    #[test]
    fn many_links_to_many_files_of_one_name_are_found_quickly() {
        let numbers = 0..40_000_u32;
        let index = LinkResolver::new(numbers.clone().map(|n| path(&format!("docs/deep/{n}/x/index.md"))));
        for n in numbers {
            let source = path(&format!("docs/{n}.md"));
            assert_eq!(index.find(&source, "index"), Some(&path("docs/deep/0/x/index.md")));
            let expected = path(&format!("docs/deep/{n}/x/index.md"));
            assert_eq!(index.find(&source, &format!("{n}/x/index")), Some(&expected));
        }
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
