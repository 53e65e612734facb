//! Normalizes the working directory of a call, for comparison by rules.

/// Returns the folder without `.` and extra slashes. `None` is the vault's root. A folder that leaves the vault, or
/// may, is returned unchanged: no rule names it, and the sandbox refuses it.
pub(super) fn normalize_folder(given: &str) -> Option<String> {
    if given.starts_with('/') || given.split('/').any(|part| part == "..") {
        return Some(given.to_owned());
    }
    let parts: Vec<&str> = given.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::normalize_folder;

    #[test]
    fn one_folder_has_one_spelling() {
        for (given, expected) in [
            ("", None),
            (".", None),
            ("./", None),
            ("./.", None),
            ("Notes", Some("Notes")),
            ("./Notes//evil/.", Some("Notes/evil")),
            ("/", Some("/")),
            ("Notes/..", Some("Notes/..")),
            (" ", Some(" ")),
        ] {
            assert_eq!(normalize_folder(given).as_deref(), expected, "{given:?}");
        }
    }
}
