//! Vaults in which a protected name is a link: a link can be replaced, and leads to a folder that has another name.

use std::fs;
use std::os::unix::fs::symlink;

use envelope::Failure;
use shell::sandbox::{Wall, command};

use crate::works::standing;
use crate::world::{World, launcher};

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

/// A vault whose settings lie elsewhere. What is seen of them before and after must be the same.
fn nothing_changes(target: &str) {
    for wall in standing().into_iter().filter(|wall| *wall != Wall::Open) {
        for script in TRIES {
            let world = World::new();
            let real = world.vault().join(target);
            fs::create_dir_all(real.parent().unwrap()).unwrap();
            fs::rename(world.path("vault/.obsidian"), &real).unwrap();
            symlink(target, world.path("vault/.obsidian")).unwrap();
            let output = world.run(wall, script);
            let seen = fs::read_to_string(world.path("vault/.obsidian/app.json")).unwrap();
            let link = fs::read_link(world.path("vault/.obsidian")).unwrap();
            let names = fs::read_dir(&real).unwrap().count();
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                (seen.as_str(), link.to_str().unwrap(), names),
                ("{}\n", target, 1),
                "{wall:?}, {script}: {err}"
            );
        }
    }
}

#[test]
fn where_a_protected_name_is_a_link_into_the_vault_no_command_runs() {
    for wall in standing().into_iter().filter(|wall| *wall != Wall::Open) {
        for target in ["notes", "notes/deep/er", "nowhere"] {
            let world = World::new();
            fs::remove_dir_all(world.path("vault/.obsidian")).unwrap();
            fs::create_dir_all(world.path("vault/notes/deep/er")).unwrap();
            symlink(target, world.path("vault/.obsidian")).unwrap();
            let refused = command(wall, &world.reach(wall), &world.launch("true"), &launcher()).unwrap_err();
            assert_eq!(refused.failure, Failure::SandboxViolation, "{wall:?} {target}");
        }
    }
}

#[test]
fn protected_names_further_down_stay_as_they_are() {
    for wall in standing().into_iter().filter(|wall| *wall != Wall::Open) {
        let world = World::new();
        fs::create_dir_all(world.path("vault/notes/repo/.git")).unwrap();
        fs::write(world.path("vault/notes/repo/.git/config"), "mine").unwrap();
        world.run(
            wall,
            "echo x > notes/repo/.git/config; echo x > notes/repo/.git/new; rm -rf notes/repo/.git",
        );
        let config = fs::read_to_string(world.path("vault/notes/repo/.git/config")).unwrap();
        let names = fs::read_dir(world.path("vault/notes/repo/.git")).unwrap().count();
        assert_eq!((config.as_str(), names), ("mine", 1), "{wall:?}");
    }
}

#[test]
fn settings_that_are_a_link_out_of_the_vault_stay() {
    nothing_changes("../home/obsidian");
}

#[test]
fn notes_can_be_changed_beside_a_protected_link() {
    for wall in standing() {
        let world = World::new();
        fs::rename(world.path("vault/.obsidian"), world.path("home/obsidian")).unwrap();
        symlink("../home/obsidian", world.path("vault/.obsidian")).unwrap();
        let output = world.run(wall, "echo more >> notes/a.md; echo new > notes/b.md; cat notes/*.md");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "a note\nmore\nnew\n", "{wall:?}");
    }
}
