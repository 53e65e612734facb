//! In a preview, a listing and a search return the vault as it would be.

use std::sync::Arc;

use crate::support::{ChangeRecorder, HostileVault, at, put};
use envelope::{EntryKind, Fault, FileState, VaultPath};
use vault::{
    ChangeStep, FileContent, ListStart, ListingQuery, NoteFuture, NoteStatus, NoteUpdate, NoteWrite,
    OpenNotes, PathState, PreparedSteps, QuerySyntax, SearchPattern, SearchQuery, TextMatch, Vault,
};

fn notes() -> HostileVault {
    let world = HostileVault::new();
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
    match vault.path_state(&at(path), &ChangeRecorder::default()).unwrap() {
        PathState::File { state, .. } => state,
        seen @ (PathState::Missing | PathState::Folder | PathState::Other) => panic!("{path}: {seen:?}"),
    }
}

/// Creates, changes, removes and moves entries in existing, moved and new folders.
fn steps(vault: &Vault) -> Vec<ChangeStep> {
    let moved = |from: &str, to: &str, kind| ChangeStep::move_entry(at(from), at(to), kind);
    let create = |path: &str, text: &str| ChangeStep::CreateFile {
        path: at(path),
        content: FileContent::of(text.as_bytes()),
        mode: None,
    };
    vec![
        create("Before.md", "needle before all\n"),
        ChangeStep::create_folder(at("New")),
        create("New/Note.md", "two needles: needle\n"),
        ChangeStep::ReplaceFile {
            path: at("Projects/Plan.md"),
            before: state(vault, "Projects/Plan.md"),
            content: FileContent::of(&b"now with a needle\n"[..]),
            mode: None,
        },
        ChangeStep::RemoveFile { path: at("Old/Gone.md"), before: state(vault, "Old/Gone.md") },
        ChangeStep::RemoveFolder { path: at("Old"), mode: None },
        moved("Projects", "Work", EntryKind::Folder),
        create("Work/Garden/Added.md", "a needle more\n"),
        moved("Work/Garden/Beds.md", "Beds.md", EntryKind::File),
        moved("Inbox.md", "INBOX.md", EntryKind::File),
    ]
}

fn listed(vault: &Vault, folder: Option<&str>) -> Vec<(VaultPath, EntryKind, Option<u64>)> {
    let query = ListingQuery {
        folder: folder.map(at),
        recursive: true,
        extensions: Vec::new(),
        start: ListStart::Offset(0),
        limit: 1_000,
    };
    let listing = vault.list(&query, &ChangeRecorder::default()).unwrap();
    listing.entries.into_iter().map(|entry| (entry.path, entry.kind, entry.size)).collect()
}

fn found(vault: &Vault, scopes: &[&str]) -> Result<Vec<TextMatch>, Fault> {
    let query = SearchQuery {
        pattern: SearchPattern::compile("needle", QuerySyntax::Plain, false)?,
        scopes: scopes.iter().map(|path| Some(at(path))).collect(),
        extensions: Vec::new(),
        limit: 1_000,
        snippet_length: 120,
    };
    vault.search(&query, &mut |_| {}, &ChangeRecorder::default()).map(|finds| finds.matches)
}

#[test]
fn what_is_imagined_is_listed_and_found_as_if_it_were_done() {
    let (real, dreamt) = (notes(), notes());
    let imagined = dreamt.vault.with_overlay();
    let before = listed(&dreamt.vault, None);
    for step in &steps(&real.vault) {
        let prepared = PreparedSteps { steps: vec![step.clone()] };
        real.vault.apply(&prepared, &ChangeRecorder::default()).unwrap();
        imagined.apply(&prepared, &ChangeRecorder::default()).unwrap();
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

/// A host with one open note.
struct OpenNoteHost(VaultPath, &'static str);

impl OpenNotes for OpenNoteHost {
    fn status(&self, path: &VaultPath) -> NoteStatus {
        if *path == self.0 { NoteStatus::VaultSaves } else { NoteStatus::NotOpen }
    }

    fn unsaved_text<'a>(&'a self, path: &'a VaultPath) -> NoteFuture<'a, Option<String>> {
        let text = (*path == self.0).then(|| self.1.to_owned());
        Box::pin(std::future::ready(Ok(text)))
    }
    fn write_text<'a>(&'a self, _update: NoteUpdate<'a>) -> NoteFuture<'a, NoteWrite> {
        Box::pin(std::future::ready(Ok(NoteWrite::NotOpen)))
    }
    fn saved(&self, _path: &VaultPath, _text: &str) {}
    fn not_saved(&self, _path: &VaultPath, _text: &str) {}
    fn moved(&self, _from: &VaultPath, _to: &VaultPath) {}
    fn removed(&self, _path: &VaultPath) {}
}

#[test]
fn a_note_that_is_open_is_searched_as_it_stands_on_the_screen() {
    let world = notes();
    world.vault.attach(Arc::new(OpenNoteHost(at("Inbox.md"), "typed\nbut not saved: needle\n")));
    let places: Vec<(String, u64, u64)> = found(&world.vault, &["Inbox.md"])
        .unwrap()
        .into_iter()
        .map(|found| (found.path.to_string(), found.line, found.start))
        .collect();
    assert_eq!(places, [("Inbox.md".to_owned(), 2, 21)]);
    let all = found(&world.vault, &[]).unwrap();
    assert_eq!(all.iter().filter(|found| &*found.path == "Inbox.md").count(), 1);
    assert_eq!(all.len(), 3);
}
