//! Finds the links that a move would break, and rewrites them.
//!
//! This reads every note, once before approval. The result is used again when the call has its turn, unless a
//! file has another size, time or location by then. A file that was written twice within one tick of the clock,
//! in place and with the same size, is not detected by that; its content is compared before it is rewritten all
//! the same.

use std::sync::Arc;

use envelope::{Fault, Hash, VaultPath};

use crate::file_layer::{ChangeStep, FileContent, IoContext, LoadedFile, Vault, etag_of};
use notes::links::{FileKind, FileMoves, LinkResolver, LinkRewriter, StaleLink};

/// Effects of moves on the links of the vault.
#[derive(Default)]
pub(super) struct LinkUpdates {
    pub(super) files: Vec<LinkUpdate>,
    pub(super) links: u64,
    /// Links that lead to no file afterwards, with the files that contain them.
    pub(super) left: Vec<(VaultPath, StaleLink)>,
    /// Files that mention the moved name in a form that is not rewritten.
    pub(super) mentioned_in: Vec<VaultPath>,
    /// Notes and canvases that are too large or not text, and folders that cannot be opened.
    pub(super) not_looked_into: Vec<String>,
    looked: Option<LinkScan>,
}

/// Input of the scan, to detect that the vault has changed since.
struct LinkScan {
    index: LinkResolver,
    moves: FileMoves,
    /// Hash of the size, times and location of every file.
    print: Hash,
}

/// A file whose links change.
pub(super) struct LinkUpdate {
    /// Path before the moves.
    source: VaultPath,
    /// Path after the moves.
    pub(super) path: VaultPath,
    /// Replaces the file at its path after the moves.
    pub(super) step: ChangeStep,
    pub(super) links: u64,
    etag: String,
}

/// A file with rewritten links.
pub(super) struct LinkRewrite {
    /// `None` if no link changes.
    pub(super) file: Option<LinkUpdate>,
    pub(super) left: Vec<StaleLink>,
}

/// Result of scanning one file.
enum ScanFinding {
    Affected(VaultPath),
    Mentions(VaultPath),
    NoText(VaultPath),
}

/// Scans every note, canvas and base for links to moved files. Returns the earlier result if the vault has not
/// changed since.
pub(super) fn find_link_updates(
    vault: &Vault,
    moves: FileMoves,
    moved: &VaultPath,
    before: Option<&Arc<LinkUpdates>>,
    io: &dyn IoContext,
) -> Result<Arc<LinkUpdates>, Fault> {
    // Computed first, so that a change during the scan is detected by the next call.
    let (paths, print) = vault.files_and_fingerprint(io)?;
    let is_as_it_was = |looked: &LinkScan| looked.print == print && looked.moves == moves;
    if let Some(before) = before.filter(|before| before.looked.as_ref().is_some_and(is_as_it_was)) {
        return Ok(before.clone());
    }
    let index = LinkResolver::new(paths);
    let renaming = LinkRewriter::new(&index, &moves);
    let stem = stem(moved);
    let scan_file = |path: &VaultPath, text: Option<&str>| -> Option<ScanFinding> {
        let Some(text) = text else {
            return (FileKind::of(path) != FileKind::Other).then(|| ScanFinding::NoText(path.clone()));
        };
        if is_base(path) {
            return text.contains(&*stem).then(|| ScanFinding::Mentions(path.clone()));
        }
        let affected = renaming.may_affect(path, text) && renaming.rewrite(path, text).is_some();
        affected.then(|| ScanFinding::Affected(path.clone()))
    };
    let extensions = ["md", "canvas", "base"].map(str::to_owned);
    let mut updates = LinkUpdates::default();
    let (found, unopened) = vault.scan_texts(&extensions, &scan_file, io)?;
    for found in found {
        match found {
            ScanFinding::Mentions(path) => updates.mentioned_in.push(path),
            ScanFinding::NoText(path) => updates.not_looked_into.push(path.into_string()),
            // Read again with its state: it may have changed since, and the file may be reached through a link.
            ScanFinding::Affected(path) => {
                if let Some(after) = moves.after(&path) {
                    let rewritten = rewrite_links(vault, &renaming, (&path, &path, after), io)?;
                    updates.add(after, rewritten);
                }
            }
        }
    }
    updates.not_looked_into.extend(unopened);
    updates.looked = Some(LinkScan { index, moves, print });
    Ok(Arc::new(updates))
}

impl LinkUpdates {
    /// Returns the etag that a file gets if its links change.
    pub(super) fn etag_of(&self, after: &VaultPath) -> Option<&str> {
        self.files.iter().find(|file| file.path == *after).map(|file| file.etag.as_str())
    }

    /// Rewrites the links of a file that has changed since the scan. The moves have been made by then.
    pub(super) fn rewrite_again(
        &self,
        vault: &Vault,
        file: &LinkUpdate,
        io: &dyn IoContext,
    ) -> Result<LinkRewrite, Fault> {
        let Some(LinkScan { index, moves, .. }) = &self.looked else {
            return Ok(LinkRewrite { file: None, left: Vec::new() });
        };
        let renaming = LinkRewriter::new(index, moves);
        rewrite_links(vault, &renaming, (&file.source, &file.path, &file.path), io)
    }

    fn add(&mut self, after: &VaultPath, rewritten: LinkRewrite) {
        self.left.extend(rewritten.left.into_iter().map(|left| (after.clone(), left)));
        self.links += rewritten.file.as_ref().map_or(0, |file| file.links);
        self.files.extend(rewritten.file);
    }
}

/// Rewrites the links of a file. Its path was `source` before the moves, is `now`, and is `after` when they
/// have been made.
fn rewrite_links(
    vault: &Vault,
    renaming: &LinkRewriter<'_>,
    (source, now, after): (&VaultPath, &VaultPath, &VaultPath),
    io: &dyn IoContext,
) -> Result<LinkRewrite, Fault> {
    let loaded: LoadedFile = vault.load(now, io)?;
    let Some(rewritten) = renaming.rewrite(source, loaded.text()?) else {
        return Ok(LinkRewrite { file: None, left: Vec::new() });
    };
    let links = rewritten.links as u64;
    let etag = etag_of(rewritten.text.as_bytes());
    let content = FileContent::of(rewritten.text.into_bytes());
    let step = ChangeStep::ReplaceFile { path: after.clone(), before: loaded.state, content, mode: None };
    let file = LinkUpdate { source: source.clone(), path: after.clone(), step, links, etag };
    Ok(LinkRewrite { file: Some(file).filter(|file| file.links > 0), left: rewritten.stale_links })
}

fn is_base(path: &VaultPath) -> bool {
    path.name().rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("base"))
}

/// Returns the name without its extension, as formulas refer to it.
fn stem(path: &VaultPath) -> String {
    let path = path.readable();
    let name = path.rsplit_once('/').map_or(&*path, |(_, name)| name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}
