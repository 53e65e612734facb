//! Bounded reads of untrusted files: regular files of a limited size.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use journal::{is_link_error, open_file_no_links};

/// Reads a file of a vault. Returns `None` if it does not exist. Fails if it is not a regular file, is larger than
/// `limit` bytes, or if a component of the path is a link. Nothing of a file that is too large is read.
pub(crate) fn read_in_vault(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, String> {
    read(open_file_no_links(path), limit)
}

/// Reads a file of the user's own state folder, which can be behind links that the user made.
pub(crate) fn read_own(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, String> {
    read(File::open(path), limit)
}

fn read(opened: io::Result<File>, limit: u64) -> Result<Option<Vec<u8>>, String> {
    let unreadable = |error: io::Error| format!("it cannot be read: {error}");
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if is_link_error(&error) => return Err("it is a link, or lies behind one".to_owned()),
        Err(error) => return Err(unreadable(error)),
    };
    let meta = file.metadata().map_err(unreadable)?;
    if meta.is_dir() {
        return Err("it is a folder, not a file".to_owned());
    }
    if !meta.is_file() {
        return Err("it is not a plain file".to_owned());
    }
    let too_large = || format!("it is larger than {}", size(limit));
    if meta.len() > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    // The file can have grown since its size was checked.
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(Some(bytes)) }
}

fn size(bytes: u64) -> String {
    const MEBIBYTE: u64 = 1 << 20;
    match bytes % MEBIBYTE {
        0 => format!("{} MiB", bytes / MEBIBYTE),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::{read_in_vault, read_own};

    #[test]
    fn only_a_plain_file_of_limited_size_is_read() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        let file = dir.join("file");
        assert_eq!(read_in_vault(&file, 4), Ok(None));
        File::create(&file).unwrap().write_all(b"1234").unwrap();
        assert_eq!(read_in_vault(&file, 4), Ok(Some(b"1234".to_vec())));
        assert_eq!(read_in_vault(&file, 3), Err("it is larger than 3 bytes".to_owned()));
        assert_eq!(read_in_vault(&dir, 4), Err("it is a folder, not a file".to_owned()));
        symlink("file", dir.join("link")).unwrap();
        assert_eq!(read_in_vault(&dir.join("link"), 4), Err("it is a link, or lies behind one".to_owned()));
        assert_eq!(read_own(&dir.join("link"), 4), Ok(Some(b"1234".to_vec())));
    }

    #[test]
    fn a_sparse_file_of_three_gigabytes_is_refused_by_its_size() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().canonicalize().unwrap().join("file");
        File::create(&file).unwrap().set_len(3 << 30).unwrap();
        for read in [read_in_vault, read_own] {
            assert_eq!(read(&file, 1 << 20), Err("it is larger than 1 MiB".to_owned()));
        }
    }
}
