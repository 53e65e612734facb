//! Overhead of the gate for a trivial tool call over MCP: rmcp's own server with the same tool, and ours with all twelve
//! phases and a record in memory, each in its own process, called alternately over pipes and over HTTP.
//!
//! First the two complete servers are compared, each as one would normally write it, on the machine as it is. Our server
//! reads its pipes without a thread, which rmcp's does not, and that hides the cost of the gate. So the gate is compared
//! once more with rmcp on the same pipes and the same threads.
//!
//! With one call at a time each core waits for the other. A short wait is spent polling; a slightly longer one puts the
//! core to sleep, and waking it takes several times as long as the call, above all on a virtual machine. The shorter of
//! two servers does not reach that point, which is not a cost of the gate. And a server on the same core as the client is
//! not woken through another core, which saves as much as the gate costs. So the benchmark measures first without any
//! preparation, for the record, and then on cores that a loop of idle priority keeps awake, with client and server on
//! one core each and on the same core. The aim for the gate alone applies in both of these.
//!
//! Over HTTP a bare server answers with a stream of one event, and the gate with one object, which is one write and saves
//! the client a wake-up. The protocol allows both. So the gate is compared with a bare server that is configured to send
//! one object; the default one is shown beside it.
//!
//! `cargo bench -p mcp-server --bench mcp` prints a line for each case. Rounds alternate, and the median round counts, so
//! that other load on the machine affects both.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark stops at the first surprise")]
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

mod awake;
mod clients;
mod cores;
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

fn verdict(added: f64, judged: Judged) -> String {
    match judged {
        Judged::No => String::new(),
        Judged::Yes if added <= AIM => format!(" (at most {AIM}) met"),
        Judged::Yes => format!(" (at most {AIM}) MISSED"),
    }
}

fn show(way: &str, figures: &Figures, judged: Judged) {
    let added = figures.gate - figures.bare;
    let verdict = verdict(added, judged);
    println!(
        "  {way:<24} bare rmcp, our runtime {:>7.1} µs   with the gate {:>7.1} µs   {:>5.2}x   +{added:.1} µs{verdict}",
        figures.bare,
        figures.gate,
        figures.gate / figures.bare,
    );
}

fn main() {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some(awake::WORD) => {
            cores::stay_on(&cores::parse(&args.next().unwrap()));
            awake::spin()
        }
        Some("serve") => {
            let kind = args.next().unwrap();
            cores::stay_on(&cores::parse(&args.next().unwrap()));
            let token = args.next().map(std::path::PathBuf::from);
            runtime(&kind).block_on(servers::serve(&kind, token.as_deref()));
            return;
        }
        _ => {}
    }
    println!("{ROUNDS} rounds of {CALLS} calls in turn, one at a time; the median round");
    println!("cores as they are, which may fall asleep between two calls");
    let all = cores::mine();
    measure(&all, Judged::No);
    let _kept = match awake::keep(&all) {
        Ok(kept) => kept,
        Err(why) => return println!("cores cannot be kept awake, so the aim is not judged: {why}"),
    };
    cores::stay_on(&all[..1]);
    if let Some(other) = all.get(1..2) {
        println!("cores kept awake, client and server on a core each");
        compare_both(other, Judged::Yes);
    }
    println!("cores kept awake, client and server on the same core");
    compare_both(&all[..1], Judged::Yes);
}

/// Runtime as in the product, except for the default rmcp server.
fn runtime(kind: &str) -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let cores = std::thread::available_parallelism().unwrap().get();
    match kind {
        // As in `tollgate mcp`.
        "gate-stdio" | "even-stdio" => {
            runtime.worker_threads(1);
        }
        // As in `tollgate serve`.
        "gate-http" | "even-http" | "object-http" => {
            runtime.worker_threads((cores / 2).max(1));
        }
        _ => {}
    }
    runtime.enable_all().build().unwrap()
}

/// Whether the aim applies.
#[derive(Clone, Copy, PartialEq)]
enum Judged {
    Yes,
    No,
}

/// Measures servers on these cores.
fn measure(on: &[usize], judged: Judged) {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    let pipes = |kind| Pipes::to(kind, on);
    let http = |kind| Http::to(kind, on, &token);
    usual("stdio", &compare(&mut pipes("bare-stdio"), &mut pipes("gate-stdio")));
    usual("HTTP", &compare(&mut http("bare-http"), &mut http("gate-http")));
    compare_both(on, judged);
}

fn compare_both(on: &[usize], judged: Judged) {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    let pipes = |kind| Pipes::to(kind, on);
    let http = |kind| Http::to(kind, on, &token);
    show("stdio", &compare(&mut pipes("even-stdio"), &mut pipes("gate-stdio")), judged);
    show("HTTP", &compare(&mut http("object-http"), &mut http("gate-http")), judged);
    show("HTTP, bare as a stream", &compare(&mut http("even-http"), &mut http("gate-http")), Judged::No);
}

/// Compares two complete servers, each as one would normally write it.
fn usual(way: &str, figures: &Figures) {
    let added = figures.gate - figures.bare;
    println!(
        "  {way:<24} bare rmcp as it comes  {:>7.1} µs   with the gate {:>7.1} µs   {:>5.2}x   +{added:.1} µs{}",
        figures.bare,
        figures.gate,
        figures.gate / figures.bare,
        verdict(added, Judged::Yes),
    );
}
