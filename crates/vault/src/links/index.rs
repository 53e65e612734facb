//! Finds the file that a link means.
//!
//! The rule, for a target written in a note:
//! 1. `/a/b` is the path from the root; `./a`, `../a` are paths from the folder of the note. Nothing else
//!    is tried for them.
//! 2. A name without a folder is looked for in the folder of the note, then anywhere.
//! 3. A path with folders is looked for from the root, then from the folder of the note, then as the end
//!    of any path.
//! 4. Of several files anywhere, the one with the shortest path is meant; of equally long ones the first
//!    in order.
//!
//! Each step tries the name as it is and then with `.md`. Names are compared folded; of files that fold
//! alike, the one that is spelled like the link is meant.

use envelope::VaultPath;

use super::fold::fold;
use super::link::{Link, LinkKind};
use super::moves::Moves;

/// All files of a vault, ready to be looked up by the end of their paths.
pub(crate) struct VaultIndex {
    /// By folded name, then shortest path first. A sorted list is a third of the size of a map and is
    /// searched in a fraction of a microsecond.
    files: Vec<File>,
}

#[derive(Clone)]
struct File {
    path: VaultPath,
    folded: Box<str>,
    /// Where the name begins in `folded`.
    name_at: usize,
}

impl File {
    fn new(path: VaultPath) -> File {
        let folded = fold(path.as_str()).into_boxed_str();
        let name_at = folded.len() - name_of(&folded).len();
        File { path, folded, name_at }
    }

    fn name(&self) -> &str {
        &self.folded[self.name_at..]
    }

    fn order(&self) -> (&str, usize, &str, &VaultPath) {
        (self.name(), self.folded.len(), &self.folded, &self.path)
    }

    /// Whether the path ends with these whole segments.
    fn ends_with(&self, folded: &str) -> bool {
        let before = self.folded.strip_suffix(folded);
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

impl VaultIndex {
    /// Every file counts, whatever its extension.
    pub(crate) fn new(paths: impl IntoIterator<Item = VaultPath>) -> VaultIndex {
        VaultIndex::sorted(paths.into_iter().map(File::new).collect())
    }

    fn sorted(mut files: Vec<File>) -> VaultIndex {
        files.sort_unstable_by(|a, b| a.order().cmp(&b.order()));
        VaultIndex { files }
    }

    /// The same vault when the files have moved.
    pub(super) fn after(&self, moves: &Moves) -> VaultIndex {
        let moved = |file: &File| {
            let to = moves.after(&file.path)?;
            Some(if *to == file.path { file.clone() } else { File::new(to.clone()) })
        };
        VaultIndex::sorted(self.files.iter().filter_map(moved).collect())
    }

    /// The file a link means. `None` when there is none, and for a link into its own note.
    pub(crate) fn resolve(&self, source: &VaultPath, link: &Link) -> Option<&VaultPath> {
        match link.kind {
            // A canvas names its files in full.
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
            return self.beside(source, target);
        }
        if !target.contains('/') {
            return self.beside(source, target).or_else(|| self.nearest(target));
        }
        self.at(target).or_else(|| self.beside(source, target)).or_else(|| self.nearest(target))
    }

    /// The file at a path from the folder of `source`.
    pub(super) fn beside(&self, source: &VaultPath, target: &str) -> Option<&VaultPath> {
        let folder = source.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut segments: Vec<&str> = folder.split('/').filter(|segment| !segment.is_empty()).collect();
        for segment in target.split('/') {
            match segment {
                "" | "." => {}
                // A path that climbs out of the vault means nothing in it.
                ".." => {
                    segments.pop()?;
                }
                name => segments.push(name),
            }
        }
        self.at(&segments.join("/"))
    }

    /// How many files a name without a folder could mean.
    pub(super) fn count_named(&self, name: &str) -> usize {
        let count = |name: &str| self.named(&fold(name)).len();
        count(name) + count(&with_md(name))
    }

    fn at(&self, path: &str) -> Option<&VaultPath> {
        self.exact(path).or_else(|| self.exact(&with_md(path)))
    }

    fn exact(&self, path: &str) -> Option<&VaultPath> {
        let folded = fold(path);
        let named = self.named(name_of(&folded));
        let start = named.partition_point(|file| {
            (file.folded.len(), file.folded.as_ref()) < (folded.len(), folded.as_str())
        });
        spelled_like(path, &named[start..], |file| *file.folded == *folded)
    }

    fn nearest(&self, path: &str) -> Option<&VaultPath> {
        let nearest_named = |path: &str| {
            let folded = fold(path);
            let named = self.named(name_of(&folded));
            let start = named.iter().position(|file| file.ends_with(&folded))?;
            let best = &named[start].folded;
            spelled_like(path, &named[start..], |file| file.folded == *best)
        };
        nearest_named(path).or_else(|| nearest_named(&with_md(path)))
    }

    /// The files with a name, shortest path first.
    fn named(&self, folded_name: &str) -> &[File] {
        let start = self.files.partition_point(|file| file.name() < folded_name);
        let rest = &self.files[start..];
        // Most names belong to one file or to none.
        match rest.iter().take(2).filter(|file| file.name() == folded_name).count() {
            2 => &rest[..rest.partition_point(|file| file.name() == folded_name)],
            few => &rest[..few],
        }
    }
}

/// Of the leading files that belong to the group, the one that is spelled like the path.
fn spelled_like<'a>(
    path: &str,
    files: &'a [File],
    in_group: impl Fn(&File) -> bool,
) -> Option<&'a VaultPath> {
    let group = || files.iter().take_while(|file| in_group(file));
    let file = group().find(|file| file.path.as_str().ends_with(path)).or_else(|| group().next())?;
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

    use super::VaultIndex;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    #[track_caller]
    fn check(files: &[&str], source: &str, means: &[(&str, Option<&str>)]) {
        let index = VaultIndex::new(files.iter().map(|file| path(file)));
        for (target, expected) in means {
            let found = index.find(&path(source), target).map(VaultPath::as_str);
            assert_eq!(found, *expected, "{target:?} in {source}");
        }
    }

    #[test]
    fn a_name_is_looked_for_beside_the_note_then_at_the_shortest_path() {
        let files = ["Note.md", "a/Note.md", "b/c/Note.md", "b/Other.md", "x/y/Other.md", "pic.png"];
        check(&files, "b/From.md", &[("Note", Some("Note.md")), ("Other", Some("b/Other.md"))]);
        check(&files, "a/From.md", &[("Note", Some("a/Note.md")), ("/Note", Some("Note.md"))]);
        check(
            &files,
            "x/From.md",
            &[("other.MD", Some("b/Other.md")), ("pic", None), ("pic.png", Some("pic.png"))],
        );
    }

    #[test]
    fn a_path_is_looked_for_from_the_root_then_from_the_note_then_as_an_end() {
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
