//! Measures the cost of the gateway: the same requests directly to a model's server, through a relay that only copies
//! bytes, through `tollgate serve`, and through smg, in turn and in the same run; then `tollgate serve` and LiteLLM on
//! a server that has only `/chat/completions`.
//!
//! The model's server and the clients are threads of this process, the gateways are processes of their own. The
//! server answers with 100 deltas of text, the last of which make a tool call, in 109 events, each sent on its own as
//! a model makes them; all in one piece where the load is named so, and for answers that are one object. A short answer
//! has the last 12 deltas. Tollgate reads the text, finds the call and writes every event anew, and reads a model's stream
//! for an answer that is one object too; words that came together it tells in one event. The relay and smg pass the
//! bytes on.
//!
//! On one connection every process waits for another. A core that waits a little longer falls asleep, and waking it
//! takes as long as an answer does, above all on a virtual machine: a step that the shorter way does not take. So one
//! connection is measured twice, on cores as they are and on cores that a loop of idle priority keeps awake. The aim
//! holds for both.
//!
//! CPU is what the gateway's processes used, user and system; memory is their proportional share (PSS).
//! `-- --quick` makes it short, `-- --no-peer` leaves smg and LiteLLM out, `-- "--only=paced streams"` measures just the
//! loads that are named so. The peers are installed from PyPI the first time; one that cannot be had is named and left
//! out.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first surprise"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, writes files and starts its peers"
)]

mod aim;
#[path = "../../../mcp-server/benches/mcp/awake.rs"]
mod awake;
mod bridge;
mod chat;
#[path = "../../../mcp-server/benches/mcp/cores.rs"]
mod cores;
mod gauge;
mod held;
mod litellm;
mod load;
mod pypi;
mod relay;
mod smg;
mod target;
mod upstream;

use std::net::SocketAddr;
use std::time::Duration;

use aim::{AtLeast, AtMost, BenchAim};
use load::{ClientLoad, LoadFigures, RequestKind};
use target::BenchServer;

/// Rounds in turn; the best of each is shown.
const ROUNDS: usize = 3;
const CONNECTIONS: [usize; 3] = [1, 32, 256];
/// As many as the published figures have.
const PACED: usize = 512;
const HELD: usize = 2_000;

/// CPU of a stream on this many connections, as a share of what smg and the relay take.
const BUSY: usize = 32;
const OF_SMG: BenchAim = AtMost(0.5);
const OF_RELAY: BenchAim = AtMost(2.5);
/// Milliseconds that the first byte comes later than directly, on one connection.
const LATER_P50: BenchAim = AtMost(0.10);
const LATER_P99: BenchAim = AtMost(0.20);
/// The same as a share of what smg takes, in the same run.
const LATER_OF_SMG: BenchAim = AtMost(0.5);
/// Paced streams a second, as a share of those that come directly.
const OF_DIRECT: BenchAim = AtLeast(0.9);

fn main() {
    if let Ok(to) = std::env::var(relay::WORD) {
        relay::run(to.parse().unwrap());
    }
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench").peekable();
    if args.next_if(|first| first == awake::WORD).is_some() {
        cores::stay_on(&cores::parse(&args.next().unwrap()));
        awake::spin();
    }
    let mut quick = false;
    let mut with_peer = true;
    let mut only = String::new();
    for arg in args {
        match arg.as_str() {
            "--quick" => quick = true,
            "--no-peer" => with_peer = false,
            other => match other.strip_prefix("--only=") {
                Some(named) => named.clone_into(&mut only),
                None => panic!("`{other}` is not an option; there are --quick, --no-peer and --only=LOAD"),
            },
        }
    }
    let (span, rounds) = if quick { (1, 1) } else { (4, ROUNDS) };
    let span = Duration::from_secs(span);
    let upstream = upstream::start();
    let targets = targets(upstream, with_peer);
    let quick_ones =
        [RequestKind::Short, RequestKind::Whole, RequestKind::Stream, RequestKind::Burst].into_iter();
    let loads = quick_ones
        .flat_map(|kind| CONNECTIONS.map(|connections| ClientLoad { kind, connections, span }))
        .chain([ClientLoad { kind: RequestKind::Paced, connections: PACED, span: span * 2 }]);
    let loads: Vec<ClientLoad> = loads.filter(|load| load.name().starts_with(&only)).collect();
    assert!(!loads.is_empty(), "no load is named `{only}`");
    for load in &loads {
        compare(&targets, load, rounds, CoreSet::AsTheyAre);
        if load.connections == 1 {
            match awake::keep(&cores::mine()) {
                Ok(_kept) => compare(&targets, load, rounds, CoreSet::Awake),
                Err(why) => println!("  cores cannot be kept awake: {why}"),
            }
        }
    }
    drop(targets);
    if !only.is_empty() {
        return;
    }
    held::hold(&self::targets(upstream, with_peer), if quick { 200 } else { HELD });
    if with_peer {
        bridge::compare(upstream, span, rounds);
    }
}

/// Each just started.
fn targets(upstream: SocketAddr, with_peer: bool) -> Vec<BenchServer> {
    let mut targets = vec![
        BenchServer::direct(upstream),
        BenchServer::relay(upstream),
        BenchServer::tollgate(upstream, &[]),
    ];
    if with_peer {
        match BenchServer::smg(upstream) {
            Ok(target) => targets.push(target),
            Err(why) => println!("{} is left out: {why}", smg::NAME),
        }
    }
    targets
}

#[derive(Clone, Copy, PartialEq)]
enum CoreSet {
    AsTheyAre,
    Awake,
}

/// One kind of load on every target, round by round.
fn compare(targets: &[BenchServer], load: &ClientLoad, rounds: usize, cores: CoreSet) {
    let kept = if cores == CoreSet::Awake { ", cores kept awake" } else { "" };
    println!("\n{}{kept}", load.name());
    println!(
        "  {:<10} {:>9} {:>10} {:>10} {:>14} {:>9}",
        "", "a second", "first p50", "first p99", "CPU s a 1000", "PSS MiB"
    );
    let mut best: Vec<Option<LoadFigures>> = vec![None; targets.len()];
    for _ in 0..rounds {
        for (target, best) in targets.iter().zip(&mut best) {
            let mut figures = load.on(target);
            if cores == CoreSet::Awake {
                // What keeps them awake shares the relay's pages, and counts for a part of them.
                figures.pss = None;
            }
            if best.as_ref().is_none_or(|best| figures.rate > best.rate) {
                *best = Some(figures);
            }
        }
    }
    let first = best[0].clone().unwrap();
    for (target, figures) in targets.iter().zip(&best) {
        figures.as_ref().unwrap().print(target.name(), &first);
    }
    let of = |name: &str| {
        let found = targets.iter().zip(&best).find(|(target, _)| target.name() == name);
        found.and_then(|(_, figures)| figures.as_ref())
    };
    judge(load, &first, of);
}

/// Compares the figures of Tollgate with the aim for this load.
fn judge<'run>(load: &ClientLoad, direct: &LoadFigures, of: impl Fn(&str) -> Option<&'run LoadFigures>) {
    let Some(ours) = of("tollgate") else { return };
    let cpu = |name: &str| of(name).and_then(|figures| figures.cpu);
    let later = |ours: Duration, direct: Duration| (ours.as_secs_f64() - direct.as_secs_f64()) * 1_000.0;
    match (load.kind, load.connections) {
        (RequestKind::Short | RequestKind::Whole, 1) => {
            LATER_P50.judge("ms later than directly, p50", later(ours.first_p50, direct.first_p50));
            LATER_P99.judge("ms later than directly, p99", later(ours.first_p99, direct.first_p99));
            if let Some(smg) = of(smg::NAME) {
                let ours = later(ours.first_p50, direct.first_p50);
                LATER_OF_SMG.judge(
                    "later than directly, ours / smg's, p50",
                    ours / later(smg.first_p50, direct.first_p50),
                );
            }
        }
        (RequestKind::Stream, BUSY) => {
            if let Some((ours, relay)) = ours.cpu.zip(cpu("relay")) {
                OF_RELAY.judge("CPU for a stream, ours / the relay's", ours / relay);
            }
            if let Some((ours, smg)) = ours.cpu.zip(cpu(smg::NAME)) {
                OF_SMG.judge("CPU for a stream, ours / smg's", ours / smg);
            }
        }
        (RequestKind::Paced, _) => {
            OF_DIRECT.judge("paced streams a second, ours / directly", ours.rate / direct.rate);
        }
        (RequestKind::Short | RequestKind::Whole | RequestKind::Stream | RequestKind::Burst, _) => {}
    }
}
