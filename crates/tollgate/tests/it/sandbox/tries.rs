//! Every probe, behind every sandbox and without one.

use std::sync::atomic::{AtomicUsize, Ordering};

use shell::sandbox::{AvailableSandboxes, SandboxKind, probe_sandboxes};

use crate::sandbox::probes::{ProbeUser, SandboxProbe, all};
use crate::sandbox::world::{ProbeWorld, launcher};

/// How many probes must break something where there is no sandbox, as root.
const WITH_POWER: usize = 75;

/// Most of a probe's time is spent waiting.
const THREADS: usize = 4;

pub(crate) fn sandbox_kinds() -> AvailableSandboxes {
    probe_sandboxes(&launcher())
}

pub(crate) fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

/// What each probe breaks, several at a time, each in a world of its own.
fn tried(
    kind: SandboxKind,
    is_run: impl Fn(&SandboxProbe) -> bool,
) -> Vec<(&'static SandboxProbe, Option<String>)> {
    let run: Vec<&'static SandboxProbe> = all().filter(|probe| is_run(probe)).collect();
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        while let Some(probe) = run.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*probe, ProbeWorld::new().broken_by(kind, probe.script)));
        }
        done
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[track_caller]
fn nothing_gets_through(kind: SandboxKind) {
    let broken: Vec<String> = tried(kind, |_| true)
        .into_iter()
        .filter_map(|(probe, broken)| Some(format!("{}: {}", probe.name, broken?)))
        .collect();
    assert!(broken.is_empty(), "{} of {} got through:\n{}", broken.len(), all().count(), broken.join("\n"));
}

// Conformance: result 6.6
//     A command runs in a sandbox or not at all; its environment is built.
//     In: shell/sandbox/mod.rs
#[test]
fn nothing_gets_through_bubblewrap() {
    match sandbox_kinds().bubblewrap {
        Ok(version) => {
            eprintln!("bubblewrap {version}, {} probes", all().count());
            nothing_gets_through(SandboxKind::Bubblewrap);
        }
        Err(why) => eprintln!("skipped, bubblewrap cannot be used here: {why}"),
    }
}

// Conformance: result 6.6
#[test]
fn nothing_gets_through_landlock() {
    match sandbox_kinds().landlock {
        Ok(version) => {
            eprintln!("Landlock {version}, {} probes", all().count());
            nothing_gets_through(SandboxKind::Landlock);
        }
        Err(why) => eprintln!("skipped, Landlock cannot be used here: {why}"),
    }
}

// Conformance: result 6.6
#[test]
fn the_same_probes_break_something_without_a_wall() {
    let mut with_power = 0;
    let mut powerless = Vec::new();
    let is_run = |probe: &SandboxProbe| match probe.power {
        ProbeUser::Nobody(why) => {
            eprintln!("`{}` is not run without a kind: {why}", probe.name);
            false
        }
        ProbeUser::Everyone | ProbeUser::Root | ProbeUser::User | ProbeUser::Somewhere => true,
    };
    for (probe, broken) in tried(SandboxKind::Unsandboxed, is_run) {
        let expected = match probe.power {
            ProbeUser::Everyone => true,
            ProbeUser::Root => is_root(),
            ProbeUser::User => !is_root(),
            ProbeUser::Nobody(_) | ProbeUser::Somewhere => false,
        };
        match broken {
            Some(_) => with_power += 1,
            None if expected => powerless.push(probe.name),
            None => eprintln!("`{}` has no power here: {:?}", probe.name, probe.power),
        }
    }
    eprintln!("{with_power} of {} probes break something without a kind", all().count());
    assert!(powerless.is_empty(), "these prove nothing: {powerless:#?}");
    assert!(all().count() >= 80 && with_power >= WITH_POWER, "{with_power} are too few");
}
