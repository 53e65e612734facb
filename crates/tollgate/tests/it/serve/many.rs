//! Many answers at once cost little each.

use serde_json::json;

use crate::serve::server::ServeProcess;
use crate::serve::wire::RawResponse;
use crate::support::TestVault;

const STREAMS: u64 = 200;

/// What one stream may cost in a build that is not optimised.
const MOST_KIB: u64 = 60;

/// Memory that the server has in use.
fn resident_kib(server: &ServeProcess) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid().as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn held(server: &ServeProcess) -> RawResponse {
    let mut stream = RawResponse::of(server.stream("Go on", json!({})));
    stream.until("response.in_progress");
    stream
}

#[test]
fn two_hundred_streams_are_held_open_in_little_memory() {
    let sandbox = TestVault::new();
    // Longer than any test: the answers end when their clients go away.
    let server = ServeProcess::scripted(&sandbox, &[json!({ "text": "Never.", "delay_ms": 600_000 })], &[]);
    // What the first one needs is needed only once.
    let first = held(&server);
    let before = resident_kib(&server);
    let streams: Vec<RawResponse> = (0..STREAMS).map(|_| held(&server)).collect();
    let each = (resident_kib(&server) - before) / STREAMS;
    eprintln!("{each} KiB for each of {STREAMS} streams, {before} KiB without them");
    assert!(each < MOST_KIB, "{each} KiB a stream");
    // The one that asks is counted, too.
    assert_eq!(server.counted("tollgate_http_in_flight"), STREAMS + 2);
    drop((first, streams));
    server.terminate();
    assert!(server.ended().success());
}
