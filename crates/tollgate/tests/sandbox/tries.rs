//! Every probe, behind every wall and without one.

use std::sync::atomic::{AtomicUsize, Ordering};

use shell::sandbox::{Wall, Walls, probe};

use crate::probes::{Power, Probe, all};
use crate::world::{World, launcher};

/// How many probes must break something where there is no wall, as root.
const WITH_POWER: usize = 75;

/// Most of a probe's time is spent waiting.
const THREADS: usize = 4;

pub(crate) fn walls() -> Walls {
    probe(&launcher())
}

pub(crate) fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

/// What each probe breaks, several at a time, each in a world of its own.
fn tried(wall: Wall, is_run: impl Fn(&Probe) -> bool) -> Vec<(&'static Probe, Option<String>)> {
    let run: Vec<&'static Probe> = all().filter(|probe| is_run(probe)).collect();
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        while let Some(probe) = run.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*probe, World::new().broken_by(wall, probe.script)));
        }
        done
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[track_caller]
fn nothing_gets_through(wall: Wall) {
    let broken: Vec<String> = tried(wall, |_| true)
        .into_iter()
        .filter_map(|(probe, broken)| Some(format!("{}: {}", probe.name, broken?)))
        .collect();
    assert!(broken.is_empty(), "{} of {} got through:\n{}", broken.len(), all().count(), broken.join("\n"));
}

#[test]
fn nothing_gets_through_bubblewrap() {
    match walls().bubblewrap {
        Ok(version) => {
            eprintln!("bubblewrap {version}, {} probes", all().count());
            nothing_gets_through(Wall::Bubblewrap);
        }
        Err(why) => eprintln!("skipped, bubblewrap cannot be used here: {why}"),
    }
}

#[test]
fn nothing_gets_through_landlock() {
    match walls().landlock {
        Ok(version) => {
            eprintln!("Landlock {version}, {} probes", all().count());
            nothing_gets_through(Wall::Landlock);
        }
        Err(why) => eprintln!("skipped, Landlock cannot be used here: {why}"),
    }
}

#[test]
fn the_same_probes_break_something_without_a_wall() {
    let mut with_power = 0;
    let mut powerless = Vec::new();
    let is_run = |probe: &Probe| match probe.power {
        Power::Nobody(why) => {
            eprintln!("`{}` is not run without a wall: {why}", probe.name);
            false
        }
        Power::Everyone | Power::Root | Power::User | Power::Somewhere => true,
    };
    for (probe, broken) in tried(Wall::Open, is_run) {
        let expected = match probe.power {
            Power::Everyone => true,
            Power::Root => is_root(),
            Power::User => !is_root(),
            Power::Nobody(_) | Power::Somewhere => false,
        };
        match broken {
            Some(_) => with_power += 1,
            None if expected => powerless.push(probe.name),
            None => eprintln!("`{}` has no power here: {:?}", probe.name, probe.power),
        }
    }
    eprintln!("{with_power} of {} probes break something without a wall", all().count());
    assert!(powerless.is_empty(), "these prove nothing: {powerless:#?}");
    assert!(all().count() >= 80 && with_power >= WITH_POWER, "{with_power} are too few");
}
