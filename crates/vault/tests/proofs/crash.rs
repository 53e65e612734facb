//! A writer is killed, and what it left tells what it did.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use envelope::Change;
use rustix::fs::{CWD, RenameFlags};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::gate::Gate;
use crate::other_process::{Role, start};
use crate::scaled;
use crate::support::{World, put};

const NOTES: usize = 6;

fn gate(world: &World) -> Gate {
    Gate::new(&world.inside(""), &world.temp.path().join("store"))
}

/// The hidden names beside a note.
fn hidden(world: &World) -> Vec<String> {
    let names =
        fs::read_dir(world.inside("Notes")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".tollgate-tmp-")).collect()
}

fn write_args(text: &str) -> Value {
    json!({"path": "Notes/real.md", "content": text})
}

/// The moment between the exchange and the end of a write: the new text has the name, the old one a hidden
/// name that carries the inode of the new.
fn exchanged(world: &World, old: &str) -> String {
    let new = fs::metadata(world.inside("Notes/real.md")).unwrap().ino();
    let name = format!(".tollgate-tmp-{new:x}-0");
    put(&world.inside(&format!("Notes/{name}")), old);
    name
}

#[test]
fn old_text_that_a_killed_write_left_is_cleared_away_when_the_store_has_it() {
    let world = World::new();
    let gate = gate(&world);
    let args = write_args("new");
    let intent = gate.call("vault.writeFile", &args).intent;
    let left = exchanged(&world, "real");
    // Names of that kind with another text, and the text under another name, are not what the call left.
    put(&world.inside("Notes/.tollgate-tmp-1-0"), "text that nobody kept");
    put(&world.inside("Notes/.tollgate-tmp-real"), "real");
    assert_eq!(gate.reconcile("vault.writeFile", &args, &intent), "happened");
    let mut names = hidden(&world);
    names.sort();
    assert_eq!(names, [".tollgate-tmp-1-0", ".tollgate-tmp-real"], "{left} is gone and nothing else");
    assert_eq!(fs::read_to_string(world.inside("Notes/real.md")).unwrap(), "new");
}

#[test]
fn old_text_that_a_killed_write_left_stays_when_nobody_has_it() {
    let world = World::new();
    let args = write_args("new");
    let intent = gate(&world).call("vault.writeFile", &args).intent;
    let left = exchanged(&world, "real");
    let elsewhere = Gate::new(&world.inside(""), &world.temp.path().join("another store"));
    assert_eq!(elsewhere.reconcile("vault.writeFile", &args, &intent), "happened");
    assert_eq!(hidden(&world), [left.as_str()]);
    // Nor does a later write take it for a leftover of its own.
    elsewhere.call("vault.writeFile", &write_args("newer"));
    assert_eq!(hidden(&world), [left]);
}

#[test]
fn what_a_killed_delete_took_aside_is_cleared_away_when_the_store_has_it() {
    let world = World::new();
    let gate = gate(&world);
    let args = json!({"path": "Notes/real.md", "trash": false});
    let path = world.inside("Notes/real.md");
    let inode = fs::metadata(&path).unwrap().ino();
    // A second name keeps the file for the moment after the crash.
    fs::hard_link(&path, world.temp.path().join("again")).unwrap();
    let intent = gate.call("vault.delete", &args).intent;
    let aside = world.inside(&format!("Notes/.tollgate-tmp-removed-{inode:x}"));
    fs::rename(world.temp.path().join("again"), &aside).unwrap();
    assert_eq!(hidden(&world).len(), 1);
    assert_eq!(gate.reconcile("vault.delete", &args, &intent), "happened");
    assert_eq!(hidden(&world), Vec::<String>::new());
    assert!(!path.exists());
}

#[test]
fn a_copy_that_a_live_writer_holds_is_not_cleared_away() {
    let world = World::new();
    let gate = gate(&world);
    let args = write_args("new");
    let intent = gate.call("vault.writeFile", &args).intent;
    let left = exchanged(&world, "real");
    let held = fs::File::open(world.inside(&format!("Notes/{left}"))).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert_eq!(gate.reconcile("vault.writeFile", &args, &intent), "happened");
    assert_eq!(hidden(&world), [left]);
}

#[test]
fn the_old_text_is_under_the_hidden_name_of_the_new_file_for_that_moment() {
    // What the tests above build by hand is what an exchange makes.
    let world = World::new();
    let (note, new) = (world.inside("Notes/real.md"), world.inside("Notes/.tollgate-tmp-x"));
    put(&new, "new");
    rustix::fs::renameat_with(CWD, &new, CWD, &note, RenameFlags::EXCHANGE).unwrap();
    let by_hand = exchanged(&world, "real");
    assert_eq!(by_hand, format!(".tollgate-tmp-{:x}-0", fs::metadata(&note).unwrap().ino()));
    assert_eq!(fs::read_to_string(&new).unwrap(), "real");
}

/// A text that shows when a part of it is missing.
fn whole(token: u64) -> String {
    format!("[[n{}]] {token}\n", token % NOTES as u64).repeat(300)
}

fn is_whole(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    text.ends_with('\n') && text.lines().count() == 300 && text.lines().all(|line| line == first)
}

/// The role of the writer that is killed. Before each call it writes down what it is about to do.
pub(crate) fn change_until_killed(base: &Path, seed: u32) {
    let gate = Gate::new(&base.join("vault"), &base.join("store"));
    let mut log = fs::OpenOptions::new().append(true).create(true).open(base.join("log")).unwrap();
    let mut dice = Dice(u64::from(seed));
    loop {
        let note = format!("Notes/n{}.md", dice.below(NOTES));
        let (tool, args) = match dice.below(5) {
            0 => ("vault.delete", json!({"path": note, "trash": dice.chance(2)})),
            1 => (
                "vault.rename",
                json!({"fromPath": note, "toPath": format!("Notes/n{}.md", dice.below(NOTES))}),
            ),
            _ => ("vault.writeFile", json!({"path": note, "content": whole(dice.next() >> 8)})),
        };
        gate.call_noting(tool, &args, |intent| {
            let line = json!({"tool": tool, "args": args, "intent": intent});
            log.write_all(format!("{line}\n").as_bytes()).unwrap();
        });
        log.write_all(b"done\n").unwrap();
    }
}

/// Kills a writer in the middle of its work; gives the call that it was at.
fn killed(world: &World, dice: &mut Dice, seed: u32) -> Option<Value> {
    let log = world.temp.path().join("log");
    put(&log, "");
    let mut writer = start(&Role::Doomed { seed }, world.temp.path());
    let wanted = 200 + dice.below(20_000) as u64;
    while fs::metadata(&log).unwrap().len() < wanted && writer.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    let log = fs::read_to_string(log).unwrap();
    log.lines().last().and_then(|last| serde_json::from_str(last).ok())
}

#[test]
fn a_killed_writer_leaves_whole_notes_and_nothing_hidden_after_the_next_look() {
    let mut dice = Dice(0x6b69_6c6c);
    let (kills, mut verdicts) = (scaled(15, 100), std::collections::BTreeMap::<&str, u32>::new());
    let world = World::new();
    let mut found_hidden = 0;
    for seed in 0..kills {
        let open = killed(&world, &mut dice, seed);
        found_hidden += u32::from(!hidden(&world).is_empty());
        // A new process looks at what the dead one was about to do, as a resumed run does.
        let gate = gate(&world);
        let verdict = open.map_or("between two calls", |call| {
            let intent: Vec<Change> = serde_json::from_value(call["intent"].clone()).unwrap();
            gate.reconcile(call["tool"].as_str().unwrap(), &call["args"], &intent)
        });
        *verdicts.entry(verdict).or_default() += 1;
        gate.call("vault.writeFile", &json!({"path": "Notes/next.md", "content": seed.to_string()}));
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
