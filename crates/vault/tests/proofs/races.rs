//! Another program swaps a part of the path for a link that leads out, as fast as it can, while each tool is
//! called over and over.
//!
//! Bounded by calls. A call goes on being tried until it has met both sides of the swap, so that a test that
//! never raced cannot pass; the naive ways at the end show that the same loop catches an escape.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use envelope::Failure;
use rustix::fs::{CWD, RenameFlags};
use serde_json::json;

use crate::calls::{Call, every};
use crate::gate::{Gate, Outcome};
use crate::scaled;
use crate::support::{CANARY, World, put};

const INSIDE: &str = "# H\nharmless\n";
/// What a call may be tried at most, times what it must be.
const PATIENCE: u32 = 200;
/// Meetings with each side of the swap that a call must have had.
const MEETINGS: u32 = 5;

/// What is swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// The folder of the file and a link to a folder outside.
    Folder,
    /// The file and a link to a file outside.
    File,
    /// The folder above that: it is renamed away, a link takes its place, and all is undone.
    Parent,
}

/// A vault in which `flip` (a folder, or a file) changes places with a link.
struct Flipping {
    world: World,
    shape: Shape,
    stop: AtomicBool,
    pause: AtomicBool,
    paused: AtomicBool,
    flips: AtomicU64,
}

impl Flipping {
    fn new(shape: Shape) -> Flipping {
        let world = World::new();
        match shape {
            Shape::Folder => world.link("../outside", "other"),
            Shape::File => world.link("../outside/secret.md", "other"),
            Shape::Parent => world.link("../outside", "trap"),
        }
        let flag = || AtomicBool::new(false);
        let flipping =
            Flipping { world, shape, stop: flag(), pause: flag(), paused: flag(), flips: AtomicU64::new(0) };
        flipping.mend();
        flipping
    }

    /// Swaps until told to stop, while `work` runs.
    fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Release);
            }
        }
        self.stop.store(false, Ordering::Release);
        std::thread::scope(|scope| {
            scope.spawn(|| self.flip());
            // Also when `work` fails: the scope waits for the other thread before it reports anything.
            let _stop = Stop(&self.stop);
            work()
        })
    }

    fn flip(&self) {
        let at = |name: &str| self.world.inside(name);
        let (flip, other, up, gone, trap) = (at("flip"), at("other"), at("up"), at("gone"), at("trap"));
        // What a tool has just moved away cannot be swapped; the next mending brings it back.
        let rename = |from: &Path, to: &Path| {
            rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).ok();
        };
        while !self.stop.load(Ordering::Acquire) {
            if self.pause.load(Ordering::Acquire) {
                self.paused.store(true, Ordering::Release);
                while self.pause.load(Ordering::Acquire) && !self.stop.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                self.paused.store(false, Ordering::Release);
            }
            match self.shape {
                Shape::Folder | Shape::File => {
                    rustix::fs::renameat_with(CWD, &flip, CWD, &other, RenameFlags::EXCHANGE).ok();
                }
                Shape::Parent => {
                    rename(&up, &gone);
                    rename(&trap, &up);
                    rename(&up, &trap);
                    rename(&gone, &up);
                }
            }
            self.flips.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Puts everything inside back as it was, while nothing is swapped.
    fn mend_now(&self) {
        self.mend_now_with(|| {});
    }

    /// [`Flipping::mend_now`], with something more to be done meanwhile.
    fn mend_now_with(&self, more: impl FnOnce()) {
        self.pause.store(true, Ordering::Release);
        while !self.paused.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        self.mend();
        more();
        self.pause.store(false, Ordering::Release);
        while self.paused.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    fn mend(&self) {
        let at = |name: &str| self.world.inside(name);
        for folder in ["Moved", ".trash"] {
            fs::remove_dir_all(at(folder)).ok();
        }
        put(&at("Notes/spare.md"), INSIDE);
        let real = match self.shape {
            Shape::Folder => self.one_of("flip", "other"),
            Shape::Parent => {
                // A tool made the folder anew while it was away.
                if at("up").is_dir() {
                    fs::remove_dir_all(at("gone")).ok();
                }
                at("up/flip")
            }
            Shape::File => {
                let real = self.one_of("flip", "other");
                let link = if real == at("flip") { at("other") } else { at("flip") };
                if !link.is_symlink() {
                    fs::remove_file(&link).ok();
                    std::os::unix::fs::symlink("../outside/secret.md", link).unwrap();
                }
                return put(&real, INSIDE);
            }
        };
        fs::remove_dir_all(&real).ok();
        fs::create_dir_all(&real).unwrap();
        put(&real.join("secret.md"), INSIDE);
    }

    /// That of the two names which is not the link.
    fn one_of(&self, one: &str, other: &str) -> PathBuf {
        let (one, other) = (self.world.inside(one), self.world.inside(other));
        if one.is_symlink() { other } else { one }
    }

    /// Every call on what is swapped.
    fn calls(&self, n: u32) -> Vec<Call> {
        let (folder, file) = match self.shape {
            Shape::Folder => ("flip".to_owned(), "flip/secret.md".to_owned()),
            Shape::Parent => ("up/flip".to_owned(), "up/flip/secret.md".to_owned()),
            Shape::File => (String::new(), "flip".to_owned()),
        };
        let free = format!("Moved/{n}.md");
        let on_folder = every(&folder, "Notes/spare.md", &free);
        let on_new = every(&format!("{folder}/new {n}.md"), "Notes/spare.md", &free);
        let on_file = every(&file, "Notes/spare.md", &free);
        let is_file = self.shape == Shape::File;
        let chosen = on_file.into_iter().zip(on_folder).zip(on_new).filter_map(|((file, folder), new)| {
            match file.name {
                "list" | "folder" if is_file => None,
                // Only in notes.
                "frontmatter" | "section" if is_file => None,
                "list" | "search" | "search regex" if !is_file => Some(folder),
                "folder" | "create" | "move to" if !is_file => Some(new),
                _ => Some(file),
            }
        });
        chosen.collect()
    }
}

/// What a call may end with while its path changes under it.
fn is_fair(failure: Failure) -> bool {
    matches!(
        failure,
        Failure::SandboxViolation | Failure::Conflict | Failure::NotFound | Failure::PreconditionFailed
    )
}

/// Whether a call shows that it met the link.
fn met_link(shape: Shape, outcome: &Outcome) -> bool {
    match outcome.failure() {
        Some(Failure::SandboxViolation) => true,
        Some(Failure::NotFound | Failure::Conflict) => shape == Shape::Parent,
        Some(_) | None => false,
    }
}

/// Calls to which the file and the link are alike: both are a name that is taken, or are moved as they are.
const MEANS_THE_NAME: [&str; 8] =
    ["links", "create", "create unique", "move to", "move over", "move from", "trash", "delete"];

/// Makes one of the calls until it has met both sides; gives how often, and how often it met which.
fn race(flipping: &Flipping, gate: &Gate, which: usize, tries: u32) -> (u32, u32, u32) {
    let (mut calls, mut through, mut refused) = (0, 0, 0);
    let must_meet = {
        let name = flipping.calls(0)[which].name;
        name != "list after" && (flipping.shape != Shape::File || !MEANS_THE_NAME.contains(&name))
    };
    flipping.during(|| {
        while calls < tries || (must_meet && through.min(refused) < MEETINGS) {
            assert!(calls < tries * PATIENCE, "{through} through, {refused} refused");
            let call = flipping.calls(calls).swap_remove(which);
            let outcome = gate.call(call.tool, &call.args);
            let said = outcome.said();
            assert!(!said.contains(CANARY) && !said.contains("deep"), "{} {}: {said}", call.name, call.args);
            match outcome.failure() {
                None => through += 1,
                Some(failure) => {
                    assert!(is_fair(failure), "{} {}: {failure} {said}", call.name, call.args);
                    refused += u32::from(met_link(flipping.shape, &outcome));
                }
            }
            if !outcome.changes.is_empty() {
                flipping.mend_now();
            }
            calls += 1;
        }
    });
    (calls, through, refused)
}

fn race_every_tool(shape: Shape) {
    let (tries, mut total, mut flips) = (scaled(60, 200), 0, 0);
    let count = Flipping::new(shape).calls(0).len();
    for which in 0..count {
        let flipping = Flipping::new(shape);
        let gate = Gate::new(&flipping.world.inside(""), &flipping.world.temp.path().join("store"));
        let name = flipping.calls(0)[which].name;
        let (calls, through, refused) = race(&flipping, &gate, which, tries);
        flipping.world.assert_outside_untouched();
        let now = flipping.flips.load(Ordering::Relaxed);
        eprintln!("{shape:?} {name}: {calls} calls during {now} flips, {through} through, {refused} refused");
        total += calls;
        flips += now;
    }
    eprintln!("{shape:?}: {total} calls, {flips} flips, nothing outside read or changed");
}

#[test]
fn no_tool_leaves_the_vault_while_a_folder_is_swapped_for_a_link() {
    race_every_tool(Shape::Folder);
}

#[test]
fn no_tool_leaves_the_vault_while_a_file_is_swapped_for_a_link() {
    race_every_tool(Shape::File);
}

#[test]
fn no_tool_leaves_the_vault_while_a_folder_above_is_renamed_away_and_replaced_by_a_link() {
    race_every_tool(Shape::Parent);
}

/// Fills `flip` and what the link leads to with files of the same names.
fn big_tree(flipping: &Flipping, files: u32) {
    let real = flipping.one_of("flip", "other");
    for n in 0..files {
        let sub = real.join(format!("sub {}", n % 10));
        fs::create_dir_all(&sub).unwrap();
        put(&sub.join(format!("{n}.md")), INSIDE);
    }
}

fn fill_outside(world: &World, files: u32) {
    for n in 0..files {
        let sub = world.temp.path().join(format!("outside/sub {}", n % 10));
        fs::create_dir_all(&sub).unwrap();
        put(&sub.join(format!("{n}.md")), CANARY);
    }
}

fn files_outside(world: &World) -> usize {
    let folders = fs::read_dir(world.temp.path().join("outside")).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|path| path.is_dir()).map(|path| fs::read_dir(path).unwrap().count()).sum()
}

#[test]
fn a_big_folder_that_is_swapped_while_it_is_deleted_takes_nothing_outside_with_it() {
    let files = scaled(300, 2_000);
    for trash in [true, false] {
        let flipping = Flipping::new(Shape::Folder);
        fill_outside(&flipping.world, files);
        let before = files_outside(&flipping.world);
        let gate = Gate::new(&flipping.world.inside(""), &flipping.world.temp.path().join("store"));
        let (mut through, mut refused, mut rounds) = (0, 0, 0);
        flipping.during(|| {
            while rounds < 20 || through.min(refused) == 0 {
                assert!(rounds < 2_000, "{through} through, {refused} refused");
                // `sub` is real as long as it is deleted as a whole; what is above it is swapped.
                let path = format!("flip/sub {}", rounds % 10);
                let outcome = gate.call("vault.delete", &json!({"path": path, "trash": trash}));
                // Half a deletion has met the real folder as well.
                through += u32::from(!outcome.changes.is_empty());
                if let Some(failure) = outcome.failure() {
                    assert!(is_fair(failure), "{}", outcome.said());
                    refused += 1;
                }
                if rounds % 10 == 9 {
                    flipping.mend_now_with(|| big_tree(&flipping, files));
                }
                rounds += 1;
            }
        });
        assert_eq!(files_outside(&flipping.world), before, "trash: {trash}");
        eprintln!("trash {trash}: {rounds} deletions, {through} through, {refused} refused");
    }
}

#[test]
fn the_naive_ways_are_caught_by_the_same_loop() {
    let flipping = Flipping::new(Shape::Folder);
    let base = fs::canonicalize(flipping.world.inside("")).unwrap();
    let path = flipping.world.inside("flip/secret.md");
    let is_inside = || fs::canonicalize(&path).is_ok_and(|real| real.starts_with(&base));
    let (read, written) = flipping.during(|| {
        let read = (0..2_000_000)
            .any(|_| is_inside() && fs::read(&path).is_ok_and(|bytes| bytes == CANARY.as_bytes()));
        let outside = flipping.world.temp.path().join("outside/secret.md");
        let written = (0..2_000_000).any(|_| {
            is_inside() && fs::write(&path, "stolen").is_ok() && fs::read(&outside).unwrap() == b"stolen"
        });
        (read, written)
    });
    assert!(read && written, "a check by name should have been tricked: read {read}, written {written}");
    let flipping = Flipping::new(Shape::Folder);
    fill_outside(&flipping.world, 300);
    let before = files_outside(&flipping.world);
    flipping.during(|| {
        for n in (0..300).cycle().take(300_000) {
            fs::remove_file(flipping.world.inside(&format!("flip/sub {}/{n}.md", n % 10))).ok();
            if files_outside(&flipping.world) < before {
                break;
            }
        }
    });
    assert!(files_outside(&flipping.world) < before, "a deletion by name should have been tricked");
}
