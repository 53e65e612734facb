//! Vaults in which a protected name is a link: a link can be replaced, and leads to a folder that has another name.

use std::fs;
use std::os::unix::fs::symlink;

use shell::sandbox::Wall;

use crate::works::standing;
use crate::world::World;

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
fn settings_that_are_a_link_within_the_vault_stay() {
    nothing_changes("shared/obsidian");
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
