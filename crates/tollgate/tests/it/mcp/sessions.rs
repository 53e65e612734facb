//! The calls and plans of one connection are one session, which is undone as a whole.

use serde_json::{Value, json};

use crate::mcp::pipe::{McpPipe, ProtocolEra, no, text, yes};
use crate::support::TestVault;

#[test]
fn everything_that_one_connection_did_is_undone_and_redone_as_one() {
    for era in [ProtocolEra::Old, ProtocolEra::New] {
        let sandbox = TestVault::new();
        let inbox = || std::fs::read_to_string(sandbox.path("vault/Inbox.md")).unwrap();
        let before = inbox();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let append = |text: &str| json!({ "path": "Inbox.md", "content": text, "mode": "append" });
        let plan = json!({ "plan": {
            "version": "1.0", "goal": "Add a line", "riskLevel": "writes",
            "steps": [{ "id": "add", "tool": "vault.writeFile", "args": append("two\n") }],
        } });
        for (tool, args) in
            [("vault_writeFile", append("one\n")), ("plan_run", plan), ("vault_writeFile", append("three\n"))]
        {
            let (asked, done) = pipe.call(tool, &args, &yes());
            assert!(asked.is_some());
            assert_eq!(done["isError"], false, "{done}");
        }
        pipe.leave();
        let after = inbox();
        assert_ne!(before, after);
        let runs = sandbox.tollgate(&["runs", "--json"]).expect_code(0).json();
        let sessions: Vec<&Value> = runs.as_array().unwrap().iter().map(|run| &run["session"]).collect();
        assert_eq!(sessions.len(), 2);
        assert!(sessions[0].is_string() && sessions[0] == sessions[1], "{sessions:?}");
        let shown = sandbox.tollgate(&["show", "last"]).expect_code(0).out;
        assert!(shown.contains("Session:    s"), "{shown}");
        // The plan alone stands in the way of the later call.
        let plan = runs.as_array().unwrap().iter().find(|run| run["kind"] == "plan").unwrap();
        let plan = plan["runId"].as_str().unwrap();
        let refused = sandbox.tollgate(&["undo", plan, "--yes"]).expect_code(1);
        assert!(refused.err.contains(&format!("`tollgate undo {plan} --with-later`")), "{}", refused.err);
        assert_eq!(inbox(), after);

        let dry = sandbox.tollgate(&["undo", "--session", "--dry-run"]).expect_code(0).out;
        assert!(dry.contains("2 runs"), "{dry}");
        assert_eq!(inbox(), after);
        let undone = sandbox.tollgate(&["undo", "--session", "--yes"]).expect_code(0).out;
        assert!(undone.contains("tollgate redo --session s"), "{undone}");
        assert_eq!(inbox(), before);
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        sandbox.tollgate(&["redo", "--session", "--yes"]).expect_code(0);
        assert_eq!(inbox(), after);
        sandbox.tollgate(&["undo", plan, "--with-later", "--yes"]).expect_code(0);
        assert_eq!(inbox(), before);
        let twice = sandbox.tollgate(&["undo", plan, "--session", "last"]).expect_code(2);
        assert!(twice.err.contains("--session"), "{}", twice.err);
    }
}

#[test]
fn a_model_undoes_its_session_or_a_run_of_it_after_a_question_in_every_mode() {
    for (era, mode) in [(ProtocolEra::Old, "ask"), (ProtocolEra::New, "trusted")] {
        let sandbox = TestVault::new();
        sandbox.trusted_config(&format!("mode = \"{mode}\"\n"));
        let before = sandbox.notes();
        let inbox = std::fs::read_to_string(sandbox.path("vault/Inbox.md")).unwrap();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let nothing = pipe.call("run_undo", &json!({}), &yes()).1;
        assert!(text(&nothing).starts_with("this session has changed nothing"), "{nothing}");
        let append = json!({ "path": "Inbox.md", "content": "one\n", "mode": "append" });
        assert_eq!(pipe.call("vault_writeFile", &append, &yes()).1["isError"], false);
        let plan = json!({ "plan": {
            "version": "1.0", "goal": "Add a note", "riskLevel": "writes",
            "steps": [{ "id": "add", "tool": "vault.createFile", "args": { "path": "New.md", "content": "new" } }],
        } });
        let ran = pipe.call("plan_run", &plan, &yes()).1;
        let run = json!({ "run": ran["_meta"]["tollgate/run"] });
        let (asked, refused) = pipe.call("run_undo", &run, &no());
        assert!(asked.unwrap().contains("deleted New.md"), "the question shows what goes");
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(sandbox.path("vault/New.md").exists());
        let (asked, undone) = pipe.call("run_undo", &run, &yes());
        assert!(asked.is_some() && undone["isError"] == false, "{undone}");
        assert!(!sandbox.path("vault/New.md").exists());
        // The rest of the session, with a call that came after the undo.
        assert_eq!(pipe.call("vault_writeFile", &append, &yes()).1["isError"], false);
        let (asked, undone) = pipe.call("run_undo", &json!({}), &yes());
        assert!(asked.unwrap().contains("- one"), "the question shows the difference");
        assert!(text(&undone).starts_with("Undone: session s"), "{undone}");
        assert_eq!(std::fs::read_to_string(sandbox.path("vault/Inbox.md")).unwrap(), inbox);
        pipe.leave();
        assert_eq!(sandbox.notes(), before);
        sandbox.tollgate(&["verify", "last"]).expect_code(0);

        // A run of another session is for the user to undo.
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        assert_eq!(pipe.call("vault_writeFile", &append, &yes()).1["isError"], false);
        pipe.leave();
        let other = sandbox.tollgate(&["runs", "--json"]).expect_code(0).json()[0]["runId"].clone();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let (asked, refused) = pipe.call("run_undo", &json!({ "run": other }), &yes());
        assert_eq!(asked, None);
        assert!(text(&refused).contains("is not of this session"), "{refused}");
        pipe.leave();
    }
}
