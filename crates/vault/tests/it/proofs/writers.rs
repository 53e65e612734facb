//! Several programs write one note at the same time, and no update is lost.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use envelope::{Failure, Hash};
use serde_json::json;

use super::call_runner::CallRunner;
use super::foreign_writer::{ForeignLog, WriteManner};
use super::other_process::{ProcessRole, start};
use super::scaled;
use crate::support::{HostileVault, put};

/// The other writer.
fn other(name: char) -> char {
    match name {
        'a' => 'b',
        'b' => 'a',
        'o' => 's',
        name => panic!("{name} is no writer"),
    }
}

/// Signals that this writer has reached the point that the other one waits for.
pub(crate) fn arrive(base: &Path, name: char) {
    put(&base.join(format!("arrived-{name}")), "");
}

/// Waits until the other writer has reached that point.
pub(crate) fn wait_for(base: &Path, name: char) {
    while !base.join(format!("arrived-{name}")).exists() {
        std::thread::yield_now();
    }
}

/// ProcessRole of a writer of ours: adds lines through the tools, each on top of exactly the content that it read.
pub(crate) fn add_lines(base: &Path, name: char, lines: u32) {
    let runner = CallRunner::new(&base.join("vault"), &base.join("store"));
    let (mut conflicts, mut has_met) = (0, false);
    for n in 0..lines {
        let line = format!("{name}{n}\n");
        loop {
            let read = runner.call("vault.readFile", &json!({"path": "note.md", "maxBytes": 4_194_304}));
            let Ok(read) = &read.result else {
                assert_eq!(read.failure(), Some(Failure::Conflict), "{}", read.said());
                continue;
            };
            let (text, etag) = (read.data["content"].as_str().unwrap(), read.data["etag"].as_str().unwrap());
            if !has_met {
                // The other writer has read the same by then, or written. So one of the two conflicts at least
                // once, however the system schedules them.
                arrive(base, name);
                wait_for(base, other(name));
                has_met = true;
            }
            let (mode, content) =
                if n % 2 == 0 { ("append", line.clone()) } else { ("overwrite", format!("{text}{line}")) };
            let args = json!({"path": "note.md", "content": content, "mode": mode, "expectedEtag": etag});
            let written = runner.call("vault.writeFile", &args);
            match written.failure() {
                None => break,
                Some(Failure::Conflict) => conflicts += 1,
                Some(_) => panic!("{}", written.said()),
            }
        }
    }
    fs::write(base.join(format!("conflicts-{name}")), conflicts.to_string()).unwrap();
}

fn world_with_note() -> HostileVault {
    let world = HostileVault::new();
    put(&world.inside("note.md"), "");
    world
}

fn conflicts(world: &HostileVault, name: char) -> u32 {
    fs::read_to_string(world.temp.path().join(format!("conflicts-{name}"))).unwrap().parse().unwrap()
}

/// Returns the lines of a writer, in the order of the note.
fn lines_of(note: &str, name: char) -> Vec<&str> {
    note.lines().filter(|line| line.starts_with(name)).collect()
}

fn written_by(name: char, lines: u32) -> Vec<String> {
    (0..lines).map(|n| format!("{name}{n}")).collect()
}

/// Checks that no file of ours is left beside the note.
fn assert_nothing_hidden(world: &HostileVault) {
    let names: Vec<_> = fs::read_dir(world.inside("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    let hidden = names.iter().filter(|name| name.to_str().unwrap().starts_with(".tollgate"));
    assert_eq!(hidden.count(), 0, "{names:?}");
}

// Conformance: tool 2.7
//     `expectedEtag` holds against other programs that write at the same moment.
//     In: vault/file_layer/replace.rs
#[test]
fn two_processes_that_expect_an_etag_lose_no_update() {
    let world = world_with_note();
    let lines = scaled(500, 5_000);
    let started = ['a', 'b'].map(|name| start(&ProcessRole::Writer { name, lines }, world.temp.path()));
    for mut process in started {
        assert!(process.wait().unwrap().success());
    }
    let note = fs::read_to_string(world.inside("note.md")).unwrap();
    for name in ['a', 'b'] {
        assert_eq!(lines_of(&note, name), written_by(name, lines), "every line once and in order");
    }
    let met = conflicts(&world, 'a') + conflicts(&world, 'b');
    eprintln!("{} updates, {met} conflicts", 2 * lines);
    assert!(met > 0, "the two never met");
    assert_nothing_hidden(&world);
}

/// Runs a writer of ours and a foreign program on one note. Returns the note and the log of the foreign program.
fn against_a_stranger(world: &HostileVault, manner: WriteManner, lines: u32) -> (String, ForeignLog) {
    let mut foreign_writer = start(&ProcessRole::ForeignWriter { manner, lines }, world.temp.path());
    let mut ours = start(&ProcessRole::Writer { name: 'o', lines }, world.temp.path());
    let done = ours.wait().unwrap();
    put(&world.temp.path().join("writer-is-done"), "");
    assert!(foreign_writer.wait().unwrap().success() && done.success());
    let note = fs::read_to_string(world.inside("note.md")).unwrap();
    let log = ForeignLog::read(world.temp.path());
    let met = conflicts(world, 'o');
    eprintln!(
        "{manner:?}: {lines} lines of ours, {} of the stranger, {met} conflicts, {} glimpses",
        log.lines, log.glimpses
    );
    assert!(met > 0, "the two never met");
    let strangers: BTreeSet<&str> = lines_of(&note, 's').into_iter().collect();
    assert_eq!(strangers.len(), log.lines as usize, "a line of the stranger is gone");
    assert_nothing_hidden(world);
    (note, log)
}

/// Returns everything that was stored: all content that we replaced, as it is stored before.
fn kept(world: &HostileVault) -> Vec<String> {
    let runner = CallRunner::new(&world.inside(""), &world.temp.path().join("store"));
    runner.store().contents().into_iter().map(|bytes| String::from_utf8(bytes).unwrap()).collect()
}

/// The foreign program knows the content that it has overwritten itself. All other content that it ever wrote
/// must have been read and stored by us before we replaced it.
// Conformance: tool 2.7
#[test]
fn what_a_stranger_wrote_is_never_overwritten_unread() {
    let world = world_with_note();
    let lines = scaled(200, 1_000);
    let (note, log) = against_a_stranger(&world, WriteManner::Exchange, lines);
    assert_eq!(log.vanished, Vec::<String>::new());
    let ours: BTreeSet<String> = lines_of(&note, 'o').into_iter().map(str::to_owned).collect();
    assert_eq!(ours, written_by('o', lines).into_iter().collect(), "the stranger gave back what it took");
    let read: BTreeSet<String> =
        kept(&world).iter().chain([&note]).map(|text| Hash::of(text.as_bytes()).to_string()).collect();
    let lost = log.placed.iter().filter(|placed| !log.took.contains(*placed) && !read.contains(*placed));
    assert_eq!(lost.count(), 0, "of {} versions of the stranger", log.placed.len());
}

#[test]
#[cfg_attr(any(not(target_os = "linux"), tollgate_portable), ignore = "POSIX cannot exchange two names")]
fn a_stranger_who_renames_over_the_note_never_misses_a_line_of_its_own() {
    let world = world_with_note();
    let (_, log) = against_a_stranger(&world, WriteManner::Rename, scaled(200, 1_000));
    assert_eq!(log.vanished, Vec::<String>::new());
}

#[test]
fn a_stranger_who_appends_in_place_loses_no_line_that_it_has_seen() {
    let world = world_with_note();
    let lines = scaled(200, 1_000);
    let (note, log) = against_a_stranger(&world, WriteManner::Append, lines);
    assert_eq!(lines_of(&note, 'o'), written_by('o', lines));
    let kept = kept(&world);
    for line in &log.vanished {
        assert!(kept.iter().any(|text| text.lines().any(|kept| kept == line)), "{line} is nowhere");
    }
}
