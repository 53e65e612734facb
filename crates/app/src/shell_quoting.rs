//! Shell quoting of paths, for the commands that Tollgate proposes.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use envelope::is_invisible;

/// Returns a path quoted for a shell. Invisible characters are escaped, so that it can be pasted and forges no line.
pub fn quote_for_shell(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) if !text.contains(is_invisible) => format!("'{}'", text.replace('\'', "'\\''")),
        Some(_) | None => quote_bytes(path.as_os_str().as_bytes()),
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | '@')
}

/// Quotes bytes as `$'…'`, which bash, zsh and ksh know.
fn quote_bytes(bytes: &[u8]) -> String {
    let mut out = String::from("$'");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_invisible(c) {
                push_escaped(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes());
            } else if matches!(c, '\'' | '\\') {
                out.extend(['\\', c]);
            } else {
                out.push(c);
            }
        }
        push_escaped(&mut out, chunk.invalid());
    }
    out.push('\'');
    out
}

fn push_escaped(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Octal: three digits end the escape, whatever follows.
        let _infallible = write!(out, "\\{byte:03o}");
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::quote_for_shell;

    #[test]
    fn a_path_survives_the_shell() {
        assert_eq!(quote_for_shell(Path::new("/home/a/Notes")), "/home/a/Notes");
        assert_eq!(quote_for_shell(Path::new("/home/a/My Notes; rm")), "'/home/a/My Notes; rm'");
        assert_eq!(quote_for_shell(Path::new("it's")), "'it'\\''s'");
        assert_eq!(quote_for_shell(Path::new("")), "''");
    }

    #[test]
    fn a_path_forges_no_line_and_is_still_itself() {
        assert_eq!(quote_for_shell(Path::new("a\nb'c")), "$'a\\012b\\'c'");
        assert_eq!(quote_for_shell(Path::new(OsStr::from_bytes(b"a\xff1"))), "$'a\\3771'");
    }
}
