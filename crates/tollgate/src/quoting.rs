//! Paths as a shell reads them back, for the commands that we propose.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use envelope::is_invisible;

/// A path as a shell reads it back. Invisible characters are spelled out: it can be pasted and forges no line.
pub(crate) fn quoted(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) if !text.contains(is_invisible) => format!("'{}'", text.replace('\'', "'\\''")),
        Some(_) | None => spelled(path.as_os_str().as_bytes()),
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | '@')
}

/// `$'…'`, which bash, zsh and ksh know.
fn spelled(bytes: &[u8]) -> String {
    let mut out = String::from("$'");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_invisible(c) {
                spell(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes());
            } else if matches!(c, '\'' | '\\') {
                out.extend(['\\', c]);
            } else {
                out.push(c);
            }
        }
        spell(&mut out, chunk.invalid());
    }
    out.push('\'');
    out
}

fn spell(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Octal: three digits end it, whatever follows.
        let _infallible = write!(out, "\\{byte:03o}");
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::quoted;

    #[test]
    fn a_path_survives_the_shell() {
        assert_eq!(quoted(Path::new("/home/a/Notes")), "/home/a/Notes");
        assert_eq!(quoted(Path::new("/home/a/My Notes; rm")), "'/home/a/My Notes; rm'");
        assert_eq!(quoted(Path::new("it's")), "'it'\\''s'");
        assert_eq!(quoted(Path::new("")), "''");
    }

    #[test]
    fn a_path_forges_no_line_and_is_still_itself() {
        assert_eq!(quoted(Path::new("a\nb'c")), "$'a\\012b\\'c'");
        assert_eq!(quoted(Path::new(OsStr::from_bytes(b"a\xff1"))), "$'a\\3771'");
    }
}
