//! Questions in the queue are answered by the user at a terminal, and in no other way.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::support::TestVault;
use crate::support::sandboxes::SandboxChoice;
use envelope::{Hash, Timestamp, canonical_hash};
use expect_test::expect;
use serde_json::{Value, json};

const ID: &str = "7k2m9x4p";

fn folder(sandbox: &TestVault) -> PathBuf {
    sandbox.path("state-home/tollgate/approvals")
}

/// The question of a call.
fn subject(sandbox: &TestVault) -> Value {
    json!({
        "vault": sandbox.vault().canonicalize().unwrap(),
        "owner": "default",
        "client": "a client",
        "about": {
            "kind": "call", "tool": "vault.createFile", "text": "Creates 1 note: a.md.\nWhy you are asked: the mode asks",
            "input": { "path": "a.md", "content": "x" }, "exact": Hash::of(b"x"), "policy": Hash::of(b"p"),
            "why": "the mode asks", "keeping": "reasons",
        },
    })
}

/// Puts a question into the queue, as a waiting call does. It stays there until the returned value is dropped.
fn ask(sandbox: &TestVault) -> File {
    let folder = folder(sandbox);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
    let now = Timestamp::now();
    let question = json!({
        "id": ID, "nonce": "a nonce", "askedAt": now,
        "expiresAt": now.saturating_add(std::time::Duration::from_secs(600)).unwrap(),
        "subject": subject(sandbox),
    });
    let new = folder.join("new");
    let file = File::create(&new).unwrap();
    file.set_permissions(Permissions::from_mode(0o600)).unwrap();
    file.lock().unwrap();
    fs::write(&new, question.to_string()).unwrap();
    fs::rename(new, folder.join(format!("{ID}.question.json"))).unwrap();
    file
}

fn answer(sandbox: &TestVault) -> Option<Value> {
    let text = fs::read(folder(sandbox).join(format!("{ID}.answer.json"))).ok()?;
    Some(serde_json::from_slice(&text).unwrap())
}

#[test]
fn what_is_typed_at_a_terminal_is_the_answer() {
    for (typed, word) in [("y\r", "yes"), ("a\r", "always"), ("n\r", "no"), ("\r", "no"), ("\u{4}", "no")] {
        let sandbox = TestVault::new();
        let _asked = ask(&sandbox);
        let mut terminal = sandbox.terminal(&["approve"]);
        terminal
            .wait_for("May this call run? [y]es once, [a]lways for this reason until the server stops, [N]o");
        terminal.type_in(typed);
        let (screen, code) = terminal.end();
        assert_eq!(code, 0, "{screen}");
        for part in ["a client", "Creates 1 note: a.md.", "Why you are asked: the mode asks"] {
            assert!(screen.contains(part), "{part}:\n{screen}");
        }
        let shown = canonical_hash(&json!({ "tollgate": "question", "subject": subject(&sandbox) }));
        let expected = json!({ "nonce": "a nonce", "shown": shown, "word": word });
        assert_eq!(answer(&sandbox), Some(expected), "{screen}");
    }
}

#[test]
fn nothing_is_answered_from_a_pipe() {
    let sandbox = TestVault::new();
    let _asked = ask(&sandbox);
    for args in [&["approve"][..], &["approve", ID], &["approve", "--watch"]] {
        let ended = sandbox.tollgate_with_input(args, "y\ny\n").expect_code(3);
        expect![[r#"
            error: questions are answered at a terminal only, and here is none
            hint: open a terminal and run `tollgate approve` there; `--list` works anywhere
        "#]]
        .assert_eq(&ended.err);
    }
    sandbox.tollgate(&["approve", "--yes"]).expect_code(2);
    assert_eq!(answer(&sandbox), None);
}

#[test]
fn what_waits_can_be_listed_anywhere() {
    let sandbox = TestVault::new();
    assert_eq!(sandbox.tollgate(&["approve"]).expect_code(0).out, "Nothing waits for an answer.\n");
    assert_eq!(sandbox.tollgate(&["approve", "--list", "--json"]).json(), json!({ "questions": [] }));
    let asked = ask(&sandbox);
    let listed = sandbox.tollgate(&["approve", "--list", "--json"]).expect_code(0).json();
    assert_eq!(
        (&listed["questions"][0]["id"], &listed["questions"][0]["client"]),
        (&json!(ID), &json!("a client"))
    );
    assert!(!listed.to_string().contains("a nonce"), "{listed}");
    let wrong = sandbox.tollgate(&["approve", "zz"]).expect_code(2);
    assert!(wrong.err.contains("no question `zz` waits"), "{}", wrong.err);
    // The process that asked is gone.
    drop(asked);
    assert_eq!(sandbox.tollgate(&["approve", "--list"]).out, "Nothing waits for an answer.\n");
    assert_eq!(fs::read_dir(folder(&sandbox)).unwrap().count(), 0);
}

#[test]
fn a_question_that_goes_while_it_is_read_takes_no_answer() {
    let sandbox = TestVault::new();
    let _asked = ask(&sandbox);
    let mut terminal = sandbox.terminal(&["approve", ID]);
    terminal.wait_for("May this call run?");
    fs::remove_file(folder(&sandbox).join(format!("{ID}.question.json"))).unwrap();
    terminal.wait_for("Press Enter to continue");
    terminal.type_in("y\r");
    let (screen, code) = terminal.end();
    assert_eq!((code, answer(&sandbox)), (0, None), "{screen}");
}

#[test]
fn whoever_watches_sees_questions_as_they_come() {
    let sandbox = TestVault::new();
    let mut terminal = sandbox.terminal(&["approve", "--watch"]);
    terminal.wait_for("Questions appear here as they come");
    let _asked = ask(&sandbox);
    terminal.wait_for("May this call run?");
    terminal.type_in("y\r");
    terminal.wait_for("Yes, once.");
    terminal.type_in("\u{3}");
    let (screen, code) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    assert_eq!(answer(&sandbox).unwrap()["word"], "yes");
}

#[test]
fn a_command_in_the_sandbox_neither_sees_nor_answers_a_question() {
    for kind in [SandboxChoice::Bubblewrap, SandboxChoice::Landlock] {
        let sandbox = TestVault::new();
        if !kind.is_available(&sandbox) {
            continue;
        }
        let _asked = ask(&sandbox);
        let (desk, binary) = (folder(&sandbox), crate::support::build::binary());
        let cmd = format!(
            "cat {0}/* && echo SEEN; echo '{{}}' > {0}/{ID}.answer.json && echo WRITTEN; ls {0} && echo LISTED; \
             XDG_STATE_HOME={1} {2} approve --list | grep {ID} && echo TOLD; true",
            desk.display(),
            sandbox.path("state-home").display(),
            binary.display(),
        );
        let args = json!({ "cmd": cmd }).to_string();
        let command = sandbox.command(&["call", "ExecCommand", &args, "--yes", "--json"]);
        let ended = crate::support::ended(kind.around(command).output().unwrap()).expect_code(0);
        let said = ended.json()["data"]["stdout_preview"].to_string();
        for word in ["SEEN", "WRITTEN", "LISTED", "TOLD", "a nonce"] {
            assert!(!said.contains(word), "{kind:?}: {said}");
        }
        assert_eq!(answer(&sandbox), None);
        assert!(desk.join(format!("{ID}.question.json")).exists());
    }
}

/// A client that cannot ask its user.
struct AskingClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl AskingClient {
    fn start(sandbox: &TestVault) -> AskingClient {
        let mut child = sandbox.command(&["mcp"]).stdin(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = AskingClient { input: child.stdin.take(), output, child };
        let who = json!({ "name": "a test", "version": "1" });
        let greeting = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who });
        client.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting }));
        client.answer(0);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "no answer to {id}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    fn end(mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}

#[test]
fn a_call_over_mcp_waits_for_a_person_at_a_terminal() {
    let sandbox = TestVault::new();
    let mut client = AskingClient::start(&sandbox);
    // `--watch` is running before the question comes.
    let mut terminal = sandbox.terminal(&["approve", "--watch"]);
    terminal.wait_for("Questions appear here as they come");
    for (id, typed, said) in [(1, "n\r", "No."), (2, "y\r", "Yes, once.")] {
        let path = format!("Notes/{id}.md");
        client.call(id, "vault_createFile", &json!({ "path": path, "content": "x" }));
        terminal.wait_for("May this call run?");
        terminal.type_in(typed);
        terminal.wait_for(said);
        let result = client.answer(id);
        assert_eq!(result["result"]["isError"] == true, id == 1, "{result}");
    }
    assert_eq!(sandbox.notes(), ["Inbox.md", "Notes/2.md"]);
    // If the client cancels the call, its question is withdrawn.
    client.call(3, "vault_createFile", &json!({ "path": "Notes/3.md", "content": "x" }));
    terminal.wait_for("May this call run?");
    client.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } }),
    );
    terminal.wait_for("This question is withdrawn");
    terminal.type_in("y\r\u{3}");
    let (screen, code) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    client.end();
    assert_eq!(sandbox.notes(), ["Inbox.md", "Notes/2.md"]);
    assert_eq!(fs::read_dir(folder(&sandbox)).unwrap().count(), 0);
    let shown = sandbox.tollgate(&["show", "last", "--json"]).expect_code(0).out;
    assert!(shown.contains("approved (approve)"), "{shown}");
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
}
