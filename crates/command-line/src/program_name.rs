//! Names of programs: bare, with a path, with a version.

/// Folders of the system's own programs. A path into one of these means the same as the bare name.
const SYSTEM_FOLDERS: [&str; 5] = ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];

/// Returns the last part of a path.
pub(super) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns the bare name of a program in a folder of the system, else the word unchanged.
pub(super) fn system_name(program: &str) -> &str {
    match program.rsplit_once('/') {
        Some((folder, name)) if SYSTEM_FOLDERS.contains(&folder) => name,
        Some(_) | None => program,
    }
}

/// Whether the program depends on the working directory.
pub(super) fn is_relative(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}

/// Returns the name without path and version: `python` for `/usr/bin/python3.12`.
pub(super) fn program_family(program: &str) -> String {
    let name = name_of(program);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let kept = if bare.is_empty() { name } else { bare };
    kept.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{program_family, system_name};

    #[test]
    fn a_version_does_not_make_another_program() {
        for (written, expected) in [
            ("/usr/bin/python3.12", "python"),
            ("perl5.36.0", "perl"),
            ("7z", "7z"),
            (".", "."),
            ("gcc-12", "gcc"),
            ("Bash", "bash"),
        ] {
            assert_eq!(program_family(written), expected, "{written}");
        }
    }

    #[test]
    fn only_the_folders_of_the_system_are_left_out() {
        for (written, expected) in [
            ("/usr/bin/git", "git"),
            ("/bin/../tmp/git", "/bin/../tmp/git"),
            ("/usr/bin/x/git", "/usr/bin/x/git"),
            ("./git", "./git"),
            ("bin/git", "bin/git"),
        ] {
            assert_eq!(system_name(written), expected, "{written}");
        }
    }
}
