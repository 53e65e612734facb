//! What the gateway costs: the same requests straight to a model's server, through a relay that only copies bytes,
//! through `tollgate serve`, and through a peer gateway, in turn and in the same run.
//!
//! The model's server and the clients are threads of this process, the gateways are processes of their own. The
//! server answers with 100 deltas of text, the last of which make a tool call, in 109 events. Tollgate reads the
//! text, finds the call and writes every event anew; the relay and the peer pass the bytes on.
//!
//! CPU is what the gateway's processes used, user and system; memory is their proportional share (PSS).
//! `-- --quick` makes it short, `-- --no-peer` leaves the peer out.
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

mod gauge;
mod held;
mod load;
mod peer;
mod relay;
mod target;
mod upstream;

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
    let span = Duration::from_secs(if quick { 1 } else { 4 });
    let upstream = upstream::start();
    let mut targets = vec![Target::direct(upstream), Target::relay(upstream), Target::tollgate(upstream)];
    if with_peer {
        targets.push(Target::peer(upstream));
    }
    for kind in [Kind::Whole, Kind::Stream] {
        for connections in CONNECTIONS {
            compare(&targets, &Load { kind, connections, span }, quick);
        }
    }
    compare(&targets, &Load { kind: Kind::Paced, connections: PACED, span: span * 2 }, quick);
    held::hold(&targets, if quick { 200 } else { HELD });
}

/// One kind of load on every target, round by round.
fn compare(targets: &[Target], load: &Load, quick: bool) {
    println!("\n{} on {} connections", load.kind.name(), load.connections);
    println!(
        "  {:<10} {:>9} {:>10} {:>10} {:>14} {:>9}",
        "", "a second", "first p50", "first p99", "CPU s a 1000", "PSS MiB"
    );
    let mut best: Vec<Option<Figures>> = vec![None; targets.len()];
    for _ in 0..if quick { 1 } else { ROUNDS } {
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
