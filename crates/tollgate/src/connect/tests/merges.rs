//! An entry that is there already: what is ours is renewed, and what a person put there stays.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::connect::client::ClientKind;
use crate::connect::entry_edit::{EditOutcome, edit_entry};

/// An entry that starts us for a person who keeps state elsewhere.
fn started() -> Value {
    json!({ "command": "t", "args": ["mcp"], "tool_timeout_sec": 300, "env": { "XDG_STATE_HOME": "/s" } })
}

/// The text after this entry was put into it, or why it was not.
#[track_caller]
fn merges(client: ClientKind, text: &str, entry: &Value, expect: Expect) {
    let result = match edit_entry(client, text, "tollgate", entry) {
        Ok(EditOutcome::Changed { text: new, .. }) => {
            assert_eq!(edit_entry(client, &new, "tollgate", entry), Ok(EditOutcome::Unchanged), "{new}");
            new
        }
        Ok(EditOutcome::Unchanged) => "ALREADY\n".to_owned(),
        Err(why) => format!("error: {why}\n"),
    };
    expect.assert_eq(&result);
}

#[test]
fn what_a_person_put_into_our_table_stays() {
    let mine = r#"[mcp_servers.tollgate] # old
# how it is started
command = "/old" # this one
url = "http://x" # not any more
default_tools_approval_mode = "approve" # mine
tool_timeout_sec = 900

[mcp_servers.tollgate.env]
FOO = "1" # mine too

# about c
[mcp_servers.c]
command = "c"
"#;
    merges(
        ClientKind::Codex,
        mine,
        &started(),
        expect![[r#"
            [mcp_servers.tollgate] # old
            args = ["mcp"]
            # how it is started
            command = "t" # this one
            # not any more
            default_tools_approval_mode = "approve" # mine
            tool_timeout_sec = 900

            [mcp_servers.tollgate.env]
            XDG_STATE_HOME = "/s"
            FOO = "1" # mine too

            # about c
            [mcp_servers.c]
            command = "c"
        "#]],
    );
}

#[test]
fn tables_are_extended_in_the_way_they_are_written() {
    let head = "[mcp_servers.tollgate]\ncommand = \"t\"\nargs = [\"mcp\"]\ntool_timeout_sec = 1\n";
    let with_env = |env: &str, expect: Expect| {
        merges(ClientKind::Codex, &format!("{head}{env}\n"), &started(), expect);
    };
    with_env(
        r#"env = { FOO = "1" }"#,
        expect![[r#"
            [mcp_servers.tollgate]
            command = "t"
            args = ["mcp"]
            tool_timeout_sec = 1
            env = { XDG_STATE_HOME = "/s", FOO = "1" }
        "#]],
    );
    with_env(
        "env = {}",
        expect![[r#"
            [mcp_servers.tollgate]
            command = "t"
            args = ["mcp"]
            tool_timeout_sec = 1
            env = { XDG_STATE_HOME = "/s" }
        "#]],
    );
    with_env(
        r#"env.FOO = "1""#,
        expect![[r#"
            [mcp_servers.tollgate]
            env.XDG_STATE_HOME = "/s"
            command = "t"
            args = ["mcp"]
            tool_timeout_sec = 1
            env.FOO = "1"
        "#]],
    );
    with_env(r##"env = { XDG_STATE_HOME = "/s", A = "#" }"##, expect![["ALREADY\n"]]);
    with_env("env = 7", expect![["error: `env` is not an object\n"]]);
}

#[test]
fn what_was_ours_and_is_no_longer_wanted_goes() {
    let called = json!({ "url": "u", "bearer_token_env_var": "T", "tool_timeout_sec": 300 });
    let head = "[mcp_servers.tollgate]\ncommand = \"/old\"\nargs = [\n  \"mcp\",\n]\nenabled = true\n";
    for env in
        ["env = { XDG_STATE_HOME = \"/s\" }\n", "\n[mcp_servers.tollgate.env]\nXDG_STATE_HOME = \"/s\"\n"]
    {
        let edited = edit_entry(ClientKind::Codex, &format!("{head}{env}"), "tollgate", &called);
        let Ok(EditOutcome::Changed { text, .. }) = edited else { panic!("{edited:?}") };
        let ours = "url = \"u\"\nbearer_token_env_var = \"T\"\ntool_timeout_sec = 300\n";
        assert_eq!(text.trim_end(), format!("[mcp_servers.tollgate]\n{ours}enabled = true"));
    }
    merges(
        ClientKind::Codex,
        &format!("{head}env = {{ A = \"1\", XDG_STATE_HOME = \"/s\" }}\n"),
        &called,
        expect![[r#"
            [mcp_servers.tollgate]
            url = "u"
            bearer_token_env_var = "T"
            tool_timeout_sec = 300
            enabled = true
            env = { A = "1" }
        "#]],
    );
    merges(
        ClientKind::Cursor,
        r#"{
  "mcpServers": {
    "tollgate": {
      "url": "u", // there
      "type": "http",
      "headers": { "Authorization": "x", "X-Mine": "y" },
      "envFile": ".env"
    }
  }
}
"#,
        &json!({ "command": "t", "args": ["mcp"] }),
        expect![[r#"
            {
              "mcpServers": {
                "tollgate": {
                  // there
                  "headers": { "X-Mine": "y" },
                  "envFile": ".env",
                  "command": "t",
                  "args": ["mcp"]
                }
              }
            }
        "#]],
    );
}

#[test]
fn a_comment_inside_of_what_would_change_is_not_dropped() {
    merges(
        ClientKind::Codex,
        "[mcp_servers.tollgate]\ncommand = \"t\"\nargs = [\n  \"x\", # why\n]\n",
        &started(),
        expect![["error: there is a comment inside `mcp_servers.tollgate.args`, which would change\n"]],
    );
    merges(
        ClientKind::Cursor,
        r#"{"mcpServers": {"tollgate": {"args": ["x" /* why */]}}}"#,
        &started(),
        expect![["error: there is a comment inside the part that would change in `tollgate`\n"]],
    );
}

#[test]
fn toml_that_cannot_be_extended_safely_is_left_alone() {
    let entry = json!({ "command": "t" });
    assert_eq!(
        edit_entry(ClientKind::Codex, "mcp_servers = { b = { command = \"b\" } }\n", "tollgate", &entry),
        Err("`mcp_servers` is written in a way that cannot be extended safely".to_owned())
    );
    assert_eq!(
        edit_entry(ClientKind::Codex, "mcp_servers.tollgate.enabled = true\n", "tollgate", &entry),
        Err("`mcp_servers.tollgate.command` is written in a way that cannot be changed safely".to_owned())
    );
    assert!(edit_entry(ClientKind::Codex, "model = \n", "tollgate", &json!({})).is_err());
    // A head inside of a string is none.
    merges(
        ClientKind::Codex,
        "notes = \"\"\"\n[mcp_servers.tollgate]\n\"\"\"\n",
        &entry,
        expect![[r#"
            notes = """
            [mcp_servers.tollgate]
            """

            [mcp_servers.tollgate]
            command = "t"
        "#]],
    );
}
