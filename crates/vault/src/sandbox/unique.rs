//! The names that are tried when a name is taken: `Note.md`, `Note 1.md`, `Note 2.md`, as Obsidian does.

use envelope::VaultPath;

/// After this many something else is wrong.
const MAX_NUMBER: u32 = 9_999;

/// The name itself, then the numbered ones. The stem is cut where the number would make the name too long.
pub(super) fn unique_names(name: &str) -> impl Iterator<Item = String> {
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        Some(_) | None => (name, ""),
    };
    let numbered = (1..=MAX_NUMBER).map(move |number| {
        let ending = format!(" {number}{extension}");
        let room = VaultPath::MAX_SEGMENT_BYTES.saturating_sub(ending.len());
        format!("{}{ending}", stem[..stem.floor_char_boundary(room)].trim_end())
    });
    std::iter::once(name.to_owned()).chain(numbered)
}

#[cfg(test)]
mod tests {
    use super::unique_names;

    #[test]
    fn names_are_numbered_before_the_extension_and_stay_short_enough() {
        let first = |name: &str| unique_names(name).take(3).collect::<Vec<_>>();
        assert_eq!(first("Note.md"), ["Note.md", "Note 1.md", "Note 2.md"]);
        assert_eq!(first("a.tar.gz"), ["a.tar.gz", "a.tar 1.gz", "a.tar 2.gz"]);
        assert_eq!(first(".hidden"), [".hidden", ".hidden 1", ".hidden 2"]);
        let long = format!("{}.md", "ü".repeat(126));
        assert_eq!(long.len(), 255);
        for name in unique_names(&long).skip(1).take(100) {
            assert!(name.len() <= 255 && name.ends_with(".md"), "{name}");
        }
    }
}
