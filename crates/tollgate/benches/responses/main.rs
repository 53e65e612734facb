//! What the gateway costs: the same requests straight to a model's server, through a relay that only copies bytes,
//! through `tollgate serve`, and through smg, in turn and in the same run; then `tollgate serve` and LiteLLM, which make
//! the same of a server that knows only `/chat/completions`.
//!
//! The model's server and the clients are threads of this process, the gateways are processes of their own. The
//! server answers with 100 deltas of text, the last of which make a tool call, in 109 events. Tollgate reads the
//! text, finds the call and writes every event anew; the relay and smg pass the bytes on.
//!
//! CPU is what the gateway's processes used, user and system; memory is their proportional share (PSS).
//! `-- --quick` makes it short, `-- --no-peer` leaves smg and LiteLLM out. They are
//! installed from PyPI the first time; one that cannot be had is named and left out.
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

mod bridge;
mod chat;
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

use load::{Figures, Kind, Load};
use target::Target;

/// Rounds in turn; the best of each is shown.
const ROUNDS: usize = 3;
const CONNECTIONS: [usize; 3] = [1, 32, 256];
/// As many as the published figures have.
const PACED: usize = 512;
const HELD: usize = 2_000;

fn main() {
    if let Ok(to) = std::env::var(relay::WORD) {
        relay::run(to.parse().unwrap());
    }
    let mut quick = false;
    let mut with_peer = true;
    for arg in std::env::args().skip(1).filter(|arg| arg != "--bench") {
        match arg.as_str() {
            "--quick" => quick = true,
            "--no-peer" => with_peer = false,
            other => panic!("`{other}` is not an option; there are --quick and --no-peer"),
        }
    }
    let (span, rounds) = if quick { (1, 1) } else { (4, ROUNDS) };
    let span = Duration::from_secs(span);
    let upstream = upstream::start();
    let targets = targets(upstream, with_peer);
    for kind in [Kind::Whole, Kind::Stream] {
        for connections in CONNECTIONS {
            compare(&targets, &Load { kind, connections, span }, rounds);
        }
    }
    compare(&targets, &Load { kind: Kind::Paced, connections: PACED, span: span * 2 }, rounds);
    drop(targets);
    held::hold(&self::targets(upstream, with_peer), if quick { 200 } else { HELD });
    if with_peer {
        bridge::compare(upstream, span, rounds);
    }
}

/// Each just started.
fn targets(upstream: SocketAddr, with_peer: bool) -> Vec<Target> {
    let mut targets =
        vec![Target::direct(upstream), Target::relay(upstream), Target::tollgate(upstream, &[])];
    if with_peer {
        match Target::smg(upstream) {
            Ok(target) => targets.push(target),
            Err(why) => println!("{} is left out: {why}", smg::NAME),
        }
    }
    targets
}

/// One kind of load on every target, round by round.
fn compare(targets: &[Target], load: &Load, rounds: usize) {
    println!("\n{} on {} connections", load.kind.name(), load.connections);
    println!(
        "  {:<10} {:>9} {:>10} {:>10} {:>14} {:>9}",
        "", "a second", "first p50", "first p99", "CPU s a 1000", "PSS MiB"
    );
    let mut best: Vec<Option<Figures>> = vec![None; targets.len()];
    for _ in 0..rounds {
        for (target, best) in targets.iter().zip(&mut best) {
            let figures = load.on(target);
            if best.as_ref().is_none_or(|best| figures.rate > best.rate) {
                *best = Some(figures);
            }
        }
    }
    let first = best[0].clone().unwrap();
    for (target, figures) in targets.iter().zip(best) {
        figures.unwrap().print(target.name(), &first);
    }
}
