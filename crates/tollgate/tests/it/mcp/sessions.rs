//! The calls and plans of one connection are one session, which is undone as a whole.

use serde_json::{Value, json};

use crate::mcp::pipe::{McpPipe, ProtocolEra, yes};
use crate::support::TestVault;

#[test]
fn everything_that_one_connection_did_is_undone_and_redone_as_one() {
    for era in [ProtocolEra::Old, ProtocolEra::New] {
        let sandbox = TestVault::new();
        let before = sandbox.notes();
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
        let after = sandbox.notes();
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
        assert_eq!(sandbox.notes(), after);

        let dry = sandbox.tollgate(&["undo", "--session", "--dry-run"]).expect_code(0).out;
        assert!(dry.contains("2 runs"), "{dry}");
        assert_eq!(sandbox.notes(), after);
        let undone = sandbox.tollgate(&["undo", "--session", "--yes"]).expect_code(0).out;
        assert!(undone.contains("tollgate redo --session s"), "{undone}");
        assert_eq!(sandbox.notes(), before);
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        sandbox.tollgate(&["redo", "--session", "--yes"]).expect_code(0);
        assert_eq!(sandbox.notes(), after);
        sandbox.tollgate(&["undo", plan, "--with-later", "--yes"]).expect_code(0);
        assert_eq!(sandbox.notes(), before);
        let twice = sandbox.tollgate(&["undo", plan, "--session", "last"]).expect_code(2);
        assert!(twice.err.contains("--session"), "{}", twice.err);
    }
}
