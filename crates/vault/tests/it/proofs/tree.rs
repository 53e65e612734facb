//! The content of a folder on disk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// By path relative to the folder: the mode, and the content of a file or the target of a link.
pub(crate) type FolderSnapshot = BTreeMap<String, (u32, Vec<u8>)>;

pub(crate) fn tree(folder: &Path) -> FolderSnapshot {
    let mut seen = BTreeMap::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            let content = if about.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if about.is_dir() {
                todo.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            seen.insert(name, (about.mode(), content));
        }
    }
    seen
}
