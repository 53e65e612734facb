//! Settings that change while a client is connected.

use std::time::Instant;

use serde_json::{Value, json};

use crate::mcp::pipe::{McpPipe, PATIENCE, ProtocolEra, no, text, yes};
use crate::support::TestVault;

/// Calls until no question is asked any more: the settings are read once a second, not at every call.
fn until_unasked(pipe: &mut McpPipe) -> Value {
    let begun = Instant::now();
    loop {
        let (asked, result) = pipe.call("vault_delete", &json!({ "path": "New.md" }), &no());
        if asked.is_none() {
            return result;
        }
        assert_eq!(result["isError"], true);
        assert!(begun.elapsed() < PATIENCE, "the old settings still hold");
    }
}

#[test]
fn a_call_after_a_change_of_the_settings_runs_under_it_in_a_run_of_its_own() {
    for era in [ProtocolEra::Old, ProtocolEra::New] {
        let sandbox = TestVault::new();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let args = json!({ "path": "New.md", "content": "Hello.\n" });
        let (asked, done) = pipe.call("vault_createFile", &args, &yes());
        assert!(asked.is_some() && done["isError"] == false, "{done}");

        sandbox.config("mode = \"read-only\"\n");
        let refused = until_unasked(&mut pipe);
        assert!(text(&refused).contains("policy_blocked"), "{}", text(&refused));
        pipe.leave();
        assert_eq!(sandbox.notes(), ["Inbox.md", "New.md"]);
        let runs = std::fs::read_dir(sandbox.path("vault/.tollgate/runs")).unwrap();
        let runs: Vec<String> = runs.map(|run| run.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(runs.len(), 2, "{runs:?}");
        for run in runs {
            sandbox.tollgate(&["verify", &run]).expect_code(0);
        }
    }
}

#[test]
fn under_settings_that_cannot_be_used_nothing_is_run_until_they_are_mended() {
    let sandbox = TestVault::new();
    let mut pipe = McpPipe::open(&sandbox, ProtocolEra::New, &[]);
    // The server has started when it answers.
    pipe.call("vault_readFile", &json!({ "path": "Inbox.md" }), &no());
    sandbox.config("mode = \n");
    let refused = until_unasked(&mut pipe);
    assert!(refused.to_string().contains("config.toml"), "{refused}");
    sandbox.config("mode = \"ask\"\n");
    let begun = Instant::now();
    loop {
        let (_, read) = pipe.call("vault_readFile", &json!({ "path": "Inbox.md" }), &no());
        if read["isError"] == false {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{read}");
    }
    pipe.leave();
}
