//! The end of the server itself.

use serde_json::json;

use crate::serve::server::ServeProcess;
use crate::serve::upstream::{BodyFraming, FakeUpstream};
use crate::serve::wire::{DONE, RawResponse, kinds};
use crate::support::TestVault;

#[test]
fn an_answer_under_way_ends_whole_when_the_server_is_told_to_stop() {
    let sandbox = TestVault::new();
    let upstream = FakeUpstream::listen(0);
    let server = ServeProcess::start(&sandbox, &["--backend", &upstream.url()]);
    let client = server.stream("Hello", json!({}));
    let mut turn = upstream.begin(BodyFraming::Chunked, "Be");
    let mut stream = RawResponse::of(client);
    stream.until("response.output_text.delta");
    server.terminate();
    server.until_logged("stopping; answers may end");
    assert!(!server.is_listening(), "somebody new was let in");
    turn.say("gin.");
    turn.complete("Begin.");
    let events = stream.rest();
    assert_eq!(kinds(&events)[events.len() - 2..], ["response.completed", DONE]);
    let ended = &events[events.len() - 2].data["response"];
    assert_eq!(ended["output"][0]["content"][0]["text"], "Begin.");
    assert!(server.ended().success());
}
