//! A store that other processes can read: one file per content, named by its hash.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use envelope::{DataRef, Failure, Fault, Hash};
use toolkit::ObjectStore;

pub(crate) struct FolderStore(PathBuf);

impl FolderStore {
    pub(crate) fn at(folder: &Path) -> FolderStore {
        std::fs::create_dir_all(folder).unwrap();
        FolderStore(folder.to_owned())
    }

    fn file(&self, hash: &Hash) -> PathBuf {
        self.0.join(hash.to_string().replace(':', "-"))
    }

    /// All stored content.
    pub(crate) fn contents(&self) -> Vec<Vec<u8>> {
        let files = std::fs::read_dir(&self.0).unwrap();
        files.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect()
    }
}

impl ObjectStore for FolderStore {
    fn keep(&self, content: &mut dyn Read) -> Result<DataRef, Fault> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).unwrap();
        let kept = DataRef { hash: Hash::of(&bytes), bytes: bytes.len() as u64 };
        // Completely or not at all: the writer may be killed at any moment.
        let writing =
            self.0.join(format!("writing-{}-{:?}", std::process::id(), std::thread::current().id()));
        std::fs::write(&writing, &bytes).unwrap();
        std::fs::rename(&writing, self.file(&kept.hash)).unwrap();
        Ok(kept)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        let missing = |_| Fault::new(Failure::NotFound, format!("{} was not kept", wanted.hash));
        let bytes = std::fs::read(self.file(&wanted.hash)).map_err(missing)?;
        into.write_all(&bytes).unwrap();
        Ok(())
    }
}
