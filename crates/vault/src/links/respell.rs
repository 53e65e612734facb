//! Decides whether a link has to be written anew, and what it says then.
//!
//! A link is left alone when it still means the same file and still says its name. Otherwise it is written
//! in the manner it was: a short name while only one file has it, a relative path relative, a path from the
//! root from the root. A manner that would mean another file gives way to the full path, and that to the
//! full path with a leading `/`, which means one file only.

use envelope::VaultPath;

use super::fold::fold;
use super::index::{VaultIndex, is_dotted};
use super::link::Link;

/// A link that has to change: its file before and after.
pub(super) struct Respell<'a> {
    pub(super) before: &'a VaultIndex,
    pub(super) after: &'a VaultIndex,
    pub(super) source_before: &'a VaultPath,
    pub(super) source_after: &'a VaultPath,
}

impl Respell<'_> {
    /// Whether the link can stay as it is.
    ///
    /// Other readers of Markdown know relative paths only. So a Markdown link that is right for them stays
    /// right for them, even where Obsidian would find its file all the same.
    pub(super) fn still_right(&self, link: &Link, old: &VaultPath, new: &VaultPath) -> bool {
        let relative_kept = !self.is_relative(link, old)
            || !link.is_markdown()
            || self.after.beside(self.source_after, &link.target) == Some(new);
        old.name() == new.name() && self.after.resolve(self.source_after, link) == Some(new) && relative_kept
    }

    /// The ways to write the link, best first. All of them mean the new file.
    pub(super) fn targets(&self, link: &Link, old: &VaultPath, new: &VaultPath) -> Vec<String> {
        let with_extension = fold(name_of(&link.target)) == fold(old.name());
        let mut ways = Vec::new();
        match new.as_str().strip_suffix(".md") {
            Some(stem) if !with_extension => {
                ways = self.ways(link, old, stem);
                // A file without an extension may have the shorter name for itself.
                ways.push(format!("/{new}"));
            }
            _ => ways.extend(self.ways(link, old, new.as_str())),
        }
        ways.retain(|way| self.after.find(self.source_after, way) == Some(new));
        ways
    }

    /// `full` is the path from the root, with or without its extension.
    fn ways(&self, link: &Link, old: &VaultPath, full: &str) -> Vec<String> {
        let target = &link.target;
        let mut ways = Vec::new();
        if target.starts_with('/') {
            return vec![format!("/{full}")];
        }
        let relative = relative(self.source_after, full);
        let from_here = if relative.starts_with("../") { relative.clone() } else { format!("./{relative}") };
        if target.starts_with("./") {
            ways.push(from_here.clone());
        }
        // A wikilink climbs only when its author let it. And for a short name it is chance that its file is
        // in the same folder.
        let fits = link.is_markdown() || (target.contains('/') && relative != from_here);
        if is_dotted(target) || (fits && self.is_relative(link, old)) {
            ways.extend([relative, from_here]);
        }
        if !target.contains('/') && self.after.count_named(name_of(full)) == 1 {
            ways.push(name_of(full).to_owned());
        }
        ways.push(full.to_owned());
        ways.push(format!("/{full}"));
        ways
    }

    /// Whether the path was right from the folder of the note and, for a wikilink, not from the root.
    fn is_relative(&self, link: &Link, old: &VaultPath) -> bool {
        let from_root = self.before.find(self.source_before, &format!("/{}", link.target)) == Some(old);
        !link.target.starts_with('/')
            && self.before.beside(self.source_before, &link.target) == Some(old)
            && (link.is_markdown() || !from_root)
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The path from the folder of `source`.
fn relative(source: &VaultPath, full: &str) -> String {
    let folders: Vec<&str> = source.segments().collect();
    let folders = &folders[..folders.len() - 1];
    let segments: Vec<&str> = full.split('/').collect();
    let shared = folders.iter().zip(&segments[..segments.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = folders[shared..].iter().map(|_| "..");
    up.chain(segments[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}
