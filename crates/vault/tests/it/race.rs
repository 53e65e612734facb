//! A folder and a link to the outside are swapped while the vault is used.
//!
//! Bounded by tries, not by time. A try that must meet a swap waits for one, so the number of cores does not
//! matter. The same loop with a naive check shows that the harness detects an escape: a path that is checked by
//! name and opened by name gets out.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::overwriting::overwrite;
use crate::support::{ChangeRecorder, HostileVault, at, create_unique, put};
use envelope::Failure;
use rustix::fs::{CWD, RenameFlags};
use vault::{ListStart, ListingQuery, QuerySyntax, SearchPattern, SearchQuery, Vault};

const TRIES: u32 = 4_000;

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How often the other thread has swapped.
#[derive(Default)]
struct FlipTries(AtomicU64);

impl FlipTries {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Waits for one more swap.
    fn wait_for_next(&self) {
        let before = self.count();
        while self.count() == before {
            std::thread::yield_now();
        }
    }
}

/// Swaps `flip` and `other` while `work` runs.
fn flipping<T>(world: &HostileVault, flip: &str, other: &str, work: impl FnOnce(&FlipTries) -> T) -> T {
    let (stop, flips) = (AtomicBool::new(false), FlipTries::default());
    let (flip, other) = (world.inside(flip), world.inside(other));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &flip, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                flips.0.fetch_add(1, Ordering::Release);
            }
        });
        // Also if `work` fails: the scope waits for the flipper before it reports anything.
        let _stop = StopOnDrop(&stop);
        work(&flips)
    })
}

/// Makes all tries while another thread swaps, and ensures that it does. Returns the sum of their results.
fn race(world: &HostileVault, flip: &str, other: &str, mut one_try: impl FnMut(u32) -> u32) -> u32 {
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

fn world_with_flip() -> HostileVault {
    let world = HostileVault::new();
    std::fs::create_dir(world.inside("flip")).unwrap();
    put(&world.inside("flip/secret.md"), "harmless");
    world.link("../outside", "other");
    world
}

/// Uses every operation once. Returns how many succeeded.
fn use_once(vault: &Vault, n: u32) -> u32 {
    let recorder = ChangeRecorder::default();
    let mut reached = 0;
    match vault.read(&at("flip/secret.md"), 0..100, &recorder) {
        Ok(content) => {
            assert_eq!(content.bytes, b"harmless");
            reached += 1;
        }
        Err(fault) => assert!(is_fair(fault.failure), "{fault}"),
    }
    let query = ListingQuery {
        folder: Some(at("flip")),
        recursive: true,
        extensions: Vec::new(),
        start: ListStart::Offset(0),
        limit: 5,
    };
    if let Ok(page) = vault.list(&query, &recorder) {
        assert!(page.entries.iter().all(|entry| !entry.path.as_str().contains("deep")));
    }
    if n.is_multiple_of(4) {
        reached += search_once(vault, Some("flip"));
    }
    let written = match n % 4 {
        0 => vault.create(&at(&format!("flip/new {n}.md")), b"x", &recorder).map(drop),
        1 => overwrite(vault, &at("flip/secret.md"), b"harmless", &recorder).map(drop),
        2 => create_unique(vault, &at("flip/unique.md"), b"x", &recorder).map(drop),
        _ => vault.ensure_folder(&at(&format!("flip/folder {n}")), &recorder).map(drop),
    };
    match written {
        Ok(()) => reached += 1,
        Err(fault) => assert!(is_fair(fault.failure), "{fault}"),
    }
    reached
}

/// Searches for text of the files outside, and for text of the file that may be read.
fn search_once(vault: &Vault, scope: Option<&str>) -> u32 {
    let query = SearchQuery {
        pattern: SearchPattern::compile("canary|harmless", QuerySyntax::Regex, true).unwrap(),
        scopes: vec![scope.map(at)],
        extensions: Vec::new(),
        limit: 10,
        snippet_length: 60,
    };
    match vault.search(&query, &mut |_| {}, &ChangeRecorder::default()) {
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

/// Outcomes that are allowed while the path of a call changes.
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
    let world = HostileVault::new();
    put(&world.inside("note.md"), "harmless");
    world.link("../outside/secret.md", "other.md");
    let recorder = ChangeRecorder::default();
    let use_once = |n: u32| {
        let mut read = 0;
        match world.vault.read(&at("note.md"), 0..100, &recorder) {
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
            && let Err(fault) = overwrite(&world.vault, &at("note.md"), b"harmless", &recorder)
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
    let naive = |path: &Path, flips: &FlipTries| {
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
