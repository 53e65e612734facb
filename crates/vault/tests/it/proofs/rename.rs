//! Renaming every note of a vault keeps every link with its file.

use std::path::Path;

use serde_json::{Value, json};

use super::call_runner::CallRunner;
use super::linked_vault::{ResolvedLinks, fill, free_path, look};
use super::scaled;
use super::seeded_random::SeededRandom;
use crate::support::at;

const SEED: u64 = 0x6c69_6e6b;

struct LinkedVault {
    folder: tempfile::TempDir,
    runner: CallRunner,
    before: ResolvedLinks,
    unresolved: usize,
}

impl LinkedVault {
    fn new(notes: usize) -> LinkedVault {
        LinkedVault::with_pairs(notes, 0)
    }

    /// Creates a vault with this many pairs of notes with equal names in different folders.
    fn with_pairs(notes: usize, pairs: usize) -> LinkedVault {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let vault = folder.path().join("vault");
        std::fs::create_dir(&vault).unwrap();
        fill(&vault, notes, pairs, SEED);
        let runner = CallRunner::new(&vault, &folder.path().join("store"));
        let before = look(&vault);
        let mut linked = LinkedVault { folder, runner, before, unresolved: 0 };
        linked.unresolved = linked.unresolved();
        let nowhere = linked.before.meanings.values().filter(|file| file.is_none()).count();
        assert_eq!(linked.unresolved, nowhere, "the tool and the second reader find the same links");
        linked
    }

    fn vault(&self) -> std::path::PathBuf {
        self.folder.path().join("vault")
    }

    /// Returns how many links are unresolved, according to the tool.
    fn unresolved(&self) -> usize {
        let outcome = self.runner.call("vault.getLinks", &json!({"limit": 10_000}));
        let data = outcome.result.unwrap().data;
        assert_eq!(data["truncated"], json!(false));
        data["unresolved"].as_array().unwrap().len()
    }

    fn rename(&self, from: &str, to: &str) -> Value {
        let args = json!({"fromPath": from, "toPath": to, "collisionStrategy": "create-unique"});
        let outcome = self.runner.call("vault.rename", &args);
        assert_eq!(outcome.verdict(), "done", "{args}: {}", outcome.said());
        let data = outcome.result.unwrap().data;
        assert_eq!(data.get("notUpdated"), None, "{args}: {data}");
        data
    }

    /// Checks that every link means its original file, for both resolvers, and that nothing else has changed.
    #[track_caller]
    fn assert_all_kept(&self) -> ResolvedLinks {
        let now = look(&self.vault());
        for (link, file) in &self.before.meanings {
            let (id, mark) = link;
            assert_eq!(
                now.meanings.get(link),
                Some(file),
                "link {mark} of {:?}, now {:?}, meant {:?}, now {:?}",
                self.before.path_of[id],
                now.path_of.get(id),
                file.map(|file| &self.before.path_of[&file]),
                file.map(|file| now.path_of.get(&file)),
            );
        }
        assert_eq!(now.meanings.len(), self.before.meanings.len());
        for (id, rest) in &self.before.rest {
            assert_eq!(&now.rest[id], rest, "{}", now.path_of[id]);
        }
        assert_eq!(self.unresolved(), self.unresolved, "as the tool sees it");
        now
    }
}

fn stem_of(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('.').unwrap())
}

/// Returns a new path: another name, another folder, or both; sometimes only another case.
fn new_path(random: &mut SeededRandom, n: usize, from: &str) -> String {
    let (stem, extension) = stem_of(from);
    let free = free_path(random, n, extension, &mut Vec::new());
    let (folder, name) = from.rsplit_once('/').map_or(("", from), |(folder, name)| (folder, name));
    let inside = |folder: &str, name: &str| {
        if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
    };
    let to = match random.below(6) {
        0 => inside(free.rsplit_once('/').map_or("", |(folder, _)| folder), name),
        1 => inside(folder, free.rsplit('/').next().unwrap()),
        2 => {
            let upper = stem.rsplit('/').next().unwrap().to_ascii_uppercase();
            inside(folder, &format!("{upper}{extension}"))
        }
        3 => format!("New {}/{free}", n % 7),
        _ => free,
    };
    if to == from { format!("{stem} again{extension}") } else { to }
}

// Conformance: tool 2.12
#[test]
fn after_every_note_was_renamed_once_no_link_has_lost_its_file() {
    // Each rename reads every note. All two thousand are for an optimised build.
    let most = if cfg!(debug_assertions) { 350 } else { 2_000 };
    let notes = scaled(80, 2_000).min(most) as usize;
    let linked = LinkedVault::new(notes);
    let mut random = SeededRandom(SEED + 1);
    let (mut links, mut renamed) = (0, 0);
    let mut path_of = linked.before.path_of.clone();
    let mut order: Vec<usize> = path_of.keys().copied().collect();
    for n in (1..order.len()).rev() {
        order.swap(n, random.below(n + 1));
    }
    for (n, id) in order.into_iter().enumerate() {
        let from = path_of[&id].clone();
        let done = linked.rename(&from, &new_path(&mut random, n, &from));
        path_of.insert(id, done["toPath"].as_str().unwrap().to_owned());
        links += done["linksUpdated"].as_u64().unwrap();
        renamed += 1;
        if n % (notes / 4) == 7 {
            linked.assert_all_kept();
        }
    }
    let now = linked.assert_all_kept();
    assert_eq!(now.path_of, path_of);
    let kept = linked.before.meanings.values().filter(|file| file.is_some()).count();
    eprintln!("{renamed} files renamed, {kept} links kept, {links} written anew");
}

/// A link with a name that two notes have means one of them by the rules of Obsidian, before and after any rename.
#[test]
fn links_to_names_that_two_notes_have_keep_their_note() {
    const PAIRS: usize = 40;
    eprintln!("seed {SEED:#x}");
    let linked = LinkedVault::with_pairs(300, PAIRS);
    let mut random = SeededRandom(SEED + 2);
    let name_of = |id: &usize| linked.before.path_of[id].rsplit('/').next().unwrap().to_owned();
    let mut twins = 0;
    for id in 0..2 * PAIRS {
        twins += usize::from(name_of(&id) == name_of(&(id ^ 1)));
        let from = linked.before.path_of[&id].clone();
        let to = match id % 4 {
            // The name becomes that of another pair.
            0 => {
                let other = name_of(&((id + PAIRS) % (2 * PAIRS)));
                format!("New {}/{other}", id % 5)
            }
            _ => new_path(&mut random, id, &from),
        };
        linked.rename(&from, &to);
        if id % 8 == 7 {
            linked.assert_all_kept();
        }
    }
    assert_eq!(twins, 2 * PAIRS);
    linked.assert_all_kept();
}

// Conformance: tool 2.12
#[test]
fn folders_that_move_or_change_case_take_their_links_with_them() {
    let linked = LinkedVault::new(80);
    for (from, to) in [
        ("Projects", "Work"),
        ("Work/2026", "2026"),
        ("Ideen/Über uns", "Archive/Über uns"),
        ("日本", "Reisen/日本 (alt)"),
        ("Archive", "ARCHIVE"),
        ("a/b", "b"),
        ("100%", "All of it"),
        ("Areas & People", "areas & people"),
    ] {
        if !linked.vault().join(from).exists() {
            continue;
        }
        linked.rename(from, to);
        linked.assert_all_kept();
    }
    let names = names_in(&linked.vault());
    assert!(
        names.contains(&"ARCHIVE".to_owned()) && names.contains(&"areas & people".to_owned()),
        "{names:?}"
    );
}

fn names_in(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_note_that_only_changes_case_is_linked_in_its_new_spelling() {
    let linked = LinkedVault::new(60);
    for (id, path) in &linked.before.path_of {
        let (stem, extension) = stem_of(path);
        let (folder, name) = stem.rsplit_once('/').map_or(("", stem), |(folder, name)| (folder, name));
        let upper = name.to_uppercase();
        let to = if folder.is_empty() {
            format!("{upper}{extension}")
        } else {
            format!("{folder}/{upper}{extension}")
        };
        if to == *path || at(&to).folded() != at(path).folded() {
            continue;
        }
        let done = linked.rename(path, &to);
        assert_eq!(done["toPath"], json!(to), "{id}");
    }
    linked.assert_all_kept();
}
