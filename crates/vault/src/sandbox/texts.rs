//! Every text of the vault, read once by several threads: for work that looks at all notes.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use envelope::{Fault, VaultPath};

use super::change::Witness;
use super::folder;
use super::in_order::{Halt, in_order};
use super::tree::{Batch, Folder, Leaf, Walk, What, Wish};
use super::vault::Vault;

/// Files that one thread takes at a time.
const BATCH: usize = 32;
/// A text larger than this is no note, and is passed over.
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

    /// Has `work` look at every text with one of the extensions; the answers come in order of the paths.
    /// What is no UTF-8, is too large for a note or cannot be read is passed over.
    pub(crate) fn through_texts<T: Send>(
        &self,
        extensions: &[String],
        work: &(dyn Fn(&VaultPath, &str) -> Option<T> + Sync),
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
                        if self.read_leaf(&mut buffer, &batch.folder, leaf, &path)
                            && let Ok(text) = std::str::from_utf8(&buffer)
                        {
                            found.extend(work(&path, text));
                        }
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
