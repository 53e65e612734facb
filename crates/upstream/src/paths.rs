//! Which places of the vault the arguments of a foreign tool name.
//!
//! Nobody here knows which of them are paths, so every text that could be one counts as one: a rule that keeps a
//! folder closed has to hold whatever a server calls its arguments. A text too many costs a refusal that names it.

use std::path::{Component, Path, PathBuf};

use envelope::VaultPath;
use serde_json::Value;
use toolkit::{PathKeys, Reach};

/// More texts than this are not looked at one by one: the call then counts as one that touches everything.
const MAX_TEXTS: usize = 1_000;

/// Whether a call is believed to change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touch {
    Reads,
    Writes,
}

/// The places that the arguments name, seen from the vault at `root`.
pub(crate) fn keys(root: &Path, args: &Value, touch: Touch) -> PathKeys {
    let mut texts = Vec::new();
    collect(args, &mut texts);
    let mut found: Vec<Reach> = Vec::new();
    if texts.len() > MAX_TEXTS {
        found.push(Reach::Vault);
    } else {
        for text in texts {
            for reach in places(root, text) {
                if !found.contains(&reach) {
                    found.push(reach);
                }
            }
        }
    }
    match touch {
        Touch::Reads => PathKeys { reads: found, writes: Vec::new() },
        Touch::Writes => PathKeys { reads: Vec::new(), writes: found },
    }
}

fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    if texts.len() > MAX_TEXTS {
        return;
    }
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(map) => {
            for (key, item) in map {
                // A map from paths to something has them as its keys.
                if key.contains(['/', '.']) {
                    texts.push(key);
                }
                collect(item, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The place as it is written, and the place that links on the way lead to.
fn places(root: &Path, text: &str) -> Vec<Reach> {
    let Some(written) = absolute(root, text) else { return Vec::new() };
    let mut places: Vec<Reach> = within(root, &written).into_iter().collect();
    let real = real(&written);
    if real != written
        && let Some(place) = within(root, &real)
        && !places.contains(&place)
    {
        places.push(place);
    }
    places
}

/// The text as a path, with `.` and `..` taken out.
fn absolute(root: &Path, text: &str) -> Option<PathBuf> {
    let decoded;
    let text = match text.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file://") => {
            // What stands before the path names a machine, if anything; servers leave it out or write `localhost`.
            let rest = &text[7..];
            decoded = percent_decoded(&rest[rest.find('/')?..])?;
            decoded.as_str()
        }
        Some(_) | None => text,
    };
    if text.is_empty() || text.len() > 4 * VaultPath::MAX_BYTES || text.contains('\0') {
        return None;
    }
    let mut path = PathBuf::new();
    for part in root.join(text).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => path.push(part),
        }
    }
    Some(path)
}

/// The place in the vault, if it is one. Whatever holds the vault counts as all of it.
fn within(root: &Path, path: &Path) -> Option<Reach> {
    if root.starts_with(path) {
        return Some(Reach::Vault);
    }
    let below = path.strip_prefix(root).ok()?.to_str()?;
    VaultPath::parse(below).ok().map(Reach::Path)
}

/// Where the path leads, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut there = path;
    loop {
        if let Ok(real) = there.canonicalize() {
            return rest.iter().rev().fold(real, |path, name| path.join(name));
        }
        match (there.parent(), there.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                there = parent;
            }
            (_, _) => return path.to_owned(),
        }
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use expect_test::expect;
    use serde_json::{Value, json};
    use toolkit::Reach;

    use super::{Touch, keys};

    fn named(root: &Path, args: &Value) -> String {
        let keys = keys(root, args, Touch::Writes);
        let shown = keys.writes.iter().map(|reach| match reach {
            Reach::Vault => "(everything)".to_owned(),
            Reach::File(path) | Reach::Folder(path) | Reach::Path(path) => path.to_string(),
        });
        shown.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_spelling_of_a_place_in_the_vault_is_found() {
        let root = Path::new("/nowhere/vault");
        let args = json!({
            "path": "Private/a.md",
            "paths": ["./b.md", "x/../Private/../c.md", "/nowhere/vault/d.md", "/nowhere/./vault//e.md"],
            "deep": {"uri": "file:///nowhere/vault/f%20g.md", "host": "FILE://localhost/nowhere/vault/h.md"},
            "around": "../vault/i.md",
            "map": {"Private/j.md": 1},
            "all": "/",
        });
        expect![[r#"
            Private/a.md
            b.md
            c.md
            d.md
            e.md
            f g.md
            h.md
            i.md
            Private/j.md
            (everything)"#]]
        .assert_eq(&named(root, &args));
    }

    #[test]
    fn what_lies_outside_is_no_place_of_the_vault() {
        let args = json!({"a": "/etc/passwd", "b": "../other/x", "c": "https://example.org/x", "d": 1, "e": "line\nbreak", "f": ""});
        // A relative address is a name like any other, as far as text can tell; nothing is at it.
        expect![""].assert_eq(&named(Path::new("/nowhere/vault"), &args));
        let many: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
        assert_eq!(named(Path::new("/nowhere/vault"), &json!(many)), "(everything)");
    }

    #[test]
    fn a_link_is_the_place_that_it_leads_to_as_well() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("Private")).unwrap();
        symlink("Private", root.join("open")).unwrap();
        expect![[r#"
            open/new.md
            Private/new.md"#]]
        .assert_eq(&named(&root, &json!({"path": "open/new.md"})));
    }
}
