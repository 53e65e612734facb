//! A reference resolver of links, written from the rules of Obsidian and independent of the crate.
//!
//! It is as simple as possible: every file is tried for every link. Its results before and after a rename are
//! compared, so that a mistake in the crate's own index is detected.

use unicode_normalization::UnicodeNormalization as _;

fn fold(text: &str) -> String {
    text.nfc().collect::<String>().to_lowercase().nfc().collect()
}

/// The files of a vault: folded path and path.
pub(crate) struct FoldedFiles(Vec<(String, String)>);

impl FoldedFiles {
    pub(crate) fn new(paths: impl IntoIterator<Item = String>) -> FoldedFiles {
        let mut files: Vec<_> = paths.into_iter().map(|path| (fold(&path), path)).collect();
        // The shortest path first, as JavaScript counts: a name that several files have means that one.
        files
            .sort_by_cached_key(|(folded, path)| (path.encode_utf16().count(), folded.clone(), path.clone()));
        FoldedFiles(files)
    }

    fn at(&self, path: &str) -> Option<&str> {
        let wanted = [fold(path), fold(&format!("{path}.md"))];
        let found = wanted.iter().find_map(|path| self.0.iter().find(|(folded, _)| folded == path));
        found.map(|(_, path)| path.as_str())
    }

    /// Returns the first file whose path begins with `folder` and ends with `path`.
    fn ending(&self, folder: &str, path: &str) -> Option<&str> {
        let wanted = [fold(path), fold(&format!("{path}.md"))];
        let found = wanted.iter().find_map(|end| {
            let mut ending =
                self.0.iter().filter(|(file, _)| file == end || file.ends_with(&format!("/{end}")));
            ending.find(|(file, _)| file.starts_with(folder))
        });
        found.map(|(_, path)| path.as_str())
    }

    /// Returns the file that a target in `source` means.
    pub(crate) fn resolve(&self, source: &str, target: &str) -> Option<&str> {
        let folder = source.rsplit_once('/').map_or("", |(folder, _)| folder);
        if let Some(from_root) = target.strip_prefix('/') {
            return self.at(from_root);
        }
        if target.split('/').any(|part| part == "." || part == "..") {
            return climb(folder, target).and_then(|path| self.at(&path));
        }
        if target.is_empty() {
            return None;
        }
        let below = if folder.is_empty() { String::new() } else { format!("{}/", fold(folder)) };
        self.at(target).or_else(|| self.ending(&below, target)).or_else(|| self.ending("", target))
    }
}

fn climb(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Returns the target of the link `text`.
pub(crate) fn target_of(text: &str) -> String {
    let text = text.strip_prefix('!').unwrap_or(text);
    if let Some(inner) = text.strip_prefix("[[") {
        let inner = inner.strip_suffix("]]").unwrap_or_else(|| panic!("{text} is no link"));
        // In a table the bar is escaped with a backslash.
        let path = inner.split('|').next().unwrap_or_default().trim_end_matches('\\');
        return path.split('#').next().unwrap_or_default().to_owned();
    }
    let (_, rest) = text.split_once("](").unwrap_or_else(|| panic!("{text} is no link"));
    let rest = rest.strip_suffix(')').unwrap_or_else(|| panic!("{text} is no link"));
    destination(rest)
}

/// Returns the target of a Markdown destination, with or without a title.
pub(crate) fn destination(text: &str) -> String {
    let path = match text.strip_prefix('<') {
        Some(angle) => angle.split('>').next().unwrap_or_default(),
        None => text.split(' ').next().unwrap_or_default(),
    };
    let path = path.split('#').next().unwrap_or_default();
    decoded(&unescaped(path))
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match characters.peek() {
            Some(next) if c == '\\' && next.is_ascii_punctuation() => plain.extend(characters.next()),
            _ => plain.push(c),
        }
    }
    plain
}

fn decoded(text: &str) -> String {
    let (bytes, mut plain, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code {
            Some(code) if bytes[at] == b'%' => {
                plain.push(code);
                at += 3;
            }
            _ => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(plain).unwrap()
}

#[test]
fn the_second_reader_knows_each_form() {
    for (link, target) in [
        ("[[Note]]", "Note"),
        ("![[a/b.png|640x480]]", "a/b.png"),
        ("[[a/Note#Head#Sub|alias]]", "a/Note"),
        ("[[Note\\|alias]]", "Note"),
        ("[[#Head]]", ""),
        ("[text](a%20b/caf%C3%A9.md#x)", "a b/café.md"),
        ("![t](<a b/(x).png> \"title\")", "a b/(x).png"),
        ("[t](a\\(b\\).md)", "a(b).md"),
    ] {
        assert_eq!(target_of(link), target, "{link}");
    }
    let files = ["Note.md", "a/Note.md", "b/c/Note.md", "b/x.png"].map(str::to_owned);
    let files = FoldedFiles::new(files);
    for (source, target, file) in [
        ("z.md", "note", Some("Note.md")),
        ("a/z.md", "Note", Some("Note.md")),
        ("a/z.md", "./Note", Some("a/Note.md")),
        ("b/z.md", "c/note", Some("b/c/Note.md")),
        ("a/z.md", "/Note", Some("Note.md")),
        ("a/z.md", "c/Note.md", Some("b/c/Note.md")),
        ("a/z.md", "../b/x.png", Some("b/x.png")),
        ("a/z.md", "../../x.png", None),
        ("a/z.md", "x", None),
        ("a/z.md", "", None),
    ] {
        assert_eq!(files.resolve(source, target), file, "{target} in {source}");
    }
}
