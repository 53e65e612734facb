//! The vault paths that the arguments of an external tool name.
//!
//! The schema does not say which arguments are paths, so every text that could be a path counts as one: a rule that
//! protects a folder must hold whatever a server calls its arguments. A false positive costs a refusal that names
//! the text.

use std::path::Path;

use serde_json::Value;
use toolkit::{PathKeys, PathScope};

use crate::path_resolver::vault_scopes;

/// Largest number of texts that are examined. A call with more counts as one that touches the whole vault.
const MAX_TEXTS: usize = 1_000;

/// Whether a call reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Reads,
    Writes,
}

/// Returns the vault paths that the arguments name. `root` is the vault.
pub(crate) fn path_keys(root: &Path, args: &Value, touch: AccessKind) -> PathKeys {
    let mut texts = Vec::new();
    collect(args, &mut texts);
    let mut found: Vec<PathScope> = Vec::new();
    if texts.len() > MAX_TEXTS {
        found.push(PathScope::Vault);
    } else {
        for text in texts {
            for scope in vault_scopes(root, text) {
                if !found.contains(&scope) {
                    found.push(scope);
                }
            }
        }
    }
    match touch {
        AccessKind::Reads => PathKeys { reads: found, writes: Vec::new() },
        AccessKind::Writes => PathKeys { reads: Vec::new(), writes: found },
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
                // A map from paths to values has them as its keys.
                if key.contains(['/', '.']) {
                    texts.push(key);
                }
                collect(item, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use expect_test::expect;
    use proptest::prelude::{any, prop_assert, proptest};
    use serde_json::{Value, json};
    use toolkit::PathScope;

    use super::{AccessKind, path_keys};

    fn named(root: &Path, args: &Value) -> String {
        let keys = path_keys(root, args, AccessKind::Writes);
        let shown = keys.writes.iter().map(|scope| match scope {
            PathScope::Vault => "(everything)".to_owned(),
            PathScope::Folder(path) => format!("{path}/**"),
            PathScope::File(path) | PathScope::Path(path) => path.to_string(),
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
        let root = Path::new("/nowhere/vault");
        expect![""].assert_eq(&named(root, &json!({"a": "/etc/passwd", "b": "../other/x", "d": 1, "f": ""})));
        let many: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
        assert_eq!(named(root, &json!(many)), "(everything)");
    }

    #[test]
    fn text_that_is_no_path_names_no_more_than_itself() {
        // By their text alone these are names in the vault; no file or rule matches them.
        let args = json!({
            "url": "https://example.org/x", "content": "# Note\n\nPrivate/a.md and/or more: this.\n", "said": "Hello.",
        });
        expect![[r#"
            https/example.org/x
            # NotePrivate/a.md and/**
            Hello"#]]
        .assert_eq(&named(Path::new("/nowhere/vault"), &args));
    }

    #[test]
    fn no_spelling_of_a_closed_folder_gets_around_it() {
        let root = Path::new("/nowhere/vault");
        let texts = [
            format!("{}Private/a.md", "./".repeat(2_100)),
            format!("Private/{}", "long/".repeat(2_000)),
            format!("Private/{}", "x".repeat(300)),
            "Private/12:30.md".to_owned(),
            "Private/a.".to_owned(),
            "Private/a ".to_owned(),
            "Private/con".to_owned(),
            "Private\\a.md".to_owned(),
            "Private/\u{202e}a.md".to_owned(),
            "Private./a.md".to_owned(),
            "Pri\u{200f}vate/a.md".to_owned(),
            "Private:x/a.md".to_owned(),
            " Private/a.md\n".to_owned(),
            "\"Private/a.md\"".to_owned(),
            "'Private/a.md'".to_owned(),
            "private/A.md".to_owned(),
            "/NOWHERE/Vault/Private/a.md".to_owned(),
            "../../nowhere/vault/Private/a.md".to_owned(),
            "../../../../../nowhere/vault/Private/a.md".to_owned(),
            "file:///nowhere/vault/Private/a.md?%".to_owned(),
            "file:///nowhere/vault/Private/a.md?x".to_owned(),
            "file:///nowhere/vault/Private/a.md#x".to_owned(),
            "file:///nowhere/vault/Private/%ff".to_owned(),
            "file:/nowhere/vault/Private/a.md".to_owned(),
            " fi\tle:\\\\\\nowhere\\vault\\Private\\a.md".to_owned(),
            "file://nowhere".to_owned(),
            "Private/a.md\0.png".to_owned(),
        ];
        for text in texts {
            let found = named(root, &json!([text]));
            let is_private =
                |line: &str| line == "(everything)" || line.to_lowercase().starts_with("private");
            assert!(found.lines().any(is_private), "{text:?}: {found}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_named_below_a_closed_folder_is_found(rest in any::<String>(), around in "[ \"'\t]{0,3}") {
            let root = Path::new("/nowhere/vault");
            for text in [format!("Private/{rest}"), format!("{around}/nowhere/vault/Private/{rest}{around}")] {
                let climbs = rest.contains("..");
                let found = named(root, &json!([text]));
                let is_private = |line: &str| line == "(everything)" || line.starts_with("Private");
                prop_assert!(climbs || found.lines().any(is_private), "{text:?}: {found}");
            }
        }
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

    #[test]
    fn a_link_counts_before_it_leads_anywhere_and_before_the_way_back() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("Private/deep")).unwrap();
        symlink("Private/new.md", root.join("later")).unwrap();
        symlink("Private/deep", root.join("way")).unwrap();
        symlink("round", root.join("round")).unwrap();
        expect![[r#"
            later
            Private/new.md"#]]
        .assert_eq(&named(&root, &json!({"path": "later"})));
        expect![[r#"
            a.md
            Private/a.md"#]]
        .assert_eq(&named(&root, &json!({"path": "way/../a.md"})));
        expect![[r#"
            round
            (everything)"#]]
        .assert_eq(&named(&root, &json!({"path": "round"})));
    }
}
