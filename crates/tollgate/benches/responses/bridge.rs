//! Two gateways that both make `/v1/responses` out of a server's `/chat/completions`: ours and LiteLLM.
//!
//! Both get the same requests on as many connections and the same chunks from the model's server. LiteLLM passes the
//! text on; Tollgate also finds the call in it. LiteLLM makes a few streams a second, so its rounds are short.

use std::net::SocketAddr;
use std::time::Duration;

use crate::aim::{AtLeast, AtMost, BenchAim};
use crate::litellm;
use crate::load::{ClientLoad, LoadFigures, RequestKind, once};
use crate::target::BenchServer;
use crate::upstream;

const CONNECTIONS: usize = 32;
/// How many times better than LiteLLM.
const TIMES: BenchAim = AtLeast(100.0);
const PSS_MIB: BenchAim = AtMost(30.0);

pub(crate) fn compare(upstream: SocketAddr, span: Duration, rounds: usize) {
    println!("\nstreams on {CONNECTIONS} connections, made of /chat/completions");
    let theirs = match BenchServer::litellm(upstream) {
        Ok(target) => target,
        Err(why) => return println!("  {} is left out: {why}", litellm::NAME),
    };
    let ours = BenchServer::tollgate(upstream, &["--chat"]);
    let (mut best_ours, mut best_theirs): (Option<LoadFigures>, Option<LoadFigures>) = (None, None);
    for target in [&ours, &theirs] {
        // Also loads what is loaded with the first request.
        println!("  {:<10} {}", target.name(), shape(&once(target)));
    }
    let load = ClientLoad { kind: RequestKind::Stream, connections: CONNECTIONS, span };
    for _ in 0..rounds {
        for (target, best) in [(&ours, &mut best_ours), (&theirs, &mut best_theirs)] {
            let figures = load.on(target);
            if best.as_ref().is_none_or(|best| figures.rate > best.rate) {
                *best = Some(figures);
            }
        }
    }
    let (Some(us), Some(them)) = (best_ours, best_theirs) else { return };
    for (name, figures) in [(ours.name(), &us), (theirs.name(), &them)] {
        println!(
            "  {name:<10} {:>9.1} a second, {:>9.3} CPU s a 1000, {:>6.1} MiB, {} streams",
            figures.rate,
            figures.cpu.unwrap_or_default(),
            figures.pss.unwrap_or_default(),
            figures.answers
        );
    }
    TIMES.judge("streams a second, ours / LiteLLM's", us.rate / them.rate);
    if let (Some(ours), Some(theirs)) = (us.cpu, them.cpu) {
        TIMES.judge("CPU for a stream, LiteLLM's / ours", theirs / ours);
    }
    if let Some(pss) = us.pss {
        PSS_MIB.judge("MiB of memory (PSS)", pss);
    }
}

/// Checks that an answer is right. All of the text must be there; the number of deltas is up to each gateway.
fn shape(body: &str) -> String {
    let of = |kind: &str| body.matches(&format!("\"type\":\"response.{kind}\"")).count();
    let (deltas, ends) = (of("output_text.delta"), of("completed"));
    let is_whole = upstream::prose().all(|words| body.contains(&words));
    assert!(deltas > 0 && is_whole && ends == 1, "not the stream that was asked for: {body}");
    format!("{deltas} deltas of text and {} of arguments a stream", of("function_call_arguments.delta"))
}
