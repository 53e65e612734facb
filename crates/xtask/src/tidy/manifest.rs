//! Parses the lines of a `Cargo.toml`: section, key and value of each.
//!
//! The workspace's manifests have one entry a line, so this is enough, and it spares a TOML parser in a crate that must
//! build in seconds.

/// One `key = value` line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ManifestEntry<'a> {
    pub(crate) line: usize,
    pub(crate) section: &'a str,
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
}

pub(crate) fn entries(text: &str) -> Vec<ManifestEntry<'_>> {
    let mut section = "";
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim_matches(['[', ']']);
        } else if let Some((key, value)) = line.split_once('=')
            && !line.starts_with('#')
        {
            entries.push(ManifestEntry { line: index + 1, section, key: key.trim(), value: value.trim() });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::{ManifestEntry, entries};

    #[test]
    fn every_entry_knows_its_section() {
        let text =
            "[package]\nname = \"plan\"\n\n# serde = off\n[dependencies]\nserde = { workspace = true }\n";
        assert_eq!(
            entries(text),
            [
                ManifestEntry { line: 2, section: "package", key: "name", value: "\"plan\"" },
                ManifestEntry {
                    line: 6,
                    section: "dependencies",
                    key: "serde",
                    value: "{ workspace = true }"
                },
            ]
        );
    }
}
