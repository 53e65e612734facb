//! Another program swaps a part of the path for a link that leads out while each tool is called over and over.
//!
//! Bounded by calls, and nothing is left to luck: of every round of calls some find one side of the swap in its
//! place, some have the sides change exactly once in their middle, and the others race with a thread that swaps
//! as fast as it can. The naive ways at the end show that the same loop catches an escape.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use envelope::Failure;
use rustix::fs::{CWD, RenameFlags};
use serde_json::json;

use crate::calls::{Call, every};
use crate::gate::{Gate, Outcome};
use crate::scaled;
use crate::support::{CANARY, World, put};

const INSIDE: &str = "# H\nharmless\n";

/// How a call and the swap meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meeting {
    /// The real file or folder is there all the time.
    Real,
    /// The link is there all the time.
    Link,
    /// The link takes the place after the call has looked and before it works.
    RealThenLink,
    /// The other way round.
    LinkThenReal,
    /// Swapped all the time, as fast as another thread can.
    Race,
    /// The same, and the call waits in its middle until it was swapped once more, however few cores there are.
    SureRace,
}

/// The meetings, over and over.
const ROUND: [Meeting; 8] = [
    Meeting::Real,
    Meeting::Link,
    Meeting::RealThenLink,
    Meeting::LinkThenReal,
    Meeting::Race,
    Meeting::Race,
    Meeting::Race,
    Meeting::SureRace,
];

/// What may be in the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Real,
    Link,
}

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
    flips: AtomicU64,
    /// Calls during which it was swapped at least once by the other thread.
    raced: AtomicU32,
}

impl Flipping {
    fn new(shape: Shape) -> Flipping {
        let world = World::new();
        match shape {
            Shape::Folder => world.link("../outside", "other"),
            Shape::File => world.link("../outside/secret.md", "other"),
            Shape::Parent => world.link("../outside", "trap"),
        }
        let flipping = Flipping { world, shape, flips: AtomicU64::new(0), raced: AtomicU32::new(0) };
        flipping.mend();
        flipping
    }

    /// Does `work`, which says when it is in its middle; everything must be as [`Flipping::mend`] leaves it.
    fn meet<T>(&self, meeting: Meeting, work: impl FnOnce(&dyn Fn()) -> T) -> T {
        let (first, second) = match meeting {
            Meeting::Real => (Side::Real, Side::Real),
            Meeting::Link => (Side::Link, Side::Link),
            Meeting::RealThenLink => (Side::Real, Side::Link),
            Meeting::LinkThenReal => (Side::Link, Side::Real),
            Meeting::Race => return self.during(|| work(&|| {})),
            Meeting::SureRace => return self.during(|| work(&|| self.wait_for_flip())),
        };
        self.place(first);
        work(&|| self.place(second))
    }

    /// Puts one side in the place, while nobody else swaps.
    fn place(&self, side: Side) {
        let at = |name: &str| self.world.inside(name);
        let place = if self.shape == Shape::Parent { at("up") } else { at("flip") };
        if place.is_symlink() == (side == Side::Link) {
            return;
        }
        let renames = match (self.shape, side) {
            (Shape::Folder | Shape::File, Side::Real | Side::Link) => {
                return rustix::fs::renameat_with(CWD, place, CWD, at("other"), RenameFlags::EXCHANGE)
                    .unwrap();
            }
            (Shape::Parent, Side::Link) => [("up", "gone"), ("trap", "up")],
            (Shape::Parent, Side::Real) => [("up", "trap"), ("gone", "up")],
        };
        renames.into_iter().for_each(|(from, to)| fs::rename(at(from), at(to)).unwrap());
    }

    /// Swaps without pause while `work` runs.
    fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Release);
            }
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| self.flip_until(&stop));
            // Also when `work` fails: the scope waits for the other thread before it reports anything.
            let _stop = Stop(&stop);
            self.wait_for_flip();
            let before = self.flips.load(Ordering::Acquire);
            let done = work();
            let was_swapped = self.flips.load(Ordering::Acquire) > before;
            self.raced.fetch_add(u32::from(was_swapped), Ordering::Relaxed);
            done
        })
    }

    fn flip_until(&self, stop: &AtomicBool) {
        let at = |name: &str| self.world.inside(name);
        let (flip, other, up, gone, trap) = (at("flip"), at("other"), at("up"), at("gone"), at("trap"));
        // What a tool has just moved away cannot be swapped; the next mending brings it back.
        let rename = |from: &Path, to: &Path, how| rustix::fs::renameat_with(CWD, from, CWD, to, how).is_ok();
        while !stop.load(Ordering::Acquire) {
            let was_swapped = match self.shape {
                Shape::Folder | Shape::File => rename(&flip, &other, RenameFlags::EXCHANGE),
                Shape::Parent => {
                    rename(&up, &gone, RenameFlags::NOREPLACE);
                    let was_swapped = rename(&trap, &up, RenameFlags::NOREPLACE);
                    rename(&up, &trap, RenameFlags::NOREPLACE);
                    rename(&gone, &up, RenameFlags::NOREPLACE);
                    was_swapped
                }
            };
            self.flips.fetch_add(u64::from(was_swapped), Ordering::Release);
        }
    }

    /// Until the other thread has swapped once more: it is given the time it needs.
    fn wait_for_flip(&self) {
        let before = self.flips.load(Ordering::Acquire);
        while self.flips.load(Ordering::Acquire) == before {
            std::thread::yield_now();
        }
    }

    /// Puts everything inside back as it was.
    fn mend(&self) {
        let at = |name: &str| self.world.inside(name);
        for folder in ["Moved", ".trash"] {
            fs::remove_dir_all(at(folder)).ok();
        }
        put(&at("Notes/spare.md"), INSIDE);
        let real = match self.shape {
            Shape::Folder => self.one_of("flip", "other"),
            Shape::Parent => {
                self.place(Side::Real);
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

/// Makes one of the calls so many times; gives how often it got through, and how often it was refused the link.
fn race(flipping: &Flipping, gate: &Gate, which: usize, tries: u32) -> (u32, u32) {
    let (mut through, mut refused) = (0, 0);
    let name = flipping.calls(0)[which].name;
    let tells_sides_apart =
        name != "list after" && (flipping.shape != Shape::File || !MEANS_THE_NAME.contains(&name));
    for (n, meeting) in (0..tries).zip(ROUND.into_iter().cycle()) {
        let call = flipping.calls(n).swap_remove(which);
        let outcome = flipping.meet(meeting, |middle| gate.call_noting(call.tool, &call.args, |_| middle()));
        let (said, failure) = (outcome.said(), outcome.failure());
        let what = format!("{} {} {meeting:?}: {failure:?} {said}", call.name, call.args);
        assert!(!said.contains(CANARY) && !said.contains("deep"), "{what}");
        assert!(failure.is_none_or(is_fair), "{what}");
        let expected = match meeting {
            Meeting::Real => None,
            Meeting::Link => Some(Failure::SandboxViolation),
            Meeting::RealThenLink | Meeting::LinkThenReal | Meeting::Race | Meeting::SureRace => failure,
        };
        assert!(failure == expected || !tells_sides_apart, "{what}");
        through += u32::from(failure.is_none());
        refused += u32::from(met_link(flipping.shape, &outcome));
        flipping.mend();
    }
    (through, refused)
}

fn race_every_tool(shape: Shape) {
    let (tries, mut total, mut flips) = (scaled(80, 320), 0, 0);
    let count = Flipping::new(shape).calls(0).len();
    for which in 0..count {
        let flipping = Flipping::new(shape);
        let gate = Gate::new(&flipping.world.inside(""), &flipping.world.temp.path().join("store"));
        let name = flipping.calls(0)[which].name;
        let (through, refused) = race(&flipping, &gate, which, tries);
        flipping.world.assert_outside_untouched();
        let (now, raced) = (flipping.flips.into_inner(), flipping.raced.into_inner());
        eprintln!(
            "{shape:?} {name}: {tries} calls, {raced} with flips, {now} flips, {through} through, {refused} refused"
        );
        assert!(raced > 0, "{name} never raced");
        total += tries;
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

/// Fills the folder with as many subfolders as a round has meetings, and these with files.
fn fill(folder: &Path, files: u32, text: &str) {
    for n in 0..files {
        let sub = folder.join(format!("sub {}", n as usize % ROUND.len()));
        fs::create_dir_all(&sub).unwrap();
        put(&sub.join(format!("{n}.md")), text);
    }
}

fn files_outside(world: &World) -> usize {
    let folders = fs::read_dir(world.temp.path().join("outside")).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|path| path.is_dir()).map(|path| fs::read_dir(path).unwrap().count()).sum()
}

#[test]
fn a_big_folder_that_is_swapped_while_it_is_deleted_takes_nothing_outside_with_it() {
    let files = scaled(240, 1_600);
    for trash in [true, false] {
        let flipping = Flipping::new(Shape::Folder);
        fill(&flipping.world.temp.path().join("outside"), files, CANARY);
        let before = files_outside(&flipping.world);
        let gate = Gate::new(&flipping.world.inside(""), &flipping.world.temp.path().join("store"));
        let (mut through, mut refused) = (0, 0);
        for _ in 0..6 {
            flipping.mend();
            fill(&flipping.one_of("flip", "other"), files, INSIDE);
            for (n, meeting) in ROUND.into_iter().enumerate() {
                // `sub` is real as long as it is deleted as a whole; what is above it is swapped.
                let args = json!({"path": format!("flip/sub {n}"), "trash": trash});
                let outcome =
                    flipping.meet(meeting, |middle| gate.call_noting("vault.delete", &args, |_| middle()));
                let (failure, has_deleted) = (outcome.failure(), !outcome.changes.is_empty());
                let what = format!("{meeting:?}: {failure:?} {}", outcome.said());
                assert!(failure.is_none_or(is_fair), "{what}");
                match meeting {
                    Meeting::Real => assert!(failure.is_none() && has_deleted, "{what}"),
                    Meeting::Link => {
                        assert!(failure == Some(Failure::SandboxViolation) && !has_deleted, "{what}");
                    }
                    Meeting::RealThenLink | Meeting::LinkThenReal | Meeting::Race | Meeting::SureRace => {}
                }
                // Half a deletion has met the real folder as well.
                through += u32::from(has_deleted);
                refused += u32::from(failure.is_some());
            }
        }
        assert_eq!(files_outside(&flipping.world), before, "trash: {trash}");
        let raced = flipping.raced.into_inner();
        eprintln!("trash {trash}: {through} through, {refused} refused, {raced} with flips");
        assert!(raced > 0, "no deletion raced");
    }
}

#[test]
fn the_naive_ways_are_caught_by_the_same_loop() {
    let flipping = Flipping::new(Shape::Folder);
    let base = fs::canonicalize(flipping.world.inside("")).unwrap();
    let path = flipping.world.inside("flip/secret.md");
    let outside = flipping.world.temp.path().join("outside/secret.md");
    let is_inside = || fs::canonicalize(&path).is_ok_and(|real| real.starts_with(&base));
    let reads = || fs::read(&path).is_ok_and(|bytes| bytes == CANARY.as_bytes());
    let writes = || fs::write(&path, "stolen").is_ok() && fs::read(&outside).unwrap() == b"stolen";
    let deletes = || fs::remove_file(&path).is_ok() && !outside.exists();
    let ways: [(&str, &dyn Fn() -> bool); 3] = [("read", &reads), ("write", &writes), ("delete", &deletes)];
    for (name, gets_out) in ways {
        let mut escapes = Vec::new();
        for meeting in ROUND {
            let escaped = flipping.meet(meeting, |middle| {
                is_inside() && {
                    middle();
                    gets_out()
                }
            });
            escapes.extend(escaped.then_some(meeting));
            put(&outside, CANARY);
            flipping.mend();
        }
        eprintln!("{name}: got out in {escapes:?}");
        assert!(escapes.contains(&Meeting::RealThenLink), "a check by name should have been tricked: {name}");
    }
}
