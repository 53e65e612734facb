//! One entry in files of all kinds.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::connect::client::ClientKind;
use crate::connect::entry_edit::{EditOutcome, edit_entry, read_entries};

/// The text after a small entry was put into it, or why it was not.
#[track_caller]
fn becomes(client: ClientKind, text: &str, expect: Expect) {
    let entry = json!({ "command": "t" });
    let result = match edit_entry(client, text, "tollgate", &entry) {
        Ok(EditOutcome::Changed { text: new, replaces }) => {
            assert_eq!(edit_entry(client, &new, "tollgate", &entry), Ok(EditOutcome::Unchanged), "{new}");
            format!("{}{new}", if replaces { "REPLACES\n" } else { "" })
        }
        Ok(EditOutcome::Unchanged) => "ALREADY\n".to_owned(),
        Err(why) => format!("error: {why}\n"),
    };
    expect.assert_eq(&result.replace('\r', "␍").replace('\t', "⇥").replace('\u{feff}', "BOM"));
}

#[test]
fn a_file_that_is_not_there_or_empty_is_made() {
    for text in ["", "{}", "{\n}"] {
        let end = if text.starts_with('{') { "" } else { "\n" };
        let Ok(EditOutcome::Changed { text: new, .. }) =
            edit_entry(ClientKind::Cursor, text, "tollgate", &json!({ "command": "t" }))
        else {
            panic!("{text}")
        };
        let whole = "{\n  \"mcpServers\": {\n    \"tollgate\": {\n      \"command\": \"t\"\n    }\n  }\n}";
        assert_eq!(new, format!("{whole}{end}"));
    }
    becomes(
        ClientKind::Zed,
        "// my settings\n",
        expect![[r#"
            // my settings
            {
              "context_servers": {
                "tollgate": {
                  "command": "t"
                }
              }
            }
        "#]],
    );
}

#[test]
fn comments_and_trailing_commas_stay() {
    becomes(
        ClientKind::Zed,
        "// Zed\n{\n    \"theme\": \"x\", // dark, of course\n    \"context_servers\": {\n        /* the old one */\n        \"a\": { \"command\": \"a\" }, // keep }\n    },\n    \"vim\": true,\n}\n",
        expect![[r#"
            // Zed
            {
                "theme": "x", // dark, of course
                "context_servers": {
                    /* the old one */
                    "a": { "command": "a" }, // keep }
                    "tollgate": {
                        "command": "t"
                    },
                },
                "vim": true,
            }
        "#]],
    );
}

#[test]
fn a_comment_stays_with_what_it_is_about() {
    becomes(
        ClientKind::VsCode,
        "{\n\t\"servers\": {\n\t\t\"a\": {} // about a, not about us\n\t}\n}\n",
        expect![[r#"
            {
            ⇥"servers": {
            ⇥⇥"a": {}, // about a, not about us
            ⇥⇥"tollgate": {
            ⇥⇥⇥"command": "t"
            ⇥⇥}
            ⇥}
            }
        "#]],
    );
}

#[test]
fn the_servers_are_added_where_there_are_none() {
    becomes(
        ClientKind::ClaudeCode,
        "{\n  \"numStartups\": 41,\n  \"projects\": {\"/x\": {\"mcpServers\": {}}}\n}",
        expect![[r#"
            {
              "numStartups": 41,
              "projects": {"/x": {"mcpServers": {}}},
              "mcpServers": {
                "tollgate": {
                  "command": "t"
                }
              }
            }"#]],
    );
}

#[test]
fn text_on_one_line_is_opened_where_it_has_to_be() {
    becomes(
        ClientKind::Cursor,
        "{\"mcpServers\":{\"a\":{}},\"b\":1}",
        expect![[r#"
            {"mcpServers":{"a":{},
              "tollgate": {
                "command": "t"
              }
            },"b":1}"#]],
    );
}

#[test]
fn line_ends_and_byte_order_marks_stay() {
    becomes(
        ClientKind::ClaudeDesktop,
        "\u{feff}{\r\n  \"mcpServers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
        expect![[r#"
            BOM{␍
              "mcpServers": {␍
                "a": {},␍
                "tollgate": {␍
                  "command": "t"␍
                }␍
              }␍
            }␍
        "#]],
    );
    becomes(
        ClientKind::Codex,
        "model = \"x\"\r\n",
        expect![[r#"
            model = "x"␍
            ␍
            [mcp_servers.tollgate]␍
            command = "t"␍
        "#]],
    );
}

#[test]
fn an_entry_of_the_same_name_is_replaced_and_said_to_be() {
    becomes(
        ClientKind::Cursor,
        "{\n  \"mcpServers\": {\n    \"tollgate\": { \"command\": \"/old\", \"args\": [1] }, // mine\n    \"b\": {}\n  }\n}\n",
        expect![[r#"
            REPLACES
            {
              "mcpServers": {
                "tollgate": { "command": "t" }, // mine
                "b": {}
              }
            }
        "#]],
    );
    becomes(
        ClientKind::Cursor,
        "{\"mcpServers\": {\"tollgate\": {\"command\": \"t\"}}}",
        expect![["ALREADY\n"]],
    );
}

#[test]
fn json_that_is_not_understood_is_left_alone() {
    for (text, why) in [
        ("[]", "it is not an object"),
        ("{\"mcpServers\": []}", "`mcpServers` is not an object"),
        ("{\n\"a\": 1\n\"b\": 2}", "line 2: Expected comma"),
        ("{\"a\": 1, \"a\": 2}", "line 1: duplicate key `a`"),
        ("{'a': 1}", "line 1: Single-quoted strings are not allowed"),
        ("{\"a\": nope}", "line 1: Unexpected token"),
        ("{\"a\": 1} x", "line 1: Text cannot contain more than one JSON value"),
        ("{ /* ", "line 1: Unterminated comment block"),
        ("{\"a", "line 1: Unterminated string literal"),
        ("{\"a\": 1", "line 1: Unterminated object"),
        ("{,}", "line 1: Unexpected token in object"),
    ] {
        let edited = edit_entry(ClientKind::Cursor, text, "tollgate", &json!({}));
        assert_eq!(edited, Err(why.to_owned()), "{text}");
    }
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(100), "]".repeat(100));
    assert_eq!(
        edit_entry(ClientKind::Cursor, &deep, "t", &json!({})),
        Err("line 1: too deeply nested".to_owned())
    );
}

#[test]
fn toml_keeps_its_comments_and_its_order() {
    becomes(
        ClientKind::Codex,
        "# mine\nmodel = \"x\" # best\n\n[mcp_servers.b]\ncommand = \"b\"\n# the end",
        expect![[r#"
            # mine
            model = "x" # best

            [mcp_servers.b]
            command = "b"
            # the end

            [mcp_servers.tollgate]
            command = "t"
        "#]],
    );
}

#[test]
fn servers_are_found_again() {
    let found =
        |client, text| read_entries(client, text).map(|found| found.keys().cloned().collect::<Vec<_>>());
    assert_eq!(
        found(ClientKind::Zed, "{\"context_servers\": {\"a\": {}, /**/ \"b\": {},}}"),
        Ok(vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(found(ClientKind::Codex, "[mcp_servers.a]\ncommand = \"x\"\n"), Ok(vec!["a".to_owned()]));
    assert_eq!(found(ClientKind::Cursor, ""), Ok(vec![]));
}
