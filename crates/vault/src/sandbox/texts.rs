//! Every text of the vault, read once by several threads: for work that looks at all notes.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use envelope::{Fault, Hash, VaultPath};

use super::change::Witness;
use super::folder;
use super::in_order::{Halt, in_order};
use super::tree::{Batch, Folder, Leaf, Walk, What, Wish};
use super::vault::Vault;

/// Files that one thread takes at a time.
const BATCH: usize = 32;
/// A text larger than this is no note, and is not looked into.
const LARGEST: u64 = 16 << 20;

impl Vault {
    /// Every file that a link could mean, in order of the paths. Hidden ones are none.
    pub(crate) fn file_paths(&self, witness: &dyn Witness) -> Result<Vec<VaultPath>, Fault> {
        let wish = Wish { recursive: true, extensions: &[], only_files: true };
        let mut walk = Walk::begin(self, wish, self.walked_folder(None)?, Vec::new())?;
        let mut paths = Vec::new();
        while let Some(batch) = walk.next(1_024)? {
            witness.may_go_on()?;
            paths.extend(batch.leaves.iter().filter_map(|leaf| batch.folder.child(&leaf.name)));
        }
        Ok(paths)
    }

    /// [`Vault::file_paths`], with a hash that stands for the size, the times and the place on disk of each of
    /// these files, and for the text of those that are imagined or not saved yet. As long as it is the same,
    /// nobody has changed, added or taken away a file.
    pub(crate) fn files_and_print(&self, witness: &dyn Witness) -> Result<(Vec<VaultPath>, Hash), Fault> {
        let wish = Wish { recursive: true, extensions: &[], only_files: true };
        let mut walk = Walk::begin(self, wish, self.walked_folder(None)?, Vec::new())?;
        let (mut paths, mut print) = (Vec::new(), blake3::Hasher::new());
        while let Some(batch) = walk.next(1_024)? {
            witness.may_go_on()?;
            for leaf in &batch.leaves {
                let Some(path) = batch.folder.child(&leaf.name) else { continue };
                print.update(path.as_str().as_bytes()).update(&[0]);
                self.print_leaf(&mut print, &batch.folder, leaf, &path);
                paths.push(path);
            }
        }
        Ok((paths, Hash::from_bytes(*print.finalize().as_bytes())))
    }

    fn print_leaf(&self, print: &mut blake3::Hasher, folder: &Arc<Folder>, leaf: &Leaf, path: &VaultPath) {
        let unsaved = self.host.get().and_then(|host| host.unsaved(path));
        if let Some(text) = unsaved {
            print.update(blake3::hash(text.as_bytes()).as_bytes());
        }
        let stat = match (&leaf.what, &folder.dir) {
            (What::Bytes(bytes), _) => {
                print.update(blake3::hash(bytes).as_bytes());
                return;
            }
            (What::File, Some(dir)) => folder::stat(dir, &leaf.name).ok(),
            (What::Elsewhere(place), _) => Some(place.stat),
            (What::File, None) | (What::Folder | What::Link(..), _) => None,
        };
        let Some(stat) = stat else { return };
        for part in [stat.st_size, stat.st_mtime, stat.st_ctime] {
            print.update(&part.to_le_bytes());
        }
        for part in [stat.st_dev, stat.st_ino, stat.st_mtime_nsec, stat.st_ctime_nsec] {
            print.update(&part.to_le_bytes());
        }
    }

    /// Has `work` look at every text with one of the extensions; the answers come in order of the paths.
    /// It gets no text for what is no UTF-8, is too large for a note or cannot be read.
    pub(crate) fn through_texts<T: Send>(
        &self,
        extensions: &[String],
        work: &(dyn Fn(&VaultPath, Option<&str>) -> Option<T> + Sync),
        witness: &dyn Witness,
    ) -> Result<Vec<T>, Fault> {
        let wish = Wish { recursive: true, extensions, only_files: true };
        let mut walk = Walk::begin(self, wish, self.walked_folder(None)?, Vec::new())?;
        let mut found = Vec::new();
        in_order(
            &|| witness.may_go_on(),
            |_| walk.next(BATCH),
            || {
                let mut buffer = Vec::new();
                move |batch: Batch, halt: &Halt<'_>| {
                    let mut found = Vec::new();
                    for leaf in &batch.leaves {
                        halt.may_go_on()?;
                        let Some(path) = batch.folder.child(&leaf.name) else { continue };
                        buffer.clear();
                        let text = match self.read_leaf(&mut buffer, &batch.folder, leaf, &path) {
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
        Ok(found)
    }

    /// Reads one file as it stands, in imagination or unsaved if it does; false when it cannot be read.
    fn read_leaf(&self, buffer: &mut Vec<u8>, folder: &Arc<Folder>, leaf: &Leaf, path: &VaultPath) -> bool {
        if let Some(text) = self.host.get().and_then(|host| host.unsaved(path)) {
            buffer.extend_from_slice(text.as_bytes());
            return true;
        }
        let file = match (&leaf.what, &folder.dir) {
            (What::Bytes(bytes), _) => {
                buffer.extend_from_slice(bytes);
                return true;
            }
            (What::File, Some(dir)) => folder::open_file(dir, &leaf.name),
            (What::Elsewhere(place), _) => folder::open_file(&place.dir, &place.name),
            (What::File, None) | (What::Folder | What::Link(..), _) => return false,
        };
        let Ok(file) = file else { return false };
        file.take(LARGEST + 1).read_to_end(buffer).is_ok_and(|read| read as u64 <= LARGEST)
    }
}
