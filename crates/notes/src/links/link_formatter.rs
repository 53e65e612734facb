//! Decides whether a link must be rewritten, and formats its new target.
//!
//! A link stays unchanged if it still resolves to the same file and still has the file's name. Otherwise it
//! keeps its style: a short name while only one file has it, a relative path relative, a path from the root
//! from the root. If that style would resolve to another file, the full path is used, and as the last choice
//! the full path with a leading `/`, which is unambiguous.

use envelope::VaultPath;

use super::fold::{fold, linked_path};
use super::link::NoteLink;
use super::resolver::{LinkResolver, is_dotted};

/// Formats links in a file that moves, or whose link targets move.
pub(super) struct LinkFormatter<'a> {
    pub(super) before: &'a LinkResolver,
    pub(super) after: &'a LinkResolver,
    pub(super) source_before: &'a VaultPath,
    pub(super) source_after: &'a VaultPath,
}

impl LinkFormatter<'_> {
    /// Whether the link can stay as it is.
    ///
    /// Other Markdown readers know relative paths only. So a Markdown link that works for them keeps working
    /// for them, even where Obsidian would find its file without the change.
    pub(super) fn is_still_valid(&self, link: &NoteLink, old: &VaultPath, new: &VaultPath) -> bool {
        let relative_kept = !self.is_relative(link, old)
            || !link.is_markdown()
            || self.after.find_relative(self.source_after, &link.target) == Some(new);
        old.name() == new.name() && self.after.resolve(self.source_after, link) == Some(new) && relative_kept
    }

    /// Returns the possible new targets, best first. All of them resolve to the new file.
    pub(super) fn candidate_targets(&self, link: &NoteLink, old: &VaultPath, new: &VaultPath) -> Vec<String> {
        let with_extension = fold(name_of(&link.target)) == fold(name_of(&linked_path(old)));
        let mut ways = Vec::new();
        let full = linked_path(new);
        match full.strip_suffix(".md") {
            Some(stem) if !with_extension => {
                ways = self.styled_targets(link, old, stem);
                // A file without an extension can have the shorter name.
                ways.push(format!("/{full}"));
            }
            _ => ways.extend(self.styled_targets(link, old, &full)),
        }
        ways.retain(|way| self.after.find(self.source_after, way) == Some(new));
        ways
    }

    /// Returns candidate targets, best first; `full` is the path from the root, with or without its
    /// extension.
    fn styled_targets(&self, link: &NoteLink, old: &VaultPath, full: &str) -> Vec<String> {
        let target = &link.target;
        let mut ways = Vec::new();
        if target.starts_with('/') {
            return vec![format!("/{full}")];
        }
        let relative = relative_path(self.source_after, full);
        let from_here = if relative.starts_with("../") { relative.clone() } else { format!("./{relative}") };
        if target.starts_with("./") {
            ways.push(from_here.clone());
        }
        // A wikilink uses `..` only if its author did. For a short name it is a coincidence that its file is
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

    /// Whether the path was relative to the folder of the note and, for a wikilink, not also a path from the
    /// root.
    fn is_relative(&self, link: &NoteLink, old: &VaultPath) -> bool {
        let from_root = self.before.find(self.source_before, &format!("/{}", link.target)) == Some(old);
        !link.target.starts_with('/')
            && self.before.find_relative(self.source_before, &link.target) == Some(old)
            && (link.is_markdown() || !from_root)
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns the path relative to the folder of `source`.
fn relative_path(source: &VaultPath, full: &str) -> String {
    let source = linked_path(source);
    let folders: Vec<&str> = source.split('/').collect();
    let folders = &folders[..folders.len() - 1];
    let segments: Vec<&str> = full.split('/').collect();
    let shared = folders.iter().zip(&segments[..segments.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = folders[shared..].iter().map(|_| "..");
    up.chain(segments[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}
