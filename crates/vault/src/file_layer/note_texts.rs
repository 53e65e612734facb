//! Reads every text of the vault once, with several threads.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use envelope::{Fault, Hash, VaultPath};

use super::folder;
use super::io_context::IoContext;
use super::ordered_executor::{StopCheck, execute_in_order};
use super::tree_walk::{TreeWalker, WalkBatch, WalkEntry, WalkEntryKind, WalkFilter, WalkFolder};
use super::vault::Vault;
use crate::platform::{FileIdentity, FileStat};

/// Files per unit of work.
const BATCH: usize = 32;
/// A larger file is not a note and is not read.
const LARGEST: u64 = 16 << 20;

impl Vault {
    /// Returns the path of every file that a link could mean, in order. Hidden files are left out.
    pub(crate) fn file_paths(&self, io: &dyn IoContext) -> Result<Vec<VaultPath>, Fault> {
        let filter = WalkFilter { recursive: true, extensions: &[], only_files: true, unspellable: false };
        let mut walk = TreeWalker::begin(self, filter, self.walked_folder(None)?, Vec::new())?;
        let mut paths = Vec::new();
        while let Some(batch) = walk.next(1_024)? {
            io.check_cancelled()?;
            paths.extend(batch.entries.iter().filter_map(|item| batch.folder.child(&item.name)));
        }
        Ok(paths)
    }

    /// [`Vault::file_paths`], with a hash of the size, times and location of each file, and of the text of
    /// files that are in the overlay or unsaved. As long as the hash is the same, no file was changed, added or
    /// removed.
    pub(crate) fn files_and_fingerprint(&self, io: &dyn IoContext) -> Result<(Vec<VaultPath>, Hash), Fault> {
        let filter = WalkFilter { recursive: true, extensions: &[], only_files: true, unspellable: false };
        let mut walk = TreeWalker::begin(self, filter, self.walked_folder(None)?, Vec::new())?;
        let (mut paths, mut print) = (Vec::new(), blake3::Hasher::new());
        while let Some(batch) = walk.next(1_024)? {
            io.check_cancelled()?;
            for item in &batch.entries {
                let Some(path) = batch.folder.child(&item.name) else { continue };
                print.update(path.as_str().as_bytes()).update(&[0]);
                self.hash_entry(&mut print, &batch.folder, item, &path)?;
                paths.push(path);
            }
        }
        Ok((paths, Hash::from_bytes(*print.finalize().as_bytes())))
    }

    /// [`Vault::file_paths`], each with whether it was written at `since` (in milliseconds) or later. A text that is in
    /// memory only or unsaved counts as written since.
    pub(crate) fn files_written_since(
        &self,
        since: i64,
        io: &dyn IoContext,
    ) -> Result<Vec<(VaultPath, bool)>, Fault> {
        let filter = WalkFilter { recursive: true, extensions: &[], only_files: true, unspellable: false };
        let mut walk = TreeWalker::begin(self, filter, self.walked_folder(None)?, Vec::new())?;
        let mut files = Vec::new();
        while let Some(batch) = walk.next(1_024)? {
            io.check_cancelled()?;
            for item in &batch.entries {
                let Some(path) = batch.folder.child(&item.name) else { continue };
                let on_disk = stat_of(&batch.folder, item).filter(|stat| stat.mtime_ms() < since);
                let is_recent = on_disk.is_none() || self.unsaved_text(&path)?.is_some();
                files.push((path, is_recent));
            }
        }
        Ok(files)
    }

    fn hash_entry(
        &self,
        print: &mut blake3::Hasher,
        folder: &Arc<WalkFolder>,
        item: &WalkEntry,
        path: &VaultPath,
    ) -> Result<(), Fault> {
        let unsaved = self.unsaved_text(path)?;
        if let Some(text) = unsaved {
            print.update(blake3::hash(text.as_bytes()).as_bytes());
        }
        if let WalkEntryKind::Bytes(bytes) = &item.kind {
            print.update(blake3::hash(bytes).as_bytes());
            return Ok(());
        }
        let Some(stat) = stat_of(folder, item) else { return Ok(()) };
        let FileIdentity { device, inode } = stat.identity;
        print.update(&stat.size.to_le_bytes());
        for seconds in [stat.modified.0, stat.changed.0] {
            print.update(&seconds.to_le_bytes());
        }
        for part in [device, inode, stat.modified.1, stat.changed.1] {
            print.update(&part.to_le_bytes());
        }
        Ok(())
    }

    /// Calls `work` for every text with one of the extensions; the results are in the order of the paths.
    /// `work` gets `None` for a file that is not UTF-8, too large or not readable. Also returns the folders that
    /// could not be opened, and the files and folders whose path is not a [`VaultPath`]; folders end in `/`.
    pub(crate) fn scan_texts<T: Send>(
        &self,
        extensions: &[String],
        work: &(dyn Fn(&VaultPath, Option<&str>) -> Option<T> + Sync),
        io: &dyn IoContext,
    ) -> Result<(Vec<T>, Vec<String>), Fault> {
        let filter = WalkFilter { recursive: true, extensions, only_files: true, unspellable: false };
        let mut walk = TreeWalker::begin(self, filter, self.walked_folder(None)?, Vec::new())?;
        let mut found = Vec::new();
        execute_in_order(
            &|| io.check_cancelled(),
            |_| walk.next(BATCH),
            || {
                let mut buffer = Vec::new();
                move |batch: WalkBatch, stop: &StopCheck<'_>| {
                    let mut found = Vec::new();
                    for item in &batch.entries {
                        stop.check()?;
                        let Some(path) = batch.folder.child(&item.name) else { continue };
                        buffer.clear();
                        let text = match self.read_entry(&mut buffer, &batch.folder, item, &path)? {
                            true => std::str::from_utf8(&buffer).ok(),
                            false => None,
                        };
                        found.extend(work(&path, text));
                    }
                    Ok(found)
                }
            },
            |some: Vec<T>| {
                found.extend(some);
                ControlFlow::Continue(())
            },
        )?;
        let mut unread = walk.not_looked_into;
        unread.append(&mut walk.unspellable);
        Ok((found, unread))
    }

    /// Reads one file as a tool sees it, from the overlay or a host if it is there. Returns false if it cannot
    /// be read.
    fn read_entry(
        &self,
        buffer: &mut Vec<u8>,
        folder: &Arc<WalkFolder>,
        item: &WalkEntry,
        path: &VaultPath,
    ) -> Result<bool, Fault> {
        if let Some(text) = self.unsaved_text(path)? {
            buffer.extend_from_slice(text.as_bytes());
            return Ok(true);
        }
        let file = match (&item.kind, &folder.dir) {
            (WalkEntryKind::Bytes(bytes), _) => {
                buffer.extend_from_slice(bytes);
                return Ok(true);
            }
            (WalkEntryKind::File, Some(dir)) => folder::open_file(dir, &item.name),
            (WalkEntryKind::Elsewhere(located), _) => folder::open_file(&located.dir, &located.name),
            (WalkEntryKind::File, None) | (WalkEntryKind::Folder | WalkEntryKind::Link(..), _) => {
                return Ok(false);
            }
        };
        let Ok(file) = file else { return Ok(false) };
        Ok(file.take(LARGEST + 1).read_to_end(buffer).is_ok_and(|read| read as u64 <= LARGEST))
    }
}

/// Returns the metadata of a file on disk.
fn stat_of(folder: &WalkFolder, item: &WalkEntry) -> Option<FileStat> {
    match (&item.kind, &folder.dir) {
        (WalkEntryKind::File, Some(dir)) => folder::stat(dir, &item.name).ok(),
        (WalkEntryKind::Elsewhere(located), _) => Some(located.stat),
        (WalkEntryKind::File, None)
        | (WalkEntryKind::Bytes(_) | WalkEntryKind::Folder | WalkEntryKind::Link(..), _) => None,
    }
}
