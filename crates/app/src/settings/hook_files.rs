//! The files that the command of a hook names: its program, and files of the vault among its arguments.
//!
//! The author of the vault can change them, so trust in a hook covers their content at that time.
//! Files that a program loads by itself are not covered.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use envelope::Hash;
use journal::{hash_file, is_link_error, open_file_no_links};

use super::hook::find_program;

/// Largest file that a hook can name. Larger ones would take long to check before each start.
const MAX_HOOK_FILE_BYTES: u64 = 512 << 20;

/// A file named by one word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFile {
    /// Index of the word in the command.
    pub word: usize,
    /// Text before the file name in that word, such as `--script=`.
    pub prefix: String,
    pub path: PathBuf,
    pub in_vault: bool,
    /// Hash of its bytes; `None` if the file is missing. A file that appears later must not run either.
    pub hash: Option<Hash>,
}

impl HookFile {
    /// Returns the path for messages: relative to the vault, or absolute.
    pub fn shown(&self, vault: &Path) -> String {
        self.path.strip_prefix(vault).unwrap_or(&self.path).to_string_lossy().into_owned()
    }

    /// Opens the file for reading. In the vault no link is followed.
    pub fn open(&self) -> io::Result<File> {
        if self.in_vault { open_file_no_links(&self.path) } else { File::open(&self.path) }
    }
}

/// Returns the files of a command. Fails if one of them cannot be bound to its bytes. `vault` is a real path.
pub(super) fn hook_files(name: &str, command: &[String], vault: &Path) -> Result<Vec<HookFile>, String> {
    let mut files = Vec::new();
    for (word, text) in command.iter().enumerate() {
        let (prefix, path) = if word == 0 {
            (String::new(), find_program(text, vault).unwrap_or_else(|| vault.join(text)))
        } else {
            let value = text.starts_with('-').then(|| text.split_once('=')).flatten();
            match value {
                Some((option, value)) => (format!("{option}="), vault.join(value)),
                None => (String::new(), vault.join(text)),
            }
        };
        let path = remove_dots(&path);
        let real = path.canonicalize().ok().filter(|real| real.starts_with(vault));
        let (path, in_vault) = match (path.starts_with(vault), real) {
            (true, _) => (path, true),
            // Outside of the vault, with a link into it.
            (false, Some(real)) => (real, true),
            (false, None) => (path, false),
        };
        // Outside of the vault only the program is bound: other files there are allowed to change.
        if path.is_dir() || (word > 0 && !in_vault) {
            continue;
        }
        let mut file = HookFile { word, prefix, path, in_vault, hash: None };
        file.hash = hash(&file).map_err(|why| format!("hook `{name}` names `{text}`: {why}"))?;
        files.push(file);
    }
    Ok(files)
}

fn hash(file: &HookFile) -> Result<Option<Hash>, String> {
    let opened = match file.open() {
        Ok(opened) => opened,
        Err(error) if is_link_error(&error) => {
            return Err("it is a link, or lies behind one; name the file itself".to_owned());
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err("it cannot be read, so a change of it could not be noticed".to_owned());
        }
        // The word names no file.
        Err(_absent) => return Ok(None),
    };
    match opened.metadata() {
        Ok(meta) if !meta.is_file() => Ok(None),
        Ok(meta) if meta.len() > MAX_HOOK_FILE_BYTES => Err("it is larger than 512 MiB".to_owned()),
        Ok(_) => hash_file(opened).map(|(_, hash)| Some(hash)).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the path without `.` and `..`, by its text alone.
fn remove_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use envelope::Hash;

    use super::hook_files;

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn the_program_and_the_files_of_the_vault_are_bound_to_their_bytes() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        let vault = dir.join("vault");
        put(&vault.join(".tollgate/a.py"), "a");
        put(&vault.join(".tollgate/b.json"), "b");
        put(&dir.join("outside.py"), "o");
        std::os::unix::fs::symlink("vault/.tollgate/a.py", dir.join("into")).unwrap();
        let bound = |command: &[&str]| {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            let files = hook_files("guard", &command, &vault)?;
            let known = files.into_iter().filter(|file| file.hash.is_some());
            Ok::<_, String>(
                known.map(|file| (file.word, file.shown(&vault), file.hash.unwrap())).collect::<Vec<_>>(),
            )
        };
        let (a, b) = (Hash::of(b"a"), Hash::of(b"b"));
        let outside = dir.join("outside.py");
        let outside = outside.to_str().unwrap();
        assert_eq!(
            bound(&[outside, "./.tollgate/../.tollgate/a.py", "--config=.tollgate/b.json", "--strict"]),
            Ok(vec![
                (0, outside.to_owned(), Hash::of(b"o")),
                (1, ".tollgate/a.py".to_owned(), a),
                (2, ".tollgate/b.json".to_owned(), b),
            ])
        );
        let into = dir.join("into");
        assert_eq!(
            bound(&["none", into.to_str().unwrap(), outside]),
            Ok(vec![(1, ".tollgate/a.py".to_owned(), a)])
        );
        std::os::unix::fs::symlink("a.py", vault.join(".tollgate/link.py")).unwrap();
        assert!(bound(&["none", ".tollgate/link.py"]).unwrap_err().contains("it is a link"));
    }
}
