//! The clients of one `tollgate serve` share the programs of its servers.

use serde_json::json;

use crate::servers::rig::{approved, no_wall};
use crate::servers::serving::PeerServer;

#[test]
fn a_second_client_calls_the_program_that_the_first_one_started() {
    if no_wall() {
        return;
    }
    let sandbox = approved("");
    let serving = PeerServer::start(&sandbox);
    let call = |session: &str| serving.call(session, "mcp_evil_shifting", &json!({}));
    let (first, second) = (serving.session(), serving.session());
    assert_ne!(first, second);
    for (session, count) in [(&first, 1), (&second, 2), (&first, 3)] {
        let answer = call(session);
        assert!(answer.contains(&format!("call {count} of this program")), "{answer}");
    }
    // A withdrawn approval counts for connected clients, and for later ones.
    sandbox.tollgate(&["servers", "forget", "evil"]).expect_code(0);
    let answer = call(&first);
    assert!(answer.contains("blocked_tool") || answer.contains("unknown tool"), "{answer}");
    assert!(!answer.contains("call 4 of this program"), "{answer}");
    let answer = call(&serving.session());
    assert!(answer.contains("unknown tool"), "{answer}");
}
