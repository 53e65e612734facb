//! Another program swaps a component of the path for a link out of the vault, while each tool is called
//! repeatedly.
//!
//! Bounded by calls and deterministic in its coverage: in every round some calls find one side of the swap,
//! some see exactly one swap in their middle, and the others race with a thread that swaps as fast as it can.
//! The naive implementations at the end show that the same loop detects an escape.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use envelope::Failure;
use rustix::fs::{CWD, RenameFlags};
use serde_json::json;

use super::call_runner::{CallRunner, RunnerOutcome};
use super::calls::{PathCall, every};
use super::scaled;
use crate::support::{CANARY, HostileVault, put};

const INSIDE: &str = "# H\nharmless\n";

/// When the swap happens relative to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SwapTiming {
    /// The real entry is there all the time.
    Real,
    /// The link is there all the time.
    Link,
    /// The link is put there after the call's check and before its work.
    RealThenLink,
    /// The real entry is put there in that moment.
    LinkThenReal,
    /// Swapped all the time by another thread.
    Race,
    /// The same, and the call waits in its middle for one more swap, however few cores there are.
    SureRace,
}

/// All kinds, repeatedly.
const ROUND: [SwapTiming; 8] = [
    SwapTiming::Real,
    SwapTiming::Link,
    SwapTiming::RealThenLink,
    SwapTiming::LinkThenReal,
    SwapTiming::Race,
    SwapTiming::Race,
    SwapTiming::Race,
    SwapTiming::SureRace,
];

/// State of the swapped name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SwapSide {
    Real,
    Link,
}

/// Kind of entry that is swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SwapTarget {
    /// The folder of the file and a link to a folder outside.
    Folder,
    /// The file and a link to a file outside.
    File,
    /// The folder above: it is renamed, replaced by a link, and restored.
    Parent,
}

/// A vault in which `flip` (a folder or a file) is swapped with a link.
struct FlippingVault {
    world: HostileVault,
    shape: SwapTarget,
    flips: AtomicU64,
    /// Calls during which the other thread swapped at least once.
    raced: AtomicU32,
}

impl FlippingVault {
    fn new(shape: SwapTarget) -> FlippingVault {
        let world = HostileVault::new();
        match shape {
            SwapTarget::Folder => world.link("../outside", "other"),
            SwapTarget::File => world.link("../outside/secret.md", "other"),
            SwapTarget::Parent => world.link("../outside", "trap"),
        }
        let flipping = FlippingVault { world, shape, flips: AtomicU64::new(0), raced: AtomicU32::new(0) };
        flipping.mend();
        flipping
    }

    /// Runs `work`, which reports its middle; everything must be as [`FlippingVault::mend`] leaves it.
    fn meet<T>(&self, meeting: SwapTiming, work: impl FnOnce(&dyn Fn()) -> T) -> T {
        let (first, second) = match meeting {
            SwapTiming::Real => (SwapSide::Real, SwapSide::Real),
            SwapTiming::Link => (SwapSide::Link, SwapSide::Link),
            SwapTiming::RealThenLink => (SwapSide::Real, SwapSide::Link),
            SwapTiming::LinkThenReal => (SwapSide::Link, SwapSide::Real),
            SwapTiming::Race => return self.during(|| work(&|| {})),
            SwapTiming::SureRace => return self.during(|| work(&|| self.wait_for_flip())),
        };
        self.place(first);
        work(&|| self.place(second))
    }

    /// Puts one side in place while no other thread swaps.
    fn place(&self, side: SwapSide) {
        let at = |name: &str| self.world.inside(name);
        let place = if self.shape == SwapTarget::Parent { at("up") } else { at("flip") };
        if place.is_symlink() == (side == SwapSide::Link) {
            return;
        }
        let renames = match (self.shape, side) {
            (SwapTarget::Folder | SwapTarget::File, SwapSide::Real | SwapSide::Link) => {
                return rustix::fs::renameat_with(CWD, place, CWD, at("other"), RenameFlags::EXCHANGE)
                    .unwrap();
            }
            (SwapTarget::Parent, SwapSide::Link) => [("up", "gone"), ("trap", "up")],
            (SwapTarget::Parent, SwapSide::Real) => [("up", "trap"), ("gone", "up")],
        };
        renames.into_iter().for_each(|(from, to)| fs::rename(at(from), at(to)).unwrap());
    }

    /// Swaps continuously while `work` runs.
    fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        struct CancelAfter<'a>(&'a AtomicBool);
        impl Drop for CancelAfter<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Release);
            }
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| self.flip_until(&stop));
            // Also if `work` fails: the scope waits for the other thread before it reports anything.
            let _stop = CancelAfter(&stop);
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
        // An entry that a tool has just moved away cannot be swapped; the next repair restores it.
        let rename = |from: &Path, to: &Path, how| rustix::fs::renameat_with(CWD, from, CWD, to, how).is_ok();
        while !stop.load(Ordering::Acquire) {
            let was_swapped = match self.shape {
                SwapTarget::Folder | SwapTarget::File => rename(&flip, &other, RenameFlags::EXCHANGE),
                SwapTarget::Parent => {
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

    /// Waits until the other thread has swapped once more.
    fn wait_for_flip(&self) {
        let before = self.flips.load(Ordering::Acquire);
        while self.flips.load(Ordering::Acquire) == before {
            std::thread::yield_now();
        }
    }

    /// Restores everything inside.
    fn mend(&self) {
        let at = |name: &str| self.world.inside(name);
        for folder in ["Moved", ".trash"] {
            fs::remove_dir_all(at(folder)).ok();
        }
        put(&at("Notes/spare.md"), INSIDE);
        let real = match self.shape {
            SwapTarget::Folder => self.one_of("flip", "other"),
            SwapTarget::Parent => {
                self.place(SwapSide::Real);
                // A tool created the folder again while it was away.
                if at("up").is_dir() {
                    fs::remove_dir_all(at("gone")).ok();
                }
                at("up/flip")
            }
            SwapTarget::File => {
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

    /// Returns the one of the two names that is not the link.
    fn one_of(&self, one: &str, other: &str) -> PathBuf {
        let (one, other) = (self.world.inside(one), self.world.inside(other));
        if one.is_symlink() { other } else { one }
    }

    /// Returns every call on the swapped entry.
    fn calls(&self, n: u32) -> Vec<PathCall> {
        let (folder, file) = match self.shape {
            SwapTarget::Folder => ("flip".to_owned(), "flip/secret.md".to_owned()),
            SwapTarget::Parent => ("up/flip".to_owned(), "up/flip/secret.md".to_owned()),
            SwapTarget::File => (String::new(), "flip".to_owned()),
        };
        let free = format!("Moved/{n}.md");
        let on_folder = every(&folder, "Notes/spare.md", &free);
        let on_new = every(&format!("{folder}/new {n}.md"), "Notes/spare.md", &free);
        let on_file = every(&file, "Notes/spare.md", &free);
        let is_file = self.shape == SwapTarget::File;
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

/// Outcomes that are allowed while the path of a call changes.
fn is_fair(failure: Failure) -> bool {
    matches!(
        failure,
        Failure::SandboxViolation | Failure::Conflict | Failure::NotFound | Failure::PreconditionFailed
    )
}

/// Returns true if the outcome shows that the call found the link.
fn met_link(shape: SwapTarget, outcome: &RunnerOutcome) -> bool {
    match outcome.failure() {
        Some(Failure::SandboxViolation) => true,
        Some(Failure::NotFound | Failure::Conflict) => shape == SwapTarget::Parent,
        Some(_) | None => false,
    }
}

/// Calls that treat file and link alike: both are a taken name, or are moved as they are.
const MEANS_THE_NAME: [&str; 8] =
    ["links", "create", "create unique", "move to", "move over", "move from", "trash", "delete"];

/// Makes one call repeatedly. Returns how often it succeeded, and how often it was refused because of the link.
fn race(flipping: &FlippingVault, runner: &CallRunner, which: usize, tries: u32) -> (u32, u32) {
    let (mut through, mut refused) = (0, 0);
    let name = flipping.calls(0)[which].name;
    let tells_sides_apart =
        name != "list after" && (flipping.shape != SwapTarget::File || !MEANS_THE_NAME.contains(&name));
    for (n, meeting) in (0..tries).zip(ROUND.into_iter().cycle()) {
        let call = flipping.calls(n).swap_remove(which);
        let outcome =
            flipping.meet(meeting, |middle| runner.call_noting(call.tool, &call.args, |_| middle()));
        let (said, failure) = (outcome.said(), outcome.failure());
        let what = format!("{} {} {meeting:?}: {failure:?} {said}", call.name, call.args);
        assert!(!said.contains(CANARY) && !said.contains("deep"), "{what}");
        assert!(failure.is_none_or(is_fair), "{what}");
        let expected = match meeting {
            SwapTiming::Real => None,
            SwapTiming::Link => Some(Failure::SandboxViolation),
            SwapTiming::RealThenLink | SwapTiming::LinkThenReal | SwapTiming::Race | SwapTiming::SureRace => {
                failure
            }
        };
        assert!(failure == expected || !tells_sides_apart, "{what}");
        through += u32::from(failure.is_none());
        refused += u32::from(met_link(flipping.shape, &outcome));
        flipping.mend();
    }
    (through, refused)
}

fn race_every_tool(shape: SwapTarget) {
    let (tries, mut total, mut flips) = (scaled(80, 320), 0, 0);
    let count = FlippingVault::new(shape).calls(0).len();
    for which in 0..count {
        let flipping = FlippingVault::new(shape);
        let runner = CallRunner::new(&flipping.world.inside(""), &flipping.world.temp.path().join("store"));
        let name = flipping.calls(0)[which].name;
        let (through, refused) = race(&flipping, &runner, which, tries);
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

// Conformance: tool 2.16
//     No tool leaves the vault, also when a component is swapped for a link while it works.
//     In: vault/file_layer.rs
#[test]
fn no_tool_leaves_the_vault_while_a_folder_is_swapped_for_a_link() {
    race_every_tool(SwapTarget::Folder);
}

// Conformance: tool 2.16
#[test]
fn no_tool_leaves_the_vault_while_a_file_is_swapped_for_a_link() {
    race_every_tool(SwapTarget::File);
}

#[test]
fn no_tool_leaves_the_vault_while_a_folder_above_is_renamed_away_and_replaced_by_a_link() {
    race_every_tool(SwapTarget::Parent);
}

/// Fills the folder with one subfolder with files for each kind of swap in a round.
fn fill(folder: &Path, files: u32, text: &str) {
    for n in 0..files {
        let sub = folder.join(format!("sub {}", n as usize % ROUND.len()));
        fs::create_dir_all(&sub).unwrap();
        put(&sub.join(format!("{n}.md")), text);
    }
}

fn files_outside(world: &HostileVault) -> usize {
    let folders = fs::read_dir(world.temp.path().join("outside")).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|path| path.is_dir()).map(|path| fs::read_dir(path).unwrap().count()).sum()
}

#[test]
fn a_big_folder_that_is_swapped_while_it_is_deleted_takes_nothing_outside_with_it() {
    let files = scaled(240, 1_600);
    for trash in [true, false] {
        let flipping = FlippingVault::new(SwapTarget::Folder);
        fill(&flipping.world.temp.path().join("outside"), files, CANARY);
        let before = files_outside(&flipping.world);
        let runner = CallRunner::new(&flipping.world.inside(""), &flipping.world.temp.path().join("store"));
        let (mut through, mut refused) = (0, 0);
        for _ in 0..6 {
            flipping.mend();
            fill(&flipping.one_of("flip", "other"), files, INSIDE);
            for (n, meeting) in ROUND.into_iter().enumerate() {
                // `sub` is real while it is deleted as a whole; the folder above it is swapped.
                let args = json!({"path": format!("flip/sub {n}"), "trash": trash});
                let outcome =
                    flipping.meet(meeting, |middle| runner.call_noting("vault.delete", &args, |_| middle()));
                let (failure, has_deleted) = (outcome.failure(), !outcome.changes.is_empty());
                let what = format!("{meeting:?}: {failure:?} {}", outcome.said());
                assert!(failure.is_none_or(is_fair), "{what}");
                match meeting {
                    SwapTiming::Real => assert!(failure.is_none() && has_deleted, "{what}"),
                    SwapTiming::Link => {
                        assert!(failure == Some(Failure::SandboxViolation) && !has_deleted, "{what}");
                    }
                    SwapTiming::RealThenLink
                    | SwapTiming::LinkThenReal
                    | SwapTiming::Race
                    | SwapTiming::SureRace => {}
                }
                // Half a deletion has found the real folder as well.
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

// Conformance: tool 2.16
#[test]
fn the_naive_ways_are_caught_by_the_same_loop() {
    let flipping = FlippingVault::new(SwapTarget::Folder);
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
        assert!(
            escapes.contains(&SwapTiming::RealThenLink),
            "a check by name should have been tricked: {name}"
        );
    }
}
