//! A folder and a link to the outside change places while the vault is used.
//!
//! Bounded by tries, not by time. Whoever must meet a swap waits for one, so that it does not matter how many
//! cores there are. The same loop with a naive check shows that the harness can catch an escape: what is checked
//! by name and opened by name gets out.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod overwriting;
mod support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use envelope::Failure;
use overwriting::overwrite;
use rustix::fs::{CWD, RenameFlags};
use support::{Listener, World, at, create_unique, put};
use vault::{ListQuery, ListStart, Needle, Reading, SearchQuery, Vault};

const TRIES: u32 = 4_000;

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How often the other thread has swapped.
#[derive(Default)]
struct Flips(AtomicU64);

impl Flips {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Until it was swapped once more.
    fn wait_for_next(&self) {
        let before = self.count();
        while self.count() == before {
            std::thread::yield_now();
        }
    }
}

/// Swaps `flip` and `other` while `work` runs.
fn flipping<T>(world: &World, flip: &str, other: &str, work: impl FnOnce(&Flips) -> T) -> T {
    let (stop, flips) = (AtomicBool::new(false), Flips::default());
    let (flip, other) = (world.inside(flip), world.inside(other));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &flip, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                flips.0.fetch_add(1, Ordering::Release);
            }
        });
        // Also when `work` fails: the scope waits for the flipper before it reports anything.
        let _stop = StopOnDrop(&stop);
        work(&flips)
    })
}

/// Makes every try while another thread swaps, and sees to it that it does; gives the sum of what the tries give.
fn race(world: &World, flip: &str, other: &str, mut one_try: impl FnMut(u32) -> u32) -> u32 {
    flipping(world, flip, other, |flips| {
        let tries = (0..TRIES).map(|n| {
            if n % 40 == 0 {
                flips.wait_for_next();
            }
            one_try(n)
        });
        tries.sum()
    })
}

fn world_with_flip() -> World {
    let world = World::new();
    std::fs::create_dir(world.inside("flip")).unwrap();
    put(&world.inside("flip/secret.md"), "harmless");
    world.link("../outside", "other");
    world
}

/// Uses every way in once; gives how many got somewhere.
fn use_once(vault: &Vault, n: u32) -> u32 {
    let listener = Listener::default();
    let mut reached = 0;
    match vault.read(&at("flip/secret.md"), 0..100, &listener) {
        Ok(content) => {
            assert_eq!(content.bytes, b"harmless");
            reached += 1;
        }
        Err(fault) => assert!(is_fair(fault.failure), "{fault}"),
    }
    let query = ListQuery {
        folder: Some(at("flip")),
        recursive: true,
        extensions: Vec::new(),
        start: ListStart::Offset(0),
        limit: 5,
    };
    if let Ok(page) = vault.list(&query, &listener) {
        assert!(page.entries.iter().all(|entry| !entry.path.as_str().contains("deep")));
    }
    if n.is_multiple_of(4) {
        reached += search_once(vault, Some("flip"));
    }
    let written = match n % 4 {
        0 => vault.create(&at(&format!("flip/new {n}.md")), b"x", &listener).map(drop),
        1 => overwrite(vault, &at("flip/secret.md"), b"harmless", &listener).map(drop),
        2 => create_unique(vault, &at("flip/unique.md"), b"x", &listener).map(drop),
        _ => vault.ensure_folder(&at(&format!("flip/folder {n}")), &listener).map(drop),
    };
    match written {
        Ok(()) => reached += 1,
        Err(fault) => assert!(is_fair(fault.failure), "{fault}"),
    }
    reached
}

/// Searches for what stands in every file outside, and for what stands in the one that may be read.
fn search_once(vault: &Vault, scope: Option<&str>) -> u32 {
    let query = SearchQuery {
        needle: Needle::compile("canary|harmless", Reading::Regex, true).unwrap(),
        scopes: vec![scope.map(at)],
        extensions: Vec::new(),
        limit: 10,
        snippet_length: 60,
    };
    match vault.search(&query, &mut |_| {}, &Listener::default()) {
        Ok(finds) => {
            assert!(finds.matches.iter().all(|found| found.snippet == "harmless"), "{finds:?}");
            u32::from(!finds.matches.is_empty())
        }
        Err(fault) => {
            assert!(is_fair(fault.failure), "{fault}");
            0
        }
    }
}

/// What a call may end with while its path changes under it.
fn is_fair(failure: Failure) -> bool {
    matches!(
        failure,
        Failure::SandboxViolation | Failure::Conflict | Failure::NotFound | Failure::PreconditionFailed
    )
}

#[test]
fn nothing_is_read_or_written_outside_while_a_folder_flips() {
    let world = world_with_flip();
    assert!(use_once(&world.vault, TRIES) > 0, "the folder can be used as long as it is there");
    race(&world, "flip", "other", |n| use_once(&world.vault, n));
    world.assert_outside_untouched();
}

#[test]
fn nothing_is_read_or_written_outside_while_a_file_flips() {
    let world = World::new();
    put(&world.inside("note.md"), "harmless");
    world.link("../outside/secret.md", "other.md");
    let listener = Listener::default();
    let use_once = |n: u32| {
        let mut read = 0;
        match world.vault.read(&at("note.md"), 0..100, &listener) {
            Ok(content) => {
                assert_eq!(content.bytes, b"harmless");
                read += 1;
            }
            Err(fault) => assert!(is_fair(fault.failure), "{fault}"),
        }
        if n % 8 == 1 {
            read += search_once(&world.vault, Some("note.md")) + search_once(&world.vault, None);
        }
        if n.is_multiple_of(8)
            && let Err(fault) = overwrite(&world.vault, &at("note.md"), b"harmless", &listener)
        {
            assert!(is_fair(fault.failure), "{fault}");
        }
        read
    };
    assert_eq!(use_once(1), 3, "the note can be read as long as it is there");
    race(&world, "note.md", "other.md", use_once);
    world.assert_outside_untouched();
}

#[test]
fn the_naive_way_is_caught_by_the_same_loop() {
    let world = world_with_flip();
    let base = std::fs::canonicalize(world.inside("")).unwrap();
    let naive = |path: &Path, flips: &Flips| {
        let real = std::fs::canonicalize(path).ok()?;
        if !real.starts_with(&base) {
            return None;
        }
        // Either side may be there after that, whatever was there before.
        flips.wait_for_next();
        std::fs::read(path).ok()
    };
    let escaped = flipping(&world, "flip", "other", |flips| {
        let path = world.inside("flip/secret.md");
        (0..2_000_000).any(|_| naive(&path, flips).is_some_and(|bytes| bytes.starts_with(b"canary")))
    });
    assert!(escaped, "a check by name should have been tricked");
}
