//! Hooks, rules and folders that are replaced while a client is connected.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::pipe::{McpPipe, ProtocolEra, no, text};
use crate::support::{TestVault, one_note};

fn read(pipe: &mut McpPipe) -> Value {
    pipe.call("vault_readFile", &json!({ "path": "Inbox.md" }), &no()).1
}

/// A program in the vault that leaves a mark of its own, as a hook may be written.
fn hook_file(sandbox: &TestVault, language: &str, mark: &str) {
    let mark = sandbox.path(mark);
    let body = match language {
        "python3" => format!("import sys\nsys.stdin.read()\nopen({mark:?}, 'w').close()\n"),
        _ => format!("cat > /dev/null\n: > {mark:?}\n"),
    };
    match language {
        "python3" => {
            sandbox.write("vault/.tollgate/hook", &body);
        }
        _ => {
            sandbox.script("vault/.tollgate/hook", &body);
        }
    }
}

/// Puts another file in the place of one, with the same time, as sync does.
fn replace(path: &Path, text: &str) {
    let modified = path.metadata().unwrap().modified().unwrap();
    let mut new = tempfile::NamedTempFile::new_in(path.parent().unwrap()).unwrap();
    new.write_all(text.as_bytes()).unwrap();
    new.as_file().set_modified(modified).unwrap();
    new.as_file().set_permissions(path.metadata().unwrap().permissions()).unwrap();
    new.persist(path).unwrap();
}

#[test]
fn a_hook_that_is_swapped_while_a_client_is_connected_never_runs_before_it_is_trusted() {
    for (era, language, command) in [
        (ProtocolEra::Old, "sh", r#"[".tollgate/hook"]"#),
        (ProtocolEra::New, "sh", r#"["sh", "./.tollgate/hook"]"#),
        (ProtocolEra::New, "python3", r#"["python3", ".tollgate/hook"]"#),
    ] {
        let sandbox = TestVault::new();
        hook_file(&sandbox, language, "ran-old");
        sandbox.trusted_config(&format!(
            "[[hooks]]\nname = \"guard\"\ncommand = {command}\ntimeout_ms = 60000\n"
        ));
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let done = read(&mut pipe);
        assert_eq!(done["isError"], false, "{command}: {done}");
        std::fs::remove_file(sandbox.path("ran-old")).unwrap();

        hook_file(&sandbox, language, "ran-new");
        let refused = read(&mut pipe);
        assert_eq!(refused["isError"], true, "{command}: {refused}");
        assert!(refused.to_string().contains("the content of .tollgate/hook"), "{refused}");
        assert!(!sandbox.path("ran-old").exists() && !sandbox.path("ran-new").exists());

        // Put back as it was, it is what was trusted.
        hook_file(&sandbox, language, "ran-old");
        let done = read(&mut pipe);
        assert_eq!(done["isError"], false, "{command}: {done}");
        assert!(sandbox.path("ran-old").exists());

        hook_file(&sandbox, language, "ran-new");
        sandbox.tollgate(&["trust", "--yes"]).expect_code(0);
        let done = read(&mut pipe);
        assert_eq!(done["isError"], false, "{command}: {done}");
        assert!(sandbox.path("ran-new").exists());
        pipe.leave();
    }
}

#[test]
fn a_hook_that_is_swapped_while_it_is_about_to_start_runs_from_the_bytes_that_were_trusted() {
    // The first hook replaces the second one's file, after the call was let in and before the second one starts.
    let sandbox = TestVault::new();
    hook_file(&sandbox, "sh", "ran-old");
    sandbox.script("other", &format!("cat > /dev/null\n: > {:?}\n", sandbox.path("ran-new")));
    let swap = format!("cat > /dev/null\ncp {:?} .tollgate/hook", sandbox.path("other"));
    sandbox.script("vault/.tollgate/first", &swap);
    let hook = |name: &str| {
        format!("[[hooks]]\nname = \"{name}\"\ncommand = [\".tollgate/{name}\"]\ntimeout_ms = 60000\n")
    };
    sandbox.trusted_config(&[hook("first"), hook("hook")].concat());
    let mut pipe = McpPipe::open(&sandbox, ProtocolEra::New, &[]);
    assert_eq!(read(&mut pipe)["isError"], false);
    assert!(sandbox.path("ran-old").exists() && !sandbox.path("ran-new").exists());
    assert_eq!(read(&mut pipe)["isError"], true, "the next call sees that the file is another");
    assert!(!sandbox.path("ran-new").exists());
    pipe.leave();
}

#[test]
fn a_rule_that_leaves_the_file_while_a_client_is_connected_lets_nothing_through() {
    for era in [ProtocolEra::Old, ProtocolEra::New] {
        for effect in ["deny", "ask"] {
            let sandbox = TestVault::new();
            let rule = format!("[[rules]]\neffect = \"{effect}\"\ntools = [\"vault.delete\"]\n");
            sandbox.trusted_config(&format!("mode = \"trusted\"\n{rule}"));
            let mut pipe = McpPipe::open(&sandbox, era, &[]);
            let delete = json!({ "path": "Inbox.md" });
            assert_eq!(pipe.call("vault_delete", &delete, &no()).1["isError"], true);
            // As long as before, and of the same time.
            let padding = format!("#{}\n", "x".repeat(rule.len() - 2));
            replace(&sandbox.path("vault/.tollgate/config.toml"), &format!("mode = \"trusted\"\n{padding}"));
            let (asked, refused) = pipe.call("vault_delete", &delete, &no());
            assert_eq!((asked, &refused["isError"]), (None, &json!(true)), "{effect}: {refused}");
            let removed = format!("removed: {effect} vault.delete");
            assert!(refused.to_string().contains(&removed), "{refused}");
            assert_eq!(sandbox.notes(), ["Inbox.md"]);
            pipe.leave();
            let fresh = sandbox.tollgate(&["call", "vault.delete", r#"{"path": "Inbox.md"}"#]).expect_code(3);
            assert!(fresh.err.contains(&removed), "{}", fresh.err);
        }
    }
}

#[test]
fn a_rule_that_is_added_holds_for_the_next_call_without_a_new_trust() {
    let sandbox = TestVault::new();
    sandbox.trusted_config("mode = \"trusted\"\n");
    let mut pipe = McpPipe::open(&sandbox, ProtocolEra::New, &[]);
    assert_eq!(read(&mut pipe)["isError"], false);
    sandbox.config("mode = \"trusted\"\n[[rules]]\neffect = \"deny\"\ntools = [\"vault.*\"]\n");
    let denied = read(&mut pipe);
    assert!(text(&denied).contains("permission_denied"), "{denied}");
    pipe.leave();
}

#[test]
fn a_folder_of_the_record_that_becomes_a_link_is_not_followed() {
    for (replaced, why) in
        [("vault/.tollgate/runs", "is a symbolic link"), ("vault/.tollgate", ".tollgate is a link")]
    {
        let sandbox = TestVault::new();
        let mut pipe = McpPipe::open(&sandbox, ProtocolEra::New, &[]);
        assert_eq!(read(&mut pipe)["isError"], false);
        let elsewhere = sandbox.path("elsewhere");
        std::fs::create_dir_all(elsewhere.join("runs")).unwrap();
        std::fs::rename(sandbox.path(replaced), sandbox.path("moved")).unwrap();
        symlink(&elsewhere, sandbox.path(replaced)).unwrap();
        // Settings that only tighten: the next call would open another run.
        let settings = "mode = \"read-only\"\n";
        std::fs::write(sandbox.path("vault/.tollgate/config.toml"), settings).unwrap();
        let refused = read(&mut pipe);
        assert_eq!(refused["isError"], true, "{replaced}: {refused}");
        assert!(refused.to_string().contains(why), "{refused}");
        assert_eq!(std::fs::read_dir(elsewhere.join("runs")).unwrap().count(), 0);
        let listed = pipe.request("resources/list", json!({}));
        assert!(listed["resources"].as_array().is_none_or(Vec::is_empty), "{listed}");
        pipe.leave();
        assert_ne!(sandbox.tollgate(&["runs"]).code, 0);
    }
}

#[test]
fn the_first_run_of_a_vault_reads_its_own_artifacts_by_name() {
    let sandbox = TestVault::new();
    sandbox.trusted_config("mode = \"trusted\"\n");
    let mut pipe = McpPipe::open(&sandbox, ProtocolEra::New, &[]);
    let made = pipe.call("ExecCommand", &json!({ "cmd": "seq 1 9000" }), &no()).1;
    assert_eq!(made["isError"], false, "{made}");
    let listed = pipe.request("resources/list", json!({}));
    let uri = listed["resources"][0]["uri"].as_str().unwrap();
    let path = &uri[uri.find("artifacts/").unwrap()..];
    let args = json!({ "path": path, "run": "last", "tail": { "lines": 1 } });
    let read = pipe.call("artifact_read", &args, &no()).1;
    assert!(read["isError"] == false && text(&read).contains("9000"), "{read}");
    pipe.leave();
}

/// Two vaults that keep their runs in one folder. The second one knows the id of a run of the first.
#[test]
fn a_client_reads_no_run_of_another_vault() {
    let (own, other) = (TestVault::new(), TestVault::new());
    let shared = own.path("shared");
    for sandbox in [&own, &other] {
        sandbox.trusted_config(&format!("mode = \"trusted\"\nstate = {shared:?}\n"));
    }
    let mut pipe = McpPipe::open(&other, ProtocolEra::New, &[]);
    let args = json!({ "cmd": "seq 1 9000" });
    assert_eq!(pipe.call("ExecCommand", &args, &no()).1["isError"], false);
    let listed = pipe.request("resources/list", json!({}));
    let resources = listed["resources"].as_array().unwrap().clone();
    assert!(resources.len() >= 2, "{listed}");
    pipe.leave();
    let run =
        other.tollgate(&["runs", "--json"]).expect_code(0).json()[0]["runId"].as_str().unwrap().to_owned();

    let mut pipe = McpPipe::open(&own, ProtocolEra::New, &[]);
    assert_eq!(read(&mut pipe)["isError"], false);
    let listed = pipe.request("resources/list", json!({})).to_string();
    assert!(!listed.contains(&run), "{listed}");
    for resource in &resources {
        let answer = pipe.request("resources/read", json!({ "uri": resource["uri"] }));
        assert!(answer["contents"].is_null(), "{answer}");
    }
    let args = json!({ "run": run, "path": "artifacts/x" });
    let answer = pipe.call("artifact_read", &args, &no()).1;
    assert!(answer.to_string().contains("belongs to another vault"), "{answer}");
    pipe.leave();
    for command in ["show", "verify", "replay", "undo", "resume"] {
        let refused = own.tollgate(&[command, &run]);
        assert!(refused.code != 0 && refused.err.contains("belongs to another vault"), "{}", refused.err);
    }
    let plan = own.plan_file("plan.json", &one_note("a.md"));
    own.tollgate(&["run", &plan]).expect_code(0);
    own.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!(own.tollgate(&["runs", "--json"]).expect_code(0).json().as_array().unwrap().len(), 3);
}
