//! The end of the server itself.

use serde_json::json;

use crate::server::Server;
use crate::support::Sandbox;
use crate::upstream::{Framing, Upstream};
use crate::wire::{Answer, DONE, kinds};

#[test]
fn an_answer_under_way_ends_whole_when_the_server_is_told_to_stop() {
    let sandbox = Sandbox::new();
    let upstream = Upstream::listen(0);
    let server = Server::start(&sandbox, &["--backend", &upstream.url()]);
    let client = server.stream("Hello", json!({}));
    let mut turn = upstream.begin(Framing::Chunked, "Be");
    let mut stream = Answer::of(client);
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
