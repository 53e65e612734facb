//! Vaults prepared to lead a tool out of them.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::PermissionsExt as _;

use crate::overwriting::overwrite;
use crate::support::{CANARY, ChangeRecorder, HostileVault, at, create_unique, put};
use envelope::{Fault, VaultChange, VaultPath};
use expect_test::expect;
use vault::{ListStart, ListingQuery, PathState};

/// Returns the outcome of each operation at `path`: reading, looking, creating, overwriting, making a folder,
/// listing.
fn every_way(world: &HostileVault, path: &VaultPath) -> Vec<(&'static str, String)> {
    let recorder = ChangeRecorder::default();
    let said = |result: Result<String, Fault>| match result {
        Ok(done) => done,
        Err(fault) => {
            assert!(!fault.message.contains(CANARY));
            fault.failure.to_string()
        }
    };
    let vault = &world.vault;
    let query = ListingQuery {
        folder: Some(path.clone()),
        recursive: true,
        extensions: Vec::new(),
        start: ListStart::Offset(0),
        limit: 10,
    };
    vec![
        (
            "read",
            said(vault.read(path, 0..4096, &recorder).map(|content| {
                assert!(!content.bytes.starts_with(b"canary"), "{path} was read");
                format!("{} bytes of {}", content.bytes.len(), content.path)
            })),
        ),
        (
            "look",
            said(vault.path_state(path, &recorder).map(|seen| match seen {
                PathState::Missing => "nothing".to_owned(),
                PathState::Folder => "folder".to_owned(),
                PathState::File { .. } => "file".to_owned(),
                PathState::Other => "other".to_owned(),
            })),
        ),
        (
            "list",
            said(vault.list(&query, &recorder).map(|page| {
                page.entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>().join(", ")
            })),
        ),
        ("create", said(vault.create(path, b"new", &recorder).map(|written| written.path.to_string()))),
        (
            "unique",
            said(create_unique(vault, path, b"new", &recorder).map(|written| written.path.to_string())),
        ),
        (
            "overwrite",
            said(overwrite(vault, path, b"new", &recorder).map(|written| written.path.to_string())),
        ),
        ("folder", said(vault.ensure_folder(path, &recorder).map(|made| made.path.to_string()))),
    ]
}

/// Checks that every operation at `path` is refused because it leaves the vault or enters a protected folder.
#[track_caller]
fn refused(world: &HostileVault, path: &str) {
    for (way, outcome) in every_way(world, &at(path)) {
        assert_eq!(outcome, "sandbox_violation", "{way} of {path}");
    }
    world.assert_outside_untouched();
}

#[test]
fn links_that_leave_the_vault_lead_nowhere() {
    let world = HostileVault::new();
    let absolute = world.temp.path().join("outside").to_str().unwrap().to_owned();
    world.link("../outside", "relative");
    world.link(&absolute, "absolute");
    world.link("../vault-evil", "sibling");
    world.link("../vault", "back");
    world.link("/proc/self/root", "magic");
    world.link("/proc/self/cwd", "cwd");
    world.link("Notes/../../outside", "winding");
    world.link("relative", "chain1");
    for n in 2..=10 {
        world.link(&format!("chain{}", n - 1), &format!("chain{n}"));
    }
    for link in ["relative", "absolute", "sibling", "winding", "chain1", "chain10"] {
        refused(&world, &format!("{link}/secret.md"));
        refused(&world, &format!("{link}/new/note.md"));
    }
    for link in ["back/Notes/real.md", "magic/etc/hostname", "cwd/Cargo.toml"] {
        refused(&world, link);
    }
}

#[test]
fn a_link_to_a_file_outside_is_neither_read_nor_written() {
    let world = HostileVault::new();
    world.link("../outside/secret.md", "file.md");
    world.link("../outside/created.md", "dangling.md");
    for link in ["file.md", "dangling.md"] {
        for (way, outcome) in every_way(&world, &at(link)) {
            // A new name beside the link is a new file in the vault, and harmless.
            let expected = match way {
                "unique" => format!("{} 1.md", link.trim_end_matches(".md")),
                _ => "sandbox_violation".to_owned(),
            };
            assert_eq!(outcome, expected, "{way} of {link}");
        }
    }
    world.assert_outside_untouched();
}

#[test]
fn links_into_protected_folders_are_refused_wherever_they_stand() {
    let world = HostileVault::new();
    world.link(".obsidian", "settings");
    world.link("../.obsidian/plugins", "Notes/plugins");
    world.link("Notes/../.git", "repo");
    world.link("settings", "indirect");
    // Not there yet: creating it would take it over.
    world.link(".trash", "bin");
    world.link(".TOLLGATE/runs", "runs");
    for link in ["settings", "Notes/plugins", "repo", "indirect", "bin", "runs"] {
        refused(&world, &format!("{link}/app.json"));
    }
    for direct in [
        ".obsidian/app.json",
        ".Obsidian/new.json",
        ".OBS\u{130}DIAN/new.json",
        "Notes/.git/config",
        "GIT~1/config",
        "OBSIDI~1/app.json",
        ".trash/x",
    ] {
        refused(&world, direct);
    }
    let query = ListingQuery {
        folder: None,
        recursive: true,
        extensions: Vec::new(),
        start: ListStart::Offset(0),
        limit: 100,
    };
    let page = world.vault.list(&query, &ChangeRecorder::default()).unwrap();
    let listed: Vec<&str> = page.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(listed, ["Notes", "Notes/real.md"]);
}

#[test]
fn a_file_with_the_name_of_a_temporary_one_is_out_of_reach_and_never_removed() {
    let world = HostileVault::new();
    let theirs = ["Notes/.tollgate-tmp-0", "Notes/.tollgate-tmp-new-0", "Notes/.tollgate-tmp-a.md"];
    for name in theirs {
        put(&world.inside(name), "theirs");
        refused(&world, name);
    }
    world.link(".tollgate-tmp-0", "Notes/link.md");
    refused(&world, "Notes/link.md/x");
    let recorder = ChangeRecorder::default();
    let hidden: Vec<_> =
        std::fs::read_dir(world.inside("Notes")).unwrap().map(|e| e.unwrap().path()).collect();
    overwrite(&world.vault, &at("Notes/real.md"), b"new", &recorder).unwrap();
    world.vault.create(&at("Notes/new.md"), b"new", &recorder).unwrap();
    for path in hidden {
        assert!(path.symlink_metadata().is_ok(), "{} is gone", path.display());
    }
    for name in theirs {
        assert_eq!(std::fs::read_to_string(world.inside(name)).unwrap(), "theirs");
    }
    let query = ListingQuery {
        folder: None,
        recursive: true,
        extensions: Vec::new(),
        start: ListStart::Offset(0),
        limit: 100,
    };
    let page = world.vault.list(&query, &recorder).unwrap();
    let listed: Vec<&str> = page.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(listed, ["Notes", "Notes/new.md", "Notes/real.md"]);
}

#[test]
fn what_a_killed_writer_left_is_gone_after_the_next_write_beside_it() {
    let world = HostileVault::new();
    let recorder = ChangeRecorder::default();
    for (folder, overwrites) in [("Notes", true), ("Other", false)] {
        world.vault.ensure_folder(&at(folder), &recorder).unwrap();
        let first = world.inside(&format!("{folder}/first"));
        put(&first, "half");
        let inode = std::fs::metadata(&first).unwrap().ino();
        let left = world.inside(&format!("{folder}/.tollgate-tmp-{inode:x}-0"));
        std::fs::rename(first, &left).unwrap();
        if overwrites {
            overwrite(&world.vault, &at("Notes/real.md"), b"new", &recorder).unwrap();
        } else {
            world.vault.create(&at("Other/new.md"), b"new", &recorder).unwrap();
        }
        assert!(!left.exists(), "{}", left.display());
    }
}

#[test]
fn links_that_stay_inside_are_followed_and_the_real_path_is_reported() {
    let world = HostileVault::new();
    world.link("Notes", "alias");
    world.link("../Notes/real.md", "Notes/same.md");
    let recorder = ChangeRecorder::default();
    assert_eq!(world.vault.read(&at("alias/same.md"), 0..9, &recorder).unwrap().path, at("Notes/real.md"));
    let written = world.vault.create(&at("alias/new.md"), b"new", &recorder).unwrap();
    assert_eq!(written.path, at("Notes/new.md"));
    overwrite(&world.vault, &at("Notes/same.md"), b"changed", &recorder).unwrap();
    assert_eq!(std::fs::read(world.inside("Notes/real.md")).unwrap(), b"changed");
    assert!(world.inside("Notes/same.md").is_symlink(), "the link itself stays");
}

#[test]
fn loops_dead_links_pipes_and_folders_end_in_plain_words() {
    let world = HostileVault::new();
    world.link("loop2", "loop1");
    world.link("loop1", "loop2");
    world.link("gone/away.md", "dead");
    world.link(".", "self");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.inside("pipe").to_str().unwrap(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let mut shown = String::new();
    for path in ["loop1", "loop1/x.md", "dead", "dead/x.md", "self", "self/Notes/real.md", "pipe", "Notes"] {
        for (way, outcome) in every_way(&world, &at(path)) {
            shown.push_str(&format!("{path} {way}: {outcome}\n"));
        }
    }
    expect![[r#"
        loop1 read: precondition_failed
        loop1 look: precondition_failed
        loop1 list: precondition_failed
        loop1 create: conflict
        loop1 unique: loop1 1
        loop1 overwrite: precondition_failed
        loop1 folder: precondition_failed
        loop1/x.md read: precondition_failed
        loop1/x.md look: precondition_failed
        loop1/x.md list: precondition_failed
        loop1/x.md create: precondition_failed
        loop1/x.md unique: precondition_failed
        loop1/x.md overwrite: precondition_failed
        loop1/x.md folder: precondition_failed
        dead read: not_found
        dead look: other
        dead list: not_found
        dead create: conflict
        dead unique: dead 1
        dead overwrite: not_found
        dead folder: not_found
        dead/x.md read: not_found
        dead/x.md look: other
        dead/x.md list: not_found
        dead/x.md create: not_found
        dead/x.md unique: not_found
        dead/x.md overwrite: not_found
        dead/x.md folder: not_found
        self read: precondition_failed
        self look: precondition_failed
        self list: precondition_failed
        self create: conflict
        self unique: self 1
        self overwrite: precondition_failed
        self folder: precondition_failed
        self/Notes/real.md read: 4 bytes of Notes/real.md
        self/Notes/real.md look: file
        self/Notes/real.md list: precondition_failed
        self/Notes/real.md create: conflict
        self/Notes/real.md unique: Notes/real 1.md
        self/Notes/real.md overwrite: Notes/real.md
        self/Notes/real.md folder: conflict
        pipe read: precondition_failed
        pipe look: other
        pipe list: precondition_failed
        pipe create: conflict
        pipe unique: pipe 1
        pipe overwrite: precondition_failed
        pipe folder: conflict
        Notes read: precondition_failed
        Notes look: folder
        Notes list: Notes/real 1.md, Notes/real.md
        Notes create: conflict
        Notes unique: Notes 1
        Notes overwrite: precondition_failed
        Notes folder: Notes
    "#]]
    .assert_eq(&shown);
    world.assert_outside_untouched();
}

#[test]
fn a_hard_link_to_a_file_outside_is_replaced_and_the_file_outside_stays() {
    let world = HostileVault::new();
    std::fs::hard_link(world.temp.path().join("outside/secret.md"), world.inside("hard.md")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(world.inside("hard.md"), mode).unwrap();
    let recorder = ChangeRecorder::default();
    let written = overwrite(&world.vault, &at("hard.md"), b"new", &recorder).unwrap();
    assert!(!written.created);
    let inside = std::fs::metadata(world.inside("hard.md")).unwrap();
    assert_eq!((inside.nlink(), inside.mode() & 0o7777), (1, 0o640));
    assert!(matches!(&recorder.0.borrow()[..], [VaultChange::FileReplaced { .. }]));
    world.assert_outside_untouched();
}

#[test]
fn twins_are_conflicts_that_name_the_existing_spelling() {
    let world = HostileVault::new();
    put(&world.inside("Notes/Cafe\u{301}.md"), "nfd");
    let recorder = ChangeRecorder::default();
    let said = |path: &str| {
        let fault = world.vault.create(&at(path), b"new", &recorder).unwrap_err();
        format!("{}: {}", fault.failure, fault.message)
    };
    assert_eq!(
        said("notes/a.md"),
        "conflict: `notes` and the existing `Notes` are the same name on many systems"
    );
    assert_eq!(
        said("Notes/REAL.md"),
        "conflict: `Notes/REAL.md` and the existing `Notes/real.md` are the same name on many systems"
    );
    assert_eq!(said("Notes/Caf\u{e9}.md"), "conflict: `Notes/Cafe\u{301}.md` already exists (a file)");
    // The encoding of an accent is not visible, so the file is found by either spelling.
    let content = world.vault.read(&at("Notes/Caf\u{e9}.md"), 0..9, &recorder).unwrap();
    assert_eq!((content.bytes.as_slice(), content.path), (&b"nfd"[..], at("Notes/Cafe\u{301}.md")));
    let written = overwrite(&world.vault, &at("Notes/Caf\u{e9}.md"), b"new", &recorder).unwrap();
    assert_eq!(written.path, at("Notes/Cafe\u{301}.md"));
    let fault = world.vault.read(&at("Notes/Real.md"), 0..9, &recorder).unwrap_err();
    assert_eq!(fault.hint.as_deref(), Some("did you mean `Notes/real.md`?"));
    let unique = create_unique(&world.vault, &at("Notes/REAL.md"), b"x", &recorder).unwrap();
    assert_eq!(unique.path, at("Notes/REAL 1.md"));
}

#[test]
fn the_longest_names_work_and_leave_no_temporary_file() {
    let world = HostileVault::new();
    let recorder = ChangeRecorder::default();
    let long = format!("{}.md", "n".repeat(252));
    let written = world.vault.create(&at(&long), b"1", &recorder).unwrap();
    assert_eq!(written.path.name().len(), 255);
    let second = create_unique(&world.vault, &at(&long), b"2", &recorder).unwrap();
    assert_eq!(second.path.name().len(), 255);
    overwrite(&world.vault, &at(&long), b"3", &recorder).unwrap();
    let names: Vec<_> =
        std::fs::read_dir(world.inside("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 5, "{names:?}");
}

#[test]
fn a_twin_is_found_among_a_thousand_notes_that_we_made_ourselves() {
    let world = HostileVault::new();
    let recorder = ChangeRecorder::default();
    for n in 0..1_000 {
        world.vault.create(&at(&format!("Many/Note {n}.md")), b"", &recorder).unwrap();
    }
    let fault = world.vault.create(&at("Many/NOTE 999.md"), b"", &recorder).unwrap_err();
    assert_eq!(fault.failure, envelope::Failure::Conflict);
    assert_eq!(std::fs::read_dir(world.inside("Many")).unwrap().count(), 1_000);
}
