//! What the gate adds to a trivial tool call over MCP: rmcp's own server with the same tool, and ours with all twelve
//! phases and a record in memory, each a process of its own, called in turn over pipes and over HTTP.
//!
//! Our server reads its pipes without a thread, which rmcp's does not, and that would hide what the gate costs. So the
//! gate is held to its aim against rmcp on the same pipes and the same threads; rmcp as it comes is shown beside it.
//!
//! `cargo bench -p gateway --bench mcp` prints a line for each way and then the aims. Rounds alternate, and the median
//! round counts, so that what else the machine does falls on both.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark stops at the first surprise")]
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

mod clients;
mod servers;
mod tool;

use clients::{Client, Http, Pipes};

const WARM_UP: u64 = 2_000;
const ROUNDS: u64 = 15;
const CALLS: u64 = 1_000;
/// Microseconds that the gate may add to a call.
const AIM: f64 = 60.0;

struct Figures {
    bare: f64,
    gate: f64,
}

fn compare(bare: &mut dyn Client, gate: &mut dyn Client) -> Figures {
    bare.time(1, WARM_UP);
    gate.time(1, WARM_UP);
    let (mut bares, mut gates) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let first = WARM_UP + 1 + round * CALLS;
        bares.push(bare.time(first, CALLS));
        gates.push(gate.time(first, CALLS));
    }
    Figures { bare: median(bares), gate: median(gates) }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn show(way: &str, figures: &Figures) -> bool {
    let added = figures.gate - figures.bare;
    let met = added <= AIM;
    println!(
        "  {way:<8} bare rmcp {:>7.1} µs   with the gate {:>7.1} µs   {:>5.2}x   +{added:.1} µs (at most {AIM}) {}",
        figures.bare,
        figures.gate,
        figures.gate / figures.bare,
        if met { "met" } else { "MISSED" }
    );
    met
}

fn main() {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("serve") {
        let kind = args.next().unwrap();
        let token = args.next().map(std::path::PathBuf::from);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        if kind == "gate-stdio" || kind == "even-stdio" {
            // As `tollgate mcp` has it.
            runtime.worker_threads(1);
        }
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(servers::serve(&kind, token.as_deref()));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    println!("{ROUNDS} rounds of {CALLS} calls in turn, one at a time; the median round");
    let usual = compare(&mut Pipes::to("bare-stdio"), &mut Pipes::to("gate-stdio"));
    println!(
        "  stdio    rmcp as it comes {:.1} µs, with the gate {:.1} µs, {:.2}x",
        usual.bare,
        usual.gate,
        usual.gate / usual.bare
    );
    let pipes = compare(&mut Pipes::to("even-stdio"), &mut Pipes::to("gate-stdio"));
    let http = compare(&mut Http::to("bare-http", &token), &mut Http::to("gate-http", &token));
    let met = [show("stdio", &pipes), show("HTTP", &http)];
    if !met.iter().all(|met| *met) {
        println!("  an aim was missed");
    }
}
