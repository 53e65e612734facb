//! Vaults in which a protected name is a link: a link can be replaced, and leads to a folder that has another name.

use std::fs;
use std::os::unix::fs::symlink;

use envelope::Failure;
use shell::sandbox::{PreparedCommand, SandboxKind, prepare_command};

use crate::sandbox::works::available_kinds;
use crate::sandbox::world::{ProbeWorld, launcher};

/// What a command must not manage when `.obsidian` is a link to a folder.
const TRIES: [&str; 8] = [
    "echo x > .obsidian/app.json",
    "echo x > .obsidian/new.json",
    "rm -f .obsidian; mkdir .obsidian && echo x > .obsidian/app.json",
    "ln -sfn notes .obsidian",
    "mv .obsidian notes/o",
    "mkdir notes/o && mv -fT notes/o .obsidian",
    r#"echo x > "$(readlink -f .obsidian)/app.json""#,
    r#"rm -rf "$(readlink -f .obsidian)""#,
];

/// A vault whose settings lie elsewhere. They must be the same before and after.
fn nothing_changes(target: &str) {
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Unsandboxed) {
        for script in TRIES {
            let world = ProbeWorld::new();
            let real = world.vault().join(target);
            fs::create_dir_all(real.parent().unwrap()).unwrap();
            fs::rename(world.path("vault/.obsidian"), &real).unwrap();
            symlink(target, world.path("vault/.obsidian")).unwrap();
            let output = world.run(kind, script);
            let seen = fs::read_to_string(world.path("vault/.obsidian/app.json")).unwrap();
            let link = fs::read_link(world.path("vault/.obsidian")).unwrap();
            let names = fs::read_dir(&real).unwrap().count();
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                (seen.as_str(), link.to_str().unwrap(), names),
                ("{}\n", target, 1),
                "{kind:?}, {script}: {err}"
            );
        }
    }
}

#[test]
fn where_a_protected_name_is_a_link_into_the_vault_no_command_runs() {
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Unsandboxed) {
        for target in ["notes", "notes/deep/er", "nowhere"] {
            let world = ProbeWorld::new();
            fs::remove_dir_all(world.path("vault/.obsidian")).unwrap();
            fs::create_dir_all(world.path("vault/notes/deep/er")).unwrap();
            symlink(target, world.path("vault/.obsidian")).unwrap();
            let refused =
                prepare_command(kind, &world.reach(kind), &world.launch("true"), &launcher()).unwrap_err();
            assert_eq!(refused.failure, Failure::SandboxViolation, "{kind:?} {target}");
        }
    }
}

#[test]
fn protected_names_further_down_stay_as_they_are() {
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Unsandboxed) {
        let world = ProbeWorld::new();
        fs::create_dir_all(world.path("vault/notes/repo/.git")).unwrap();
        fs::write(world.path("vault/notes/repo/.git/config"), "mine").unwrap();
        world.run(
            kind,
            "echo x > notes/repo/.git/config; echo x > notes/repo/.git/new; rm -rf notes/repo/.git",
        );
        let config = fs::read_to_string(world.path("vault/notes/repo/.git/config")).unwrap();
        let names = fs::read_dir(world.path("vault/notes/repo/.git")).unwrap().count();
        assert_eq!((config.as_str(), names), ("mine", 1), "{kind:?}");
    }
}

/// A vault with a repository two folders down and a worktree beside it, whose `.git` is a file.
fn with_repositories() -> ProbeWorld {
    let world = ProbeWorld::new();
    fs::create_dir_all(world.path("vault/notes/deep/repo/.git")).unwrap();
    fs::create_dir_all(world.path("vault/notes/deep/tree")).unwrap();
    fs::write(world.path("vault/notes/deep/repo/.git/config"), "mine").unwrap();
    fs::write(world.path("vault/notes/deep/tree/.git"), "gitdir: mine").unwrap();
    world
}

/// Ways to get another repository to where one is protected.
const REPLACES: [&str; 12] = [
    "mv notes/deep notes/deep2; mkdir -p notes/deep/repo/.git notes/deep/tree; echo x > notes/deep/repo/.git/config",
    "mv notes/deep/repo notes/deep/r2; mkdir -p notes/deep/repo/.git; echo x > notes/deep/repo/.git/config",
    "mv notes elsewhere; mkdir -p notes/deep/repo/.git; echo x > notes/deep/repo/.git/config",
    "mkdir -p o/repo/.git; echo x > o/repo/.git/config; works 316 -100 o -100 notes/deep 2",
    "mkdir -p o/deep/repo/.git; echo x > o/deep/repo/.git/config; mv notes old; mv o notes",
    "ln -s /tmp notes/link; mv -fT notes/link notes/deep",
    "echo gitdir: x > notes/deep/tree/.git",
    "rm -f notes/deep/tree/.git; echo gitdir: x > notes/deep/tree/.git",
    "echo gitdir: x > notes/g; mv -f notes/g notes/deep/tree/.git",
    "ln notes/deep/tree/.git notes/hard && echo gitdir: x > notes/hard",
    "mv notes/deep/tree notes/t2; mkdir -p notes/deep/tree; echo gitdir: x > notes/deep/tree/.git",
    "rm -rf notes; mkdir -p notes/deep/tree; echo gitdir: x > notes/deep/tree/.git",
];

#[test]
fn no_nested_repository_is_replaced_by_moving_a_folder_above_it() {
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Unsandboxed) {
        for script in REPLACES {
            let world = with_repositories();
            world.run(kind, script);
            let read = |path: &str| fs::read_to_string(world.path("vault/notes/deep").join(path));
            assert_eq!(read("repo/.git/config").unwrap(), "mine", "{kind:?}, {script}");
            assert_eq!(read("tree/.git").unwrap(), "gitdir: mine", "{kind:?}, {script}");
        }
    }
}

#[test]
fn notes_beside_a_nested_repository_can_be_changed_and_moved_in_bubblewrap() {
    if !available_kinds().contains(&SandboxKind::Bubblewrap) {
        return;
    }
    let world = with_repositories();
    let script = "set -e; echo 1 > notes/deep/repo/a.md; mv notes/deep/repo/a.md notes/b.md; mkdir notes/deep/new
        mv notes/deep/new notes/deep/newer; mv notes/b.md notes/deep/newer; rm notes/a.md; cat notes/deep/newer/b.md";
    let output = world.run(SandboxKind::Bubblewrap, script);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n", "{err}");
}

#[test]
fn a_repository_that_a_command_makes_is_named_when_it_has_ended() {
    for kind in available_kinds().into_iter().filter(|kind| *kind != SandboxKind::Unsandboxed) {
        let world = with_repositories();
        fs::create_dir(world.path("vault/Plans")).unwrap();
        let launch = world.launch("mkdir -p Plans/x/.obsidian; echo gitdir: x > Plans/.git");
        let PreparedCommand { mut command, resources } =
            prepare_command(kind, &world.reach(kind), &launch, &launcher()).unwrap();
        assert_eq!(resources.warnings(), [] as [&str; 0], "{kind:?}");
        let output = command.output().unwrap();
        let warnings = resources.warnings();
        let [warning] = warnings.as_slice() else { panic!("{kind:?}: {warnings:?}, {output:?}") };
        assert!(
            warning.starts_with("`Plans/.git`, `Plans/x/.obsidian` appeared while the command ran"),
            "{warning}"
        );
    }
}

#[test]
fn settings_that_are_a_link_out_of_the_vault_stay() {
    nothing_changes("../home/obsidian");
}

#[test]
fn notes_can_be_changed_beside_a_protected_link() {
    for kind in available_kinds() {
        let world = ProbeWorld::new();
        fs::rename(world.path("vault/.obsidian"), world.path("home/obsidian")).unwrap();
        symlink("../home/obsidian", world.path("vault/.obsidian")).unwrap();
        let output = world.run(kind, "echo more >> notes/a.md; echo new > notes/b.md; cat notes/*.md");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "a note\nmore\nnew\n", "{kind:?}");
    }
}
