//! The MCP Inspector without its page: one command a request, and `mcpdo`, which keeps a connection between commands.

use std::process::{Command, Stdio};

use expect_test::expect;
use serde_json::{Value, json};

use crate::mcp_clients::records::{runs, shown};
use crate::mcp_clients::serving::vault;
use crate::support::build::binary;
use crate::support::installed::{clients_are_missing, installed, node};
use crate::support::{ProcessResult, TestVault, ended};

/// A program of the Inspector, at home in the sandbox.
fn inspector(sandbox: &TestVault, program: &str) -> Command {
    let clients = installed().join("node_modules/@modelcontextprotocol/inspector/clients");
    let mut command = node();
    command
        .arg(clients.join(program))
        .env("HOME", sandbox.path("home"))
        .env("MCP_INSPECTOR_SECRET_STORE", "memory")
        .current_dir(sandbox.path("home"))
        .stdin(Stdio::null());
    command
}

/// One request of the command line, over pipes.
fn asked(sandbox: &TestVault, era: &str, request: &[&str]) -> ProcessResult {
    let state = format!("XDG_STATE_HOME={}", sandbox.path("state-home").display());
    let mut command = inspector(sandbox, "launcher/build/index.js");
    command
        .args(["--cli", "--format", "json", "--protocol-era", era])
        .args(request)
        .args(["-e", &state, "--"]);
    command.arg(binary()).args(["mcp", "--vault"]).arg(sandbox.vault());
    ended(command.output().unwrap())
}

fn first_line(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap().lines().next().unwrap()
}

#[track_caller]
fn check(era: &str) {
    if clients_are_missing() {
        return;
    }
    let sandbox = vault();
    let listed = asked(&sandbox, era, &["--strict", "--method", "tools/list"]).expect_code(0);
    assert!(listed.json()["result"]["tools"].as_array().unwrap().len() > 20, "{}", listed.out);
    assert!(!listed.err.contains("Error: tool"), "{}", listed.err);

    let call = ["--method", "tools/call", "--tool-name"];
    let read = ["vault_readFile", "--tool-arg", "path=Inbox.md"];
    let read = asked(&sandbox, era, &[call.as_slice(), &read].concat()).expect_code(0).json();
    assert_eq!(read["result"]["structuredContent"]["data"]["sizeBytes"], 49);

    let long = ["ExecCommand", "--tool-arg", "argv=[\"seq\",\"1\",\"20000\"]"];
    let long = asked(&sandbox, era, &[call.as_slice(), &long].concat()).expect_code(0).json();
    let link = &long["result"]["content"][1];
    assert_eq!((&link["type"], &link["size"]), (&json!("resource_link"), &json!(108_894)), "{long}");
    let uri = link["uri"].as_str().unwrap();
    let artifact = asked(&sandbox, era, &["--method", "resources/read", "--uri", uri]).expect_code(0).json();
    assert!(artifact["result"]["contents"][0]["text"].as_str().unwrap().ends_with("\n19999\n20000\n"));

    let write = ["vault_createFile", "--tool-arg", "path=Private/a.md", "--tool-arg", "content=x"];
    // It ends with 5 for a tool that failed.
    let denied = asked(&sandbox, era, &[call.as_slice(), &write].concat()).expect_code(5).json();
    expect!["vault.createFile failed (permission_denied): rule 1 (private notes) denies vault.createFile: Create Private/a.md (1 bytes)"]
        .assert_eq(first_line(&denied["result"]));
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
    let calls: Vec<Value> = runs(&sandbox).iter().map(|run| run["calls"].clone()).collect();
    assert_eq!(calls, [1, 1, 1], "neither a list nor a resource opens a run");
}

#[test]
fn the_inspector_lists_reads_follows_a_link_and_is_denied_in_the_older_era() {
    check("legacy");
}

#[test]
fn the_inspector_lists_reads_follows_a_link_and_is_denied_in_the_newer_era() {
    check("modern");
}

/// A connection that lasts over several commands, kept by a daemon of this sandbox.
struct InspectorCall<'a>(&'a TestVault);

impl InspectorCall<'_> {
    fn run(&self, words: &[&str]) -> ProcessResult {
        let mut command = inspector(self.0, "mcpdo/build/mcp-bin.js");
        ended(command.args(["--format", "json", "--connection", "vault"]).args(words).output().unwrap())
    }

    /// A call with a question: returns it, to be answered.
    #[track_caller]
    fn question(&self, words: &[&str], about: &str) -> String {
        let pending = self.run(&[&["tools/call"], words].concat());
        let pending = &pending.json()["elicitationPending"];
        assert!(pending["message"].as_str().unwrap().contains(about), "{pending}");
        pending["elicitationId"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn answer(&self, question: &str, words: &[&str]) -> String {
        let told = self.run(&[&["elicitation/respond", question], words].concat());
        first_line(&told.json()).to_owned()
    }
}

impl Drop for InspectorCall<'_> {
    fn drop(&mut self) {
        self.run(&["daemon", "stop"]);
    }
}

#[track_caller]
fn answer_questions(era: &str) {
    if clients_are_missing() {
        return;
    }
    let sandbox = vault();
    let mcpdo = InspectorCall(&sandbox);
    let state = format!("XDG_STATE_HOME={}", sandbox.path("state-home").display());
    let (program, notes) = (binary(), sandbox.vault());
    let server = [program.to_str().unwrap(), "mcp", "--vault", notes.to_str().unwrap()];
    mcpdo.run(&[&["connect", "--era", era, "-e", &state, "--"], server.as_slice()].concat()).expect_code(0);

    let question = mcpdo.question(&["vault_createFile", "path:=Yes.md", "content:=x"], "Create Yes.md");
    assert!(mcpdo.answer(&question, &["decision:=once"]).starts_with("Created Yes.md"));
    let question = mcpdo.question(&["vault_createFile", "path:=No.md", "content:=x"], "Create No.md");
    // A refusal that comes faster than a user can read counts as a question that was not shown.
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(mcpdo.answer(&question, &["--decline"]).contains("the user declined Create No.md"));
    let question = mcpdo.question(&["vault_writeFile", "path:=Often.md", "content:=x"], "Write Often.md");
    assert!(mcpdo.answer(&question, &["decision:=session"]).starts_with("Created Often.md"));
    let again = mcpdo.run(&["tools/call", "vault_writeFile", "path:=Often.md", "content:=y"]).expect_code(0);
    assert!(first_line(&again.json()).starts_with("Wrote Often.md"));
    mcpdo.run(&["disconnect"]).expect_code(0);
    drop(mcpdo);

    assert_eq!(sandbox.notes(), ["Inbox.md", "Often.md", "Yes.md"]);
    let runs = runs(&sandbox);
    assert_eq!((runs.len(), &runs[0]["calls"]), (1, &Value::from(4)), "{runs:?}");
    let shown = shown(&sandbox, &runs[0]);
    assert!(shown.contains("approved (client)"), "{shown}");
}

#[test]
fn mcpdo_answers_questions_in_the_older_era() {
    answer_questions("legacy");
}

#[test]
fn mcpdo_answers_questions_in_the_newer_era() {
    answer_questions("modern");
}
