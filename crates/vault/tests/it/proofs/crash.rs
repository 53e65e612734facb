//! A writer is killed, and reconciliation finds out what it did.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use envelope::VaultChange;
use rustix::fs::{CWD, RenameFlags};
use serde_json::{Value, json};

use super::call_runner::CallRunner;
use super::other_process::{ProcessRole, start};
use super::scaled;
use super::seeded_random::SeededRandom;
use crate::support::{HostileVault, put};

const NOTES: usize = 6;

fn runner(world: &HostileVault) -> CallRunner {
    CallRunner::new(&world.inside(""), &world.temp.path().join("store"))
}

/// Returns the hidden names beside a note.
fn hidden(world: &HostileVault) -> Vec<String> {
    let names =
        fs::read_dir(world.inside("Notes")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".tollgate-tmp-")).collect()
}

fn write_args(text: &str) -> Value {
    json!({"path": "Notes/real.md", "content": text})
}

/// Simulates a crash between the exchange and the end of a write: the new text has the name, the old one a
/// hidden name with the inode of the new.
fn exchanged(world: &HostileVault, old: &str) -> String {
    let new = fs::metadata(world.inside("Notes/real.md")).unwrap().ino();
    let name = format!(".tollgate-tmp-{new:x}-0");
    put(&world.inside(&format!("Notes/{name}")), old);
    name
}

#[test]
fn old_text_that_a_killed_write_left_is_cleared_away_when_the_store_has_it() {
    let world = HostileVault::new();
    let runner = runner(&world);
    let args = write_args("new");
    let intent = runner.call("vault.writeFile", &args).intent;
    let left = exchanged(&world, "real");
    // Such names with other content, and the content under another name, are not leftovers of the call.
    put(&world.inside("Notes/.tollgate-tmp-1-0"), "text that nobody kept");
    put(&world.inside("Notes/.tollgate-tmp-real"), "real");
    assert_eq!(runner.reconcile("vault.writeFile", &args, &intent), "happened");
    let mut names = hidden(&world);
    names.sort();
    assert_eq!(names, [".tollgate-tmp-1-0", ".tollgate-tmp-real"], "{left} is gone and nothing else");
    assert_eq!(fs::read_to_string(world.inside("Notes/real.md")).unwrap(), "new");
}

#[test]
fn old_text_that_a_killed_write_left_stays_when_nobody_has_it() {
    let world = HostileVault::new();
    let args = write_args("new");
    let intent = runner(&world).call("vault.writeFile", &args).intent;
    let left = exchanged(&world, "real");
    let elsewhere = CallRunner::new(&world.inside(""), &world.temp.path().join("another store"));
    assert_eq!(elsewhere.reconcile("vault.writeFile", &args, &intent), "happened");
    assert_eq!(hidden(&world), [left.as_str()]);
    // A later write does not take it for its own leftover either.
    elsewhere.call("vault.writeFile", &write_args("newer"));
    assert_eq!(hidden(&world), [left]);
}

#[test]
fn what_a_killed_delete_took_aside_is_cleared_away_when_the_store_has_it() {
    let world = HostileVault::new();
    let runner = runner(&world);
    let args = json!({"path": "Notes/real.md", "trash": false});
    let path = world.inside("Notes/real.md");
    let inode = fs::metadata(&path).unwrap().ino();
    // A second name keeps the file for the moment after the crash.
    fs::hard_link(&path, world.temp.path().join("again")).unwrap();
    let intent = runner.call("vault.delete", &args).intent;
    let aside = world.inside(&format!("Notes/.tollgate-tmp-removed-{inode:x}"));
    fs::rename(world.temp.path().join("again"), &aside).unwrap();
    assert_eq!(hidden(&world).len(), 1);
    assert_eq!(runner.reconcile("vault.delete", &args, &intent), "happened");
    assert_eq!(hidden(&world), Vec::<String>::new());
    assert!(!path.exists());
}

#[test]
fn a_copy_that_a_live_writer_holds_is_not_cleared_away() {
    let world = HostileVault::new();
    let runner = runner(&world);
    let args = write_args("new");
    let intent = runner.call("vault.writeFile", &args).intent;
    let left = exchanged(&world, "real");
    let held = fs::File::open(world.inside(&format!("Notes/{left}"))).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert_eq!(runner.reconcile("vault.writeFile", &args, &intent), "happened");
    assert_eq!(hidden(&world), [left]);
}

#[test]
fn the_old_text_is_under_the_hidden_name_of_the_new_file_for_that_moment() {
    // An exchange produces what the tests above build by hand.
    let world = HostileVault::new();
    let (note, new) = (world.inside("Notes/real.md"), world.inside("Notes/.tollgate-tmp-x"));
    put(&new, "new");
    rustix::fs::renameat_with(CWD, &new, CWD, &note, RenameFlags::EXCHANGE).unwrap();
    let by_hand = exchanged(&world, "real");
    assert_eq!(by_hand, format!(".tollgate-tmp-{:x}-0", fs::metadata(&note).unwrap().ino()));
    assert_eq!(fs::read_to_string(&new).unwrap(), "real");
}

/// Renames a note that another one links to. Returns the arguments and the intent.
fn rename_linked(world: &HostileVault, runner: &CallRunner) -> (Value, Vec<VaultChange>) {
    put(&world.inside("Notes/link.md"), "[[real]]\n");
    let args = json!({"fromPath": "Notes/real.md", "toPath": "Notes/moved.md"});
    let intent = runner.call("vault.rename", &args).intent;
    assert_eq!(fs::read_to_string(world.inside("Notes/link.md")).unwrap(), "[[moved]]\n");
    (args, intent)
}

#[test]
fn a_rename_that_was_killed_before_its_links_is_taken_back() {
    let world = HostileVault::new();
    let runner = runner(&world);
    let (args, intent) = rename_linked(&world, &runner);
    put(&world.inside("Notes/link.md"), "[[real]]\n");
    assert_eq!(runner.reconcile("vault.rename", &args, &intent), "did not");
    assert_eq!(fs::read_to_string(world.inside("Notes/real.md")).unwrap(), "real");
    assert!(!world.inside("Notes/moved.md").exists());
    assert_eq!(fs::read_to_string(world.inside("Notes/link.md")).unwrap(), "[[real]]\n");
}

#[test]
fn a_note_that_has_taken_the_new_name_is_not_moved_for_one_that_never_moved() {
    let world = HostileVault::new();
    let runner = runner(&world);
    let (args, intent) = rename_linked(&world, &runner);
    put(&world.inside("Notes/link.md"), "[[real]]\n");
    put(&world.inside("Notes/moved.md"), "another note");
    assert_eq!(runner.reconcile("vault.rename", &args, &intent), "unknown");
    assert_eq!(fs::read_to_string(world.inside("Notes/moved.md")).unwrap(), "another note");
    assert!(!world.inside("Notes/real.md").exists());
}

#[test]
fn a_rename_is_not_taken_back_over_a_note_that_was_edited_since() {
    let world = HostileVault::new();
    let runner = runner(&world);
    let (args, intent) = rename_linked(&world, &runner);
    put(&world.inside("Notes/link.md"), "[[moved]] and more\n");
    assert_eq!(runner.reconcile("vault.rename", &args, &intent), "unknown");
    assert_eq!(fs::read_to_string(world.inside("Notes/moved.md")).unwrap(), "real");
    assert_eq!(fs::read_to_string(world.inside("Notes/link.md")).unwrap(), "[[moved]] and more\n");
}

/// A text in which a missing part is visible.
fn whole(token: u64) -> String {
    format!("[[n{}]] {token}\n", token % NOTES as u64).repeat(300)
}

fn is_whole(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    text.ends_with('\n') && text.lines().count() == 300 && text.lines().all(|line| line == first)
}

/// ProcessRole of the writer that is killed. Before each call it records the call.
pub(crate) fn change_until_killed(base: &Path, seed: u32) {
    let runner = CallRunner::new(&base.join("vault"), &base.join("store"));
    let mut log = fs::OpenOptions::new().append(true).create(true).open(base.join("log")).unwrap();
    let mut random = SeededRandom(u64::from(seed));
    loop {
        let note = format!("Notes/n{}.md", random.below(NOTES));
        let (tool, args) = match random.below(5) {
            0 => ("vault.delete", json!({"path": note, "trash": random.chance(2)})),
            1 => (
                "vault.rename",
                json!({"fromPath": note, "toPath": format!("Notes/n{}.md", random.below(NOTES))}),
            ),
            _ => ("vault.writeFile", json!({"path": note, "content": whole(random.next() >> 8)})),
        };
        runner.call_noting(tool, &args, |intent| {
            let line = json!({"tool": tool, "args": args, "intent": intent});
            log.write_all(format!("{line}\n").as_bytes()).unwrap();
        });
        log.write_all(b"done\n").unwrap();
    }
}

/// Kills a writer in the middle of its work. Returns the call that it was making.
fn killed(world: &HostileVault, random: &mut SeededRandom, seed: u32) -> Option<Value> {
    let log = world.temp.path().join("log");
    put(&log, "");
    let mut writer = start(&ProcessRole::Doomed { seed }, world.temp.path());
    let wanted = 200 + random.below(20_000) as u64;
    while fs::metadata(&log).unwrap().len() < wanted && writer.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    let log = fs::read_to_string(log).unwrap();
    log.lines().last().and_then(|last| serde_json::from_str(last).ok())
}

#[test]
#[cfg_attr(any(not(target_os = "linux"), tollgate_portable), ignore = "POSIX has no unnamed files")]
fn a_killed_writer_leaves_whole_notes_and_nothing_hidden_after_the_next_look() {
    let mut random = SeededRandom(0x6b69_6c6c);
    let (kills, mut verdicts) = (scaled(15, 100), std::collections::BTreeMap::<&str, u32>::new());
    let world = HostileVault::new();
    let mut found_hidden = 0;
    for seed in 0..kills {
        let open = killed(&world, &mut random, seed);
        found_hidden += u32::from(!hidden(&world).is_empty());
        // A new process reconciles the recorded call, as a resumed run does.
        let runner = runner(&world);
        let verdict = open.map_or("between two calls", |call| {
            let intent: Vec<VaultChange> = serde_json::from_value(call["intent"].clone()).unwrap();
            runner.reconcile(call["tool"].as_str().unwrap(), &call["args"], &intent)
        });
        *verdicts.entry(verdict).or_default() += 1;
        runner.call("vault.writeFile", &json!({"path": "Notes/next.md", "content": seed.to_string()}));
        assert_eq!(hidden(&world), Vec::<String>::new(), "after {verdict}, kill {seed}");
        for n in 0..NOTES {
            if let Ok(text) = fs::read_to_string(world.inside(&format!("Notes/n{n}.md"))) {
                assert!(is_whole(&text), "n{n}.md is torn after kill {seed}: {text}");
            }
        }
    }
    eprintln!("{kills} kills, {found_hidden} with a hidden name, {verdicts:?}");
    world.assert_outside_untouched();
}
