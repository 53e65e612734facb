//! Files whose names are not portable: `a:b.md`, `CON.md`, spaces at an end, invisible characters, bytes that are not
//! UTF-8. They are read, searched, linked, renamed and restored by their escaped paths, and nothing new gets such a name.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use envelope::{Failure, VaultChange, VaultPath};
use proptest::collection::{btree_set, vec};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};

use crate::proofs::call_runner::{CallRunner, RunnerOutcome};

struct OddVault {
    folder: tempfile::TempDir,
    runner: CallRunner,
}

impl OddVault {
    fn with(files: &[(&[u8], &str)]) -> OddVault {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let vault = folder.path().join("vault");
        std::fs::create_dir(&vault).unwrap();
        for (path, text) in files {
            let path = vault.join(OsStr::from_bytes(path));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            crate::write_fixture::put(&path, text.as_bytes());
        }
        let runner = CallRunner::with_restore(&vault, &folder.path().join("store"));
        OddVault { folder, runner }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("vault")
    }

    fn call(&self, tool: &str, args: &Value) -> RunnerOutcome {
        self.runner.call(tool, args)
    }

    #[track_caller]
    fn data(&self, tool: &str, args: &Value) -> Value {
        let outcome = self.call(tool, args);
        assert_eq!(outcome.verdict(), "done", "{args}: {}", outcome.said());
        outcome.result.unwrap().data
    }

    /// Makes a call and checks that its undo gives every byte and every name back, and its redo the change.
    #[track_caller]
    fn data_and_undo(&self, tool: &str, args: &Value) -> Value {
        let before = self.tree();
        let outcome = self.call(tool, args);
        assert_eq!(outcome.verdict(), "done", "{args}: {}", outcome.said());
        assert_eq!(outcome.changes, outcome.intent, "what was intended was done");
        let after = self.tree();
        assert_ne!(after, before);
        let undone = self.restore(&outcome.changes);
        assert_eq!(self.tree(), before);
        self.restore(&undone);
        assert_eq!(self.tree(), after);
        outcome.result.unwrap().data
    }

    #[track_caller]
    fn restore(&self, changes: &[VaultChange]) -> Vec<VaultChange> {
        let inverse: Vec<VaultChange> = changes.iter().rev().map(VaultChange::inverse).collect();
        // As a record stores them.
        let args = serde_json::from_str(&json!({ "changes": inverse }).to_string()).unwrap();
        let outcome = self.call("vault.restore", &args);
        assert_eq!(outcome.verdict(), "done", "{args}: {}", outcome.said());
        outcome.changes
    }

    /// Returns every path in the vault with its content; a folder has none.
    fn tree(&self) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
        let mut tree = BTreeMap::new();
        let mut todo = vec![self.root()];
        while let Some(folder) = todo.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let is_folder = path.symlink_metadata().unwrap().is_dir();
                let name = path.strip_prefix(self.root()).unwrap().as_os_str().as_bytes().to_owned();
                // A link to a folder cannot be read.
                tree.insert(name, (!is_folder).then(|| std::fs::read(&path).unwrap_or_default()));
                if is_folder {
                    todo.push(path);
                }
            }
        }
        tree
    }

    fn text(&self, path: &[u8]) -> String {
        String::from_utf8(self.tree()[path].clone().unwrap()).unwrap()
    }
}

/// Returns the path on disk for a path of a result.
fn on_disk(path: &str) -> Vec<u8> {
    let names: Vec<_> = path.split('/').map(|name| VaultPath::unescape_name(name).unwrap()).collect();
    names.join(&b'/')
}

const ODD: [&[u8]; 12] = [
    b"x: y.md",
    br"back\slash.md",
    br"x\x3A y.md",
    b" leading.md",
    b"CON.md",
    b"b:/c.md",
    b"trailing /dot./n.md",
    "left\u{200e}.md".as_bytes(),
    "right\u{200f}/n.md".as_bytes(),
    b"caf\xe9.md",
    b"\xff\xfe/\xff.md",
    b"tab\there.md",
];

#[test]
fn notes_with_odd_names_are_listed_read_searched_and_linked() {
    let files: Vec<(&[u8], &str)> = ODD.iter().map(|path| (*path, "needle [[Target]]")).collect();
    let vault = OddVault::with(&files);
    crate::write_fixture::put(&vault.root().join("Target.md"), b"[[CON]] [[x: y]] [[b:/c]]");
    let mut odd: Vec<&[u8]> = ODD.to_vec();
    odd.sort_unstable();
    let paths = |found: &Value, field: &str| -> Vec<Vec<u8>> {
        let mut paths: Vec<_> =
            found.as_array().unwrap().iter().map(|one| on_disk(one[field].as_str().unwrap())).collect();
        paths.sort_unstable();
        paths
    };
    let listed = vault.data("vault.listFiles", &json!({"recursive": true, "extensions": ["md"]}));
    assert_eq!((&listed["unusable"], &listed["items"].as_array().unwrap().len()), (&Value::Null, &13));
    for item in listed["items"].as_array().unwrap() {
        let read = vault.data("vault.readFile", &json!({"path": item["path"]}));
        assert_eq!(read["content"], vault.text(&on_disk(item["path"].as_str().unwrap())));
        // A listing that goes on after any of them misses none.
        let rest = vault.data(
            "vault.listFiles",
            &json!({"recursive": true, "extensions": ["md"], "after": item["path"]}),
        );
        let all = listed["items"].as_array().unwrap();
        let at = all.iter().position(|other| other == item).unwrap();
        assert_eq!(rest["items"].as_array().unwrap(), &all[at + 1..]);
    }
    let found = vault.data("vault.searchText", &json!({"query": "needle"}));
    assert_eq!(paths(&found["matches"], "path"), odd);
    for found in found["matches"].as_array().unwrap() {
        let one = vault.data("vault.searchText", &json!({"query": "needle", "paths": [found["path"]]}));
        assert_eq!(one["matches"], json!([found]));
    }
    let links = vault.data("vault.getLinks", &json!({"path": "Target.md"}));
    assert_eq!(
        (paths(&links["backlinks"], "fromPath"), &links["notLookedInto"]),
        (odd.iter().map(|path| path.to_vec()).collect(), &Value::Null)
    );
    let outgoing: Vec<_> = links["outgoing"].as_array().unwrap().iter().map(|link| &link["toPath"]).collect();
    assert_eq!(outgoing, [r"\x43ON.md", r"x\x3A y.md", r"b\x3A/c.md"]);
}

#[test]
fn notes_with_odd_names_keep_their_links_when_a_note_is_renamed() {
    let files: Vec<(&[u8], &str)> =
        ODD.iter().map(|path| (*path, "to [[Target]] and [it](/Target.md)")).collect();
    let vault = OddVault::with(&files);
    crate::write_fixture::put(&vault.root().join("Target.md"), b"");
    let renamed = vault.data_and_undo("vault.rename", &json!({"fromPath": "Target.md", "toPath": "Goal.md"}));
    assert_eq!((&renamed["filesUpdated"], &renamed["notLookedInto"]), (&json!(ODD.len()), &Value::Null));
    for path in ODD {
        assert_eq!(vault.text(path), "to [[Goal]] and [it](/Goal.md)", "{}", path.escape_ascii());
    }
}

#[test]
fn a_note_with_an_odd_name_gets_a_plain_one_and_keeps_its_links() {
    let text = "[[CON]] [[x: y|this]] [other](<./b:/c.md>) ![[x: y]]";
    let vault = OddVault::with(&[
        (b"CON.md", "[[x: y]]"),
        (b"x: y.md", "[[CON]]"),
        (b"b:/c.md", "[[CON]]"),
        (br"x\x3A y.md", "another file"),
        (b"caf\xe9.md", "[[CON]]"),
        (b"Index.md", text),
    ]);
    let rename = |from: &str, to: &str| json!({"fromPath": from, "toPath": to});
    vault.data_and_undo("vault.rename", &rename(r"\x43ON.md", "Convention.md"));
    vault.data_and_undo("vault.rename", &rename(r"x\x3A y.md", "x y.md"));
    vault.data_and_undo("vault.rename", &rename(r"b\x3A", "b"));
    vault.data_and_undo("vault.rename", &rename(r"caf\xE9.md", "café.md"));
    vault.data_and_undo("vault.rename", &rename(r"x\x5Cx3A y.md", "Other.md"));
    assert_eq!(vault.text(b"Index.md"), "[[Convention]] [[x y|this]] [other](<./b/c.md>) ![[x y]]");
    assert_eq!(vault.text("café.md".as_bytes()), "[[Convention]]");
    assert_eq!(vault.text(b"Other.md"), "another file");
    let names: Vec<String> = vault.tree().into_keys().map(|name| String::from_utf8(name).unwrap()).collect();
    assert_eq!(names, ["Convention.md", "Index.md", "Other.md", "b", "b/c.md", "café.md", "x y.md"]);
}

#[test]
fn a_name_that_differs_only_by_an_invisible_character_or_case_is_respelled() {
    let vault =
        OddVault::with(&[("no\u{200e}te.md".as_bytes(), "1"), (b"CON.md", "2"), (b"Index.md", "[[con]]")]);
    vault.data_and_undo("vault.rename", &json!({"fromPath": r"no\xE2\x80\x8Ete.md", "toPath": "note.md"}));
    // Two names that some systems take for one.
    let other = OddVault::with(&[("no\u{200e}te.md".as_bytes(), "1"), (b"note.md", "2")]);
    let before = other.tree();
    let taken = other.call("vault.rename", &json!({"fromPath": r"no\xE2\x80\x8Ete.md", "toPath": "note.md"}));
    assert_eq!(taken.failure(), Some(Failure::Conflict), "{}", taken.said());
    assert_eq!(other.tree(), before);
}

#[test]
fn a_folder_with_odd_names_is_moved_deleted_and_restored() {
    let vault = OddVault::with(&[
        (b"F/x: y.md", "[[Note]]"),
        (b"F/\xff\xfe.bin", "bytes"),
        (b"F/CON/ n.md", "[[x: y]]"),
        (b"Note.md", "[[F/x: y]] [[F/CON/ n]]"),
        (b".trash/CON", "there already"),
    ]);
    vault.data_and_undo("vault.rename", &json!({"fromPath": "F", "toPath": "G"}));
    assert_eq!(vault.text(b"Note.md"), "[[G/x: y]] [[G/CON/ n]]");
    vault.data_and_undo("vault.delete", &json!({"path": r"G/\x43ON"}));
    vault.data_and_undo("vault.delete", &json!({"path": r"G/x\x3A y.md", "trash": false}));
    vault.data_and_undo("vault.delete", &json!({"path": "G"}));
    assert!(vault.tree().contains_key(&b".trash/G/\xff\xfe.bin"[..]));
}

#[test]
fn a_note_with_an_odd_name_is_edited_in_place() {
    let vault = OddVault::with(&[(b"x: y.md", "one"), (b"\xff.md", "one")]);
    for path in [r"x\x3A y.md", r"\xFF.md"] {
        vault.data_and_undo("vault.replaceText", &json!({"path": path, "find": "one", "replace": "two"}));
    }
    assert_eq!((vault.text(b"x: y.md"), vault.text(b"\xff.md")), ("two".to_owned(), "two".to_owned()));
}

#[test]
fn no_tool_makes_an_odd_name_or_leaves_the_vault_by_an_escape() {
    let vault = OddVault::with(&[
        (b"a.md", "x"),
        (b".git /config", "secret"),
        (b".obsidian./app.json", "secret"),
        (b".git:x/config", "secret"),
        (b"n/.git\xff/config", "secret"),
        (br"a\.git\config", "secret"),
    ]);
    crate::write_fixture::put(&vault.folder.path().join("outside.md"), b"secret");
    std::os::unix::fs::symlink("../outside.md", vault.root().join("out:side.md")).unwrap();
    std::os::unix::fs::symlink(".git ", vault.root().join("door")).unwrap();
    std::os::unix::fs::symlink("..", vault.root().join(OsStr::from_bytes(b"up\xff"))).unwrap();
    let before = vault.tree();
    let refused = |tool: &str, args: Value, failures: &[Failure]| {
        let outcome = vault.call(tool, &args);
        assert!(
            outcome.failure().is_some_and(|failure| failures.contains(&failure)),
            "{tool} {args}: {}",
            outcome.said()
        );
        assert!(!outcome.said().contains("secret"), "{tool} {args}: {}", outcome.said());
        assert_eq!(outcome.changes, []);
    };
    let invalid = [Failure::InvalidArguments];
    for name in
        [r"b\x3A.md", r"\x43ON.md", r"b\xFF.md", r"b\x20", r"b\x2E", "b:.md", r"b\x2Fc.md", r"b\x00.md"]
    {
        refused("vault.createFile", json!({"path": name, "content": "x"}), &invalid);
        refused("vault.writeFile", json!({"path": name, "content": "x"}), &invalid);
        refused("vault.ensureFolder", json!({"path": name}), &invalid);
        refused("vault.rename", json!({"fromPath": "a.md", "toPath": name}), &invalid);
    }
    let hostile = [Failure::InvalidArguments, Failure::SandboxViolation];
    for path in [
        r"\x2E\x2E/outside.md",
        r".\x2E/outside.md",
        r"\x2E./outside.md",
        r"..\x2Foutside.md",
        r"\x2Fetc\x2Fpasswd",
        r"a\x2E.md",
        r"a\x00.md",
        r".git\x20/config",
        r"\x2Egit/config",
        r".obsidian\x2E/app.json",
        r".git\x3Ax/config",
        r"n/.git\xFF/config",
        r"a\x5C.git\x5Cconfig",
        r"out\x3Aside.md",
        "door/config",
        r"up\xFF/outside.md",
    ] {
        refused("vault.readFile", json!({"path": path}), &hostile);
        refused("vault.delete", json!({"path": format!("{path}/x")}), &hostile);
        refused("vault.rename", json!({"fromPath": format!("{path}/x"), "toPath": "b.md"}), &hostile);
        refused("vault.searchText", json!({"query": "s", "paths": [path]}), &hostile);
        refused("vault.listFiles", json!({"prefix": path}), &hostile);
        refused("vault.replaceText", json!({"path": path, "find": "s", "replace": "t"}), &hostile);
    }
    assert_eq!(vault.tree(), before);
    let found = vault.data("vault.searchText", &json!({"query": "secret"}));
    assert_eq!(found["matches"], json!([]));
    let said = vault.call("vault.readFile", &json!({"path": "b:c.md"})).said();
    assert!(said.contains(r"b\x3Ac.md"), "the error says how a file of that name is named: {said}");
}

#[test]
fn a_path_that_is_too_long_is_searched_and_named_where_it_is_missing() {
    let vault = OddVault::with(&[(b"Target.md", "")]);
    let folders = vec!["f".repeat(250); 5];
    let mut at = vault.root();
    for folder in &folders {
        at.push(folder);
        std::fs::create_dir(&at).unwrap();
    }
    crate::write_fixture::put(&at.join("n.md"), b"needle [[Target]]");
    let deepest = format!("{}/", folders.join("/"));
    let found = vault.data("vault.searchText", &json!({"query": "needle"}));
    assert_eq!(found["matches"][0]["path"], format!("{deepest}n.md"));
    let listed = vault.data("vault.listFiles", &json!({"recursive": true}));
    assert_eq!((&listed["unusable"], &listed["unusableNames"]), (&json!(1), &json!([deepest])));
    let links = vault.data("vault.getLinks", &json!({"path": "Target.md"}));
    assert_eq!((&links["backlinks"], &links["notLookedInto"]), (&json!([]), &json!([deepest])));
    let renamed = vault.data("vault.rename", &json!({"fromPath": "Target.md", "toPath": "Goal.md"}));
    assert_eq!(renamed["notLookedInto"], json!([deepest]));
}

/// Bytes of a name, mostly those that matter.
fn names() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => proptest::sample::select(&b"ab:\\ .xCON3A\xff\xe9\x80\t"[..]),
        1 => any::<u8>(),
    ];
    let bytes = vec(byte, 1..10);
    let name = prop_oneof![4 => bytes, 1 => Just("a\u{200e}b".into()), 1 => Just(b"CON".to_vec())];
    name.prop_filter("a name on disk", |name| {
        !matches!(&name[..], b"." | b"..") && !name.contains(&b'/') && !name.contains(&0)
    })
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    #[test]
    fn every_name_on_disk_has_a_path_that_finds_it(names in btree_set(names(), 1..12)) {
        // No undo restores one of two names that some systems take for one.
        let mut folded = BTreeSet::new();
        let names: BTreeSet<Vec<u8>> = names
            .into_iter()
            .filter(|name| folded.insert(VaultPath::fold_name(&VaultPath::escape_name(name).unwrap())))
            .collect();
        let files: Vec<(Vec<u8>, String)> =
            names.iter().enumerate().map(|(n, name)| (name.clone(), format!("needle {n}"))).collect();
        let files: Vec<(&[u8], &str)> = files.iter().map(|(name, text)| (&name[..], &**text)).collect();
        let vault = OddVault::with(&files);
        let visible = |name: &Vec<u8>| {
            !name.starts_with(b".") && !VaultPath::is_protected_name(&VaultPath::escape_name(name).unwrap())
        };
        let expected: Vec<&Vec<u8>> = names.iter().filter(|name| visible(name)).collect();
        let listed = vault.data("vault.listFiles", &json!({}));
        assert_eq!((listed["items"].as_array().unwrap().len(), &listed["unusable"]), (expected.len(), &Value::Null));
        let found = vault.data("vault.searchText", &json!({"query": "needle"}));
        assert_eq!(found["matches"].as_array().unwrap().len(), expected.len());
        for item in listed["items"].as_array().unwrap() {
            let path = item["path"].as_str().unwrap();
            let read = vault.data("vault.readFile", &json!({"path": path}));
            assert_eq!(read["content"], vault.text(&on_disk(path)));
            let deleted = vault.call("vault.delete", &json!({"path": path}));
            assert_eq!(deleted.verdict(), "done", "{}", deleted.said());
            assert!(!vault.root().join(OsStr::from_bytes(&on_disk(path))).exists());
            vault.restore(&deleted.changes);
        }
        let restored = vault.tree();
        for (name, text) in &files {
            assert_eq!(restored[*name].as_deref(), Some(text.as_bytes()));
        }
    }
}

#[test]
fn a_forecast_of_odd_names_is_what_happens() {
    let vault =
        OddVault::with(&[(b"F/x: y.md", "[[CON]]"), (b"CON.md", ""), (b"\xff.md", "[[CON]] [[F/x: y]]")]);
    let disk = vault::Vault::open(&vault.root()).unwrap();
    let overlay = disk.with_overlay();
    let recorder = crate::support::ChangeRecorder::default();
    let path = |raw: &str| VaultPath::parse_escaped(raw).unwrap();
    let moves = [
        vault::ChangeStep::move_entry(path(r"\x43ON.md"), path("Conn.md"), envelope::EntryKind::File),
        vault::ChangeStep::move_entry(path("F"), path("G"), envelope::EntryKind::Folder),
    ];
    let steps = vault::PreparedSteps { steps: moves.to_vec() };
    overlay.apply(&steps, &recorder).unwrap();
    let listing = |of: &vault::Vault| {
        let query = vault::ListingQuery {
            folder: None,
            recursive: true,
            extensions: Vec::new(),
            start: vault::ListStart::Offset(0),
            limit: 100,
        };
        let found = of.list(&query, &recorder).unwrap();
        found.entries.into_iter().map(|entry| entry.path.into_string()).collect::<Vec<_>>()
    };
    let foreseen = listing(&overlay);
    disk.apply(&steps, &recorder).unwrap();
    assert_eq!(foreseen, listing(&disk));
    assert_eq!(foreseen, ["Conn.md", "G", r"G/x\x3A y.md", r"\xFF.md"]);
    assert!(Path::exists(&vault.root().join("G/x: y.md")));
}
