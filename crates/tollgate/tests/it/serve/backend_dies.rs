//! The model's server dies while many answers are being given, and comes back.

use serde_json::json;

use crate::serve::server::ServeProcess;
use crate::serve::upstream::{BodyFraming, FakeUpstream, UpstreamTurn};
use crate::serve::wire::{DONE, RawResponse, StreamEvent, kinds};
use crate::support::TestVault;

const STREAMS: usize = 20;

/// The answer to every client: that it failed, once, at the end, and in order.
#[track_caller]
pub(crate) fn assert_failed_once(events: &[StreamEvent], code: &str) {
    let ends = ["response.completed", "response.incomplete", "response.failed", "error"];
    let ended: Vec<&str> = kinds(events).into_iter().filter(|kind| ends.contains(kind)).collect();
    assert_eq!(ended, ["response.failed"]);
    assert_eq!(kinds(events)[events.len() - 2..], ["response.failed", DONE]);
    let failed = &events[events.len() - 2].data["response"];
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!(code)));
    let numbers: Vec<u64> =
        events.iter().filter_map(|event| event.data["sequence_number"].as_u64()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}

/// A whole answer, asked for and given.
#[track_caller]
pub(crate) fn assert_answers(server: &ServeProcess, upstream: &FakeUpstream) {
    let client = server.stream("Hello again", json!({}));
    upstream.begin(BodyFraming::Chunked, "Back.").complete("Back.");
    let events = RawResponse::of(client).rest();
    assert_eq!(kinds(&events)[events.len() - 2..], ["response.completed", DONE]);
    let ended = &events[events.len() - 2].data["response"];
    assert_eq!(ended["output"][0]["content"][0]["text"], "Back.");
}

#[test]
fn every_client_is_told_once_when_the_backend_dies_and_it_is_used_again_when_it_is_back() {
    let sandbox = TestVault::new();
    let upstream = FakeUpstream::listen(0);
    let port = upstream.port();
    let server = ServeProcess::start(&sandbox, &["--backend", &upstream.url()]);
    let open: Vec<(RawResponse, UpstreamTurn)> = (0..STREAMS)
        .map(|number| {
            let framing = if number % 2 == 0 { BodyFraming::Chunked } else { BodyFraming::UntilClosed };
            let client = server.stream("Hello", json!({}));
            let turn = upstream.begin(framing, "I was ab");
            let mut stream = RawResponse::of(client);
            stream.until("response.output_text.delta");
            (stream, turn)
        })
        .collect();
    let (streams, turns): (Vec<RawResponse>, Vec<UpstreamTurn>) = open.into_iter().unzip();
    drop(upstream);
    drop(turns);
    for stream in streams {
        assert_failed_once(&stream.rest(), "backend_died");
    }
    assert_eq!(server.counted("tollgate_turns_total{kind=\"failed\"}"), STREAMS as u64);
    assert_eq!(server.counted("tollgate_backend_errors_total{kind=\"died\"}"), STREAMS as u64);

    let refused = RawResponse::of(server.stream("Hello", json!({})));
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["error"]["code"], "backend_unavailable");

    assert_answers(&server, &FakeUpstream::listen(port));
}
