//! In a preview, a listing and a search show the vault as it would be.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod support;

use std::sync::Arc;

use envelope::{EntryKind, Fault, FileState, VaultPath};
use support::{Listener, World, at, put};
use vault::{
    Content, ListQuery, ListStart, Needle, OpenNotes, Prepared, Reading, SearchQuery, Seen, Step, TextMatch,
    Vault,
};

fn notes() -> World {
    let world = World::new();
    for folder in ["Projects", "Projects/Garden", "Old"] {
        std::fs::create_dir(world.inside(folder)).unwrap();
    }
    put(&world.inside("Inbox.md"), "needle in the inbox\n");
    put(&world.inside("Projects/Plan.md"), "a plan without it\n");
    put(&world.inside("Projects/Garden/Seeds.md"), "needle among seeds\n");
    put(&world.inside("Projects/Garden/Beds.md"), "beds\n");
    put(&world.inside("Old/Gone.md"), "needle that goes\n");
    world
}

fn state(vault: &Vault, path: &str) -> FileState {
    match vault.look(&at(path), &Listener::default()).unwrap() {
        Seen::File { state, .. } => state,
        seen @ (Seen::Nothing | Seen::Folder | Seen::Other) => panic!("{path}: {seen:?}"),
    }
}

/// Creates, changes, removes and moves, in folders that are there, that are moved and that are not there yet.
fn steps(vault: &Vault) -> Vec<Step> {
    let moved = |from: &str, to: &str, kind| Step::moving(at(from), at(to), kind);
    let create = |path: &str, text: &str| Step::CreateFile {
        path: at(path),
        content: Content::of(text.as_bytes()),
        mode: None,
    };
    vec![
        create("Before.md", "needle before all\n"),
        Step::making_folder(at("New")),
        create("New/Note.md", "two needles: needle\n"),
        Step::ReplaceFile {
            path: at("Projects/Plan.md"),
            before: state(vault, "Projects/Plan.md"),
            content: Content::of(&b"now with a needle\n"[..]),
            mode: None,
        },
        Step::RemoveFile { path: at("Old/Gone.md"), before: state(vault, "Old/Gone.md") },
        Step::RemoveFolder { path: at("Old"), mode: None },
        moved("Projects", "Work", EntryKind::Folder),
        create("Work/Garden/Added.md", "a needle more\n"),
        moved("Work/Garden/Beds.md", "Beds.md", EntryKind::File),
        moved("Inbox.md", "INBOX.md", EntryKind::File),
    ]
}

fn listed(vault: &Vault, folder: Option<&str>) -> Vec<(VaultPath, EntryKind, Option<u64>)> {
    let query = ListQuery {
        folder: folder.map(at),
        recursive: true,
        extensions: Vec::new(),
        start: ListStart::Offset(0),
        limit: 1_000,
    };
    let listing = vault.list(&query, &Listener::default()).unwrap();
    listing.entries.into_iter().map(|entry| (entry.path, entry.kind, entry.size)).collect()
}

fn found(vault: &Vault, scopes: &[&str]) -> Result<Vec<TextMatch>, Fault> {
    let query = SearchQuery {
        needle: Needle::compile("needle", Reading::Plain, false)?,
        scopes: scopes.iter().map(|path| Some(at(path))).collect(),
        extensions: Vec::new(),
        limit: 1_000,
        snippet_length: 120,
    };
    vault.search(&query, &mut |_| {}, &Listener::default()).map(|finds| finds.matches)
}

#[test]
fn what_is_imagined_is_listed_and_found_as_if_it_were_done() {
    let (real, dreamt) = (notes(), notes());
    let imagined = dreamt.vault.imagined();
    let before = listed(&dreamt.vault, None);
    for step in &steps(&real.vault) {
        let prepared = Prepared { steps: vec![step.clone()] };
        real.vault.apply(&prepared, &Listener::default()).unwrap();
        imagined.apply(&prepared, &Listener::default()).unwrap();
        assert_eq!(listed(&imagined, None), listed(&real.vault, None), "after {step:?}");
        assert_eq!(found(&imagined, &[]).unwrap(), found(&real.vault, &[]).unwrap(), "after {step:?}");
    }
    for scope in ["New", "Work", "Work/Garden", "Beds.md", "Work/Plan.md", "Work/Garden/Added.md", "INBOX.md"]
    {
        assert_eq!(found(&imagined, &[scope]).unwrap(), found(&real.vault, &[scope]).unwrap(), "{scope}");
    }
    assert_eq!(listed(&imagined, Some("Work/Garden")), listed(&real.vault, Some("Work/Garden")));
    for gone in ["Old", "Projects", "Projects/Plan.md", "Inbox.md"] {
        let failures = [&imagined, &real.vault].map(|vault| found(vault, &[gone]).unwrap_err().failure);
        assert_eq!(failures[0], failures[1], "{gone}");
    }
    assert_eq!(listed(&dreamt.vault, None), before, "nothing was done");
}

/// A host with one note open.
struct Open(VaultPath, &'static str);

impl OpenNotes for Open {
    fn is_open(&self, path: &VaultPath) -> bool {
        self.unsaved(path).is_some()
    }

    fn unsaved(&self, path: &VaultPath) -> Option<String> {
        (*path == self.0).then(|| self.1.to_owned())
    }
    fn edit(&self, _path: &VaultPath, _before: &FileState, _text: &str) -> Result<Option<FileState>, Fault> {
        Ok(None)
    }
    fn saved(&self, _path: &VaultPath, _text: &str) {}
    fn not_saved(&self, _path: &VaultPath) {}
    fn moved(&self, _from: &VaultPath, _to: &VaultPath) {}
    fn removed(&self, _path: &VaultPath) {}
}

#[test]
fn a_note_that_is_open_is_searched_as_it_stands_on_the_screen() {
    let world = notes();
    world.vault.attach(Arc::new(Open(at("Inbox.md"), "typed\nbut not saved: needle\n")));
    let places: Vec<(String, u64, u64)> = found(&world.vault, &["Inbox.md"])
        .unwrap()
        .into_iter()
        .map(|found| (found.path.to_string(), found.line, found.start))
        .collect();
    assert_eq!(places, [("Inbox.md".to_owned(), 2, 21)]);
    let all = found(&world.vault, &[]).unwrap();
    assert_eq!(all.iter().filter(|found| found.path == at("Inbox.md")).count(), 1);
    assert_eq!(all.len(), 3);
}
