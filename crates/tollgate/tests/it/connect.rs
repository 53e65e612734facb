//! Prints and writes the settings of clients, and checks them with the doctor.

use std::fs;

use crate::support::TestVault;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

/// The output for a client, without the paths of this program and this folder.
#[track_caller]
fn told(sandbox: &TestVault, args: &[&str], expect: Expect) {
    let ended = sandbox.tollgate(args).expect_code(0);
    expect.assert_eq(&nameless(sandbox, &ended.out));
}

fn nameless(sandbox: &TestVault, text: &str) -> String {
    let binary = crate::support::build::binary().canonicalize().unwrap();
    sandbox.scrub(&text.replace(binary.to_str().unwrap(), "TOLLGATE"))
}

#[test]
fn a_client_is_told_by_its_file_and_by_its_own_command() {
    told(
        &TestVault::new(),
        &["connect", "claude-code"],
        expect![[r#"
            Claude Code reads this from DIR/home/.claude.json:

            {
              "mcpServers": {
                "tollgate": {
                  "type": "stdio",
                  "command": "TOLLGATE",
                  "args": ["mcp", "--vault", "DIR/vault"],
                  "env": {
                    "XDG_STATE_HOME": "DIR/state-home"
                  }
                }
              }
            }

            The same by its own command:

              claude mcp add --scope user tollgate --env XDG_STATE_HOME=DIR/state-home -- TOLLGATE mcp --vault DIR/vault

            Claude Code writes that file itself while it runs: close it first, or use its own command.

            Claude Code shows three lines of a question and no more. To read the whole of it before you say yes, queue
            it for `tollgate approve`, in .tollgate/config.toml of the vault:

              [approval]
              writes = "person"
              commands = "person"

            Add --write to have it written there; what changes is shown first.
        "#]],
    );
}

#[test]
fn what_the_client_does_with_the_file_of_a_project_is_said() {
    told(
        &TestVault::new(),
        &["connect", "claude-code", "--project", "--http"],
        expect![[r#"
            Claude Code reads this from DIR/vault/.mcp.json:

            {
              "mcpServers": {
                "tollgate": {
                  "type": "http",
                  "url": "http://127.0.0.1:8787/mcp",
                  "headers": {
                    "Authorization": "Bearer ${TOLLGATE_TOKEN}"
                  }
                }
              }
            }

            The same by its own command:

              claude mcp add --scope project --transport http tollgate http://127.0.0.1:8787/mcp --header 'Authorization: Bearer ${TOLLGATE_TOKEN}'

            The token is not written there, since such files are synced and committed. Start the client where
            it can read it:

              export TOLLGATE_TOKEN="$(cat DIR/state-home/tollgate/token)"

            Claude Code asks at a terminal before it uses this file; `claude -p` does not ask.

            Claude Code shows three lines of a question and no more. To read the whole of it before you say yes, queue
            it for `tollgate approve`, in .tollgate/config.toml of the vault:

              [approval]
              writes = "person"
              commands = "person"

            Add --write to have it written there; what changes is shown first.
        "#]],
    );
}

#[test]
fn the_token_is_not_part_of_it() {
    told(
        &TestVault::new(),
        &["connect", "cursor", "--http", "--project"],
        expect![[r#"
            Cursor reads this from DIR/vault/.cursor/mcp.json:

            {
              "mcpServers": {
                "tollgate": {
                  "url": "http://127.0.0.1:8787/mcp",
                  "headers": {
                    "Authorization": "Bearer ${env:TOLLGATE_TOKEN}"
                  }
                }
              }
            }

            The token is not written there, since such files are synced and committed. Start the client where
            it can read it:

              export TOLLGATE_TOKEN="$(cat DIR/state-home/tollgate/token)"

            Add --write to have it written there; what changes is shown first.
        "#]],
    );
    let refused = TestVault::new().tollgate(&["connect", "zed", "--http"]).expect_code(2);
    assert!(refused.err.contains("no way is known to give Zed the token"), "{}", refused.err);
}

#[test]
fn obsidian_brings_the_servers_of_its_agent() {
    let sandbox = TestVault::new();
    let said = sandbox.tollgate(&["connect", "obsidian"]).expect_code(0).out;
    assert!(said.starts_with("Agent Client has no MCP servers of its own"), "{said}");
    assert!(said.contains("claude mcp add") && said.contains("[mcp_servers.tollgate]"), "{said}");
    let refused = sandbox.tollgate(&["connect", "obsidian", "--write"]).expect_code(2);
    assert!(refused.err.contains("tollgate connect claude-code --write"), "{}", refused.err);
}

#[test]
fn programs_get_one_object() {
    let sandbox = TestVault::new();
    let answer = sandbox.tollgate(&["connect", "codex", "--json", "--name", "notes"]).expect_code(0);
    let answer: Value = serde_json::from_str(&nameless(&sandbox, &answer.out)).unwrap();
    let snippet = "[mcp_servers.notes]\ncommand = \"TOLLGATE\"\nargs = [\"mcp\", \"--vault\", \"DIR/vault\"]\ntool_timeout_sec = 300\nenv = { XDG_STATE_HOME = \"DIR/state-home\" }\n";
    let command = "codex mcp add notes --env XDG_STATE_HOME=DIR/state-home -- TOLLGATE mcp --vault DIR/vault";
    assert_eq!(
        answer,
        json!({ "client": "codex", "file": "DIR/home/.codex/config.toml", "format": "toml", "snippet": snippet,
                "command": command })
    );
}

#[test]
fn what_is_wrong_is_bad_input() {
    let sandbox = TestVault::new();
    let wrong = |args: &[&str]| sandbox.tollgate(args).expect_code(2).err;
    let unknown = wrong(&["connect", "claude"]);
    assert!(unknown.contains("known are claude-code, claude-desktop, codex"), "{unknown}");
    assert!(wrong(&["connect", "zed", "--project"]).contains("Zed has no settings for one project"));
    assert!(wrong(&["connect", "codex", "--name", "a b"]).contains("cannot be the name of an entry"));
    assert!(wrong(&["connect", "codex", "--http=ftp://x"]).contains("is not the address of a server"));
    wrong(&["connect", "codex", "--yes"]);
}

#[test]
fn writing_shows_what_changes_asks_and_happens_once() {
    let sandbox = TestVault::new();
    let file = sandbox.write("home/.config/zed/settings.json", "// mine\n{\n  \"vim\": true, // yes\n}\n");
    let refused = sandbox.tollgate(&["connect", "zed", "--write"]).expect_code(3);
    assert!(
        refused.err.contains("context_servers") && refused.err.contains("nothing was written"),
        "{}",
        refused.err
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "// mine\n{\n  \"vim\": true, // yes\n}\n");
    let mut terminal = sandbox.terminal(&["connect", "zed", "--write"]);
    terminal.wait_for("Write this? [y/N]");
    terminal.type_in("y\r");
    let (screen, code) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    let text = fs::read_to_string(&file).unwrap();
    expect![[r#"
        // mine
        {
          "vim": true, // yes
          "context_servers": {
            "tollgate": {
              "command": "TOLLGATE",
              "args": ["mcp", "--vault", "DIR/vault"],
              "env": {
                "XDG_STATE_HOME": "DIR/state-home"
              }
            }
          },
        }
    "#]]
    .assert_eq(&nameless(&sandbox, &text));
    let again = sandbox.tollgate(&["connect", "zed", "--write"]).expect_code(0).out;
    assert!(again.contains("has this entry already. Nothing was changed."), "{again}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_file_that_is_not_understood_is_left_alone() {
    let sandbox = TestVault::new();
    let file = sandbox.write("home/.cursor/mcp.json", "{ oops }");
    let ended = sandbox.tollgate(&["connect", "cursor", "--write", "--yes"]).expect_code(2);
    assert!(
        ended.err.contains("was not changed: line 1") && ended.err.contains("mcpServers"),
        "{}",
        ended.err
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ oops }");
}

#[test]
fn another_entry_of_the_same_name_is_shown_before_it_goes() {
    let sandbox = TestVault::new();
    sandbox.write(
        "home/.codex/config.toml",
        "model = \"m\"\n\n[mcp_servers.tollgate]\ncommand = \"/old/one\"\n",
    );
    let ended = sandbox.tollgate(&["connect", "codex", "--write", "--yes"]).expect_code(0);
    assert!(
        ended.err.contains("An entry `tollgate` is there already") && ended.err.contains("old/one"),
        "{}",
        ended.err
    );
    let text = fs::read_to_string(sandbox.path("home/.codex/config.toml")).unwrap();
    assert!(
        text.starts_with("model = \"m\"\n\n[mcp_servers.tollgate]\nargs = [\"mcp\", ")
            && !text.contains("/old"),
        "{text}"
    );
}

#[test]
fn variables_that_somebody_else_put_into_the_entry_are_named_before_anything_is_written() {
    let sandbox = TestVault::new();
    let theirs = json!({ "mcpServers": { "tollgate": {
        "command": "/old/one", "env": { "LD_PRELOAD": "./evil.so", "API_KEY": "sk-secret", "NAME\u{202e}": "" },
    } } });
    let file = sandbox.write("vault/.mcp.json", &serde_json::to_string_pretty(&theirs).unwrap());
    let warning = "Warning: the entry `tollgate` in DIR/vault/.mcp.json sets variables that `connect` did not write: LD_PRELOAD, API_KEY, NAME\\u{202e}\nThey stay, and reach the program that the client starts. Remove those that are not yours.\n";
    let write = ["connect", "claude-code", "--project", "--write"];
    let declined = sandbox.tollgate(&write).expect_code(3);
    let said = sandbox.scrub(&declined.err);
    assert!(said.starts_with(warning) && !said.contains("sk-secret"), "{said}");
    assert!(fs::read_to_string(&file).unwrap().contains("/old/one"));
    sandbox.tollgate(&[&write[..], &["--yes"]].concat()).expect_code(0);
    // Existing entries are printed too.
    let already = sandbox.tollgate(&write).expect_code(0);
    assert_eq!(sandbox.scrub(&already.err), warning);
    let over_http = sandbox.tollgate(&[&write[..], &["--http", "--yes"]].concat()).expect_code(0);
    assert!(!over_http.err.contains("Warning"), "{}", over_http.err);
}

/// The lines of the doctor about clients.
fn clients(sandbox: &TestVault, args: &[&str], code: i32) -> String {
    let said = sandbox.tollgate(args).expect_code(code).out;
    let mut lines =
        said.lines().skip_while(|line| !line.contains(" clients   ")).collect::<Vec<_>>().join("\n");
    lines.push('\n');
    nameless(sandbox, &lines)
}

#[test]
fn the_doctor_says_which_clients_use_this_vault() {
    let sandbox = TestVault::new();
    sandbox.tollgate(&["connect", "claude-code", "--write", "--yes"]).expect_code(0);
    sandbox
        .tollgate(&["connect", "codex", "--project", "--write", "--yes", "--name", "notes"])
        .expect_code(0);
    let entry = |command: &str, vault: &str| json!({ "command": command, "args": ["mcp", "--vault", vault] });
    let vault = sandbox.vault();
    let servers = json!({ "mcpServers": {
        "gone": entry("/nowhere/tollgate", vault.to_str().unwrap()),
        "lost": entry("/nowhere/tollgate", "/nowhere/vault"),
        "elsewhere": entry("/nowhere/tollgate", "/tmp"),
        "other": { "command": "npx", "args": ["mcp"] },
    } });
    sandbox.write("home/.cursor/mcp.json", &servers.to_string());
    sandbox.write("vault/.vscode/mcp.json", "{ not json");
    expect![[r#"
        ok   clients   Claude Code (DIR/home/.claude.json): `tollgate` starts this program for this vault
        ok   clients   Codex (DIR/vault/.codex/config.toml): `notes` starts this program for this vault
        fail clients   Cursor (DIR/home/.cursor/mcp.json): `gone` starts a program that is not there: /nowhere/tollgate
                       fix: tollgate connect cursor --name gone --vault DIR/vault --write
        warn clients   Cursor (DIR/home/.cursor/mcp.json): `lost` names a vault that is not there: /nowhere/vault
                       fix: tollgate connect cursor --name lost --vault DIR/vault --write
        warn clients   VS Code: DIR/vault/.vscode/mcp.json cannot be read: line 1: Expected string for object property
    "#]]
    .assert_eq(&clients(&sandbox, &["doctor"], 1));
}

#[test]
fn the_doctor_starts_no_program_but_this_one() {
    let sandbox = TestVault::new();
    let trace = sandbox.path("trace");
    let script = format!("echo \"$0 $HOME\" >> '{}'", trace.display());
    let other = sandbox.script("bin/tollgate", &script);
    sandbox.script("vault/bin/tollgate", &script);
    let binary = crate::support::build::binary().canonicalize().unwrap();
    let args = json!(["mcp", "--vault", sandbox.vault()]);
    let wrong = json!(["mcp", "--vault", sandbox.vault(), "--what"]);
    let mine = json!({ "mcpServers": {
        "other": { "command": other, "args": args },
        "wrong": { "command": binary, "args": wrong },
    } });
    sandbox.write("home/.cursor/mcp.json", &mine.to_string());
    // As a vault that was cloned brings them.
    let brought = json!({ "mcpServers": {
        "evil": { "command": "./bin/tollgate", "args": args },
        "loaded": { "command": binary, "args": args, "env": { "LD_PRELOAD": "./evil.so" } },
        "trusting": { "command": binary, "args": args, "env": { "XDG_STATE_HOME": "/clone/state" } },
    } });
    sandbox.write("vault/.mcp.json", &brought.to_string());
    expect![[r#"
        warn clients   Claude Code (DIR/vault/.mcp.json): `evil` starts another program than this: ./bin/tollgate
                       fix: tollgate connect claude-code --project --name evil --vault DIR/vault --write
        warn clients   Claude Code (DIR/vault/.mcp.json): `evil` was not started: it names another program than this
                       fix: if you trust it, start it yourself: ./bin/tollgate mcp --vault DIR/vault
        ok   clients   Claude Code (DIR/vault/.mcp.json): `loaded` starts this program for this vault
        warn clients   Claude Code (DIR/vault/.mcp.json): `loaded` was not started: it sets other variables than XDG_STATE_HOME
                       fix: if you trust it, start it yourself: LD_PRELOAD=./evil.so TOLLGATE mcp --vault DIR/vault
        ok   clients   Claude Code (DIR/vault/.mcp.json): `trusting` starts this program for this vault
        warn clients   Claude Code (DIR/vault/.mcp.json): `trusting` was not started: it came with this folder, and is not as `connect` writes it
                       fix: if you trust it, start it yourself: XDG_STATE_HOME=/clone/state TOLLGATE mcp --vault DIR/vault
        warn clients   Cursor (DIR/home/.cursor/mcp.json): `other` starts another program than this: DIR/bin/tollgate
                       fix: tollgate connect cursor --name other --vault DIR/vault --write
        warn clients   Cursor (DIR/home/.cursor/mcp.json): `other` was not started: it names another program than this
                       fix: if you trust it, start it yourself: DIR/bin/tollgate mcp --vault DIR/vault
        ok   clients   Cursor (DIR/home/.cursor/mcp.json): `wrong` starts this program for this vault
        fail clients   Cursor (DIR/home/.cursor/mcp.json): `wrong` does not work: it ended (exit status: 2): For more information, try '--help'.
                       fix: see what it says: TOLLGATE mcp --vault DIR/vault --what
    "#]]
    .assert_eq(&clients(&sandbox, &["doctor", "--connections"], 1));
    assert!(!trace.exists(), "{:?}", fs::read_to_string(&trace));
}

#[test]
fn the_doctor_says_when_nobody_is_connected() {
    let sandbox = TestVault::new();
    expect![[r#"
        warn clients   no client is set up for this vault
                       fix: tollgate connect CLIENT --vault DIR/vault (claude-code, codex, cursor ...)
    "#]]
    .assert_eq(&clients(&sandbox, &["doctor", "--connections"], 0));
}

#[test]
fn what_is_written_for_a_client_works() {
    let sandbox = TestVault::new();
    for client in ["claude-code", "codex", "vscode"] {
        sandbox.tollgate(&["connect", client, "--write", "--yes"]).expect_code(0);
    }
    let said = clients(&sandbox, &["doctor", "--connections"], 0);
    let tried: Vec<&str> = said.lines().filter(|line| line.contains(" answers: ")).collect();
    assert_eq!(tried.len(), 3, "{said}");
    for line in tried {
        let protocols = " tools in N ms, protocol 2025-11-25, and 2026-07-28 without a greeting";
        assert!(line.starts_with("ok ") && line.ends_with(protocols), "{line}");
    }
}
