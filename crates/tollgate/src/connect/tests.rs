//! What is put into the files of clients, and that nothing else in them changes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use expect_test::{Expect, expect};
use proptest::prelude::{Just, Strategy, prop, prop_oneof, proptest};
use serde_json::json;

use super::client::{Client, Scope};
use super::edit::{Edited, edit, entries, snippet};
use super::entry::{Door, Server};
use super::file::Written;
use super::places::Homes;

fn stdio() -> Server {
    let door = Door::Stdio { program: "/usr/bin/tollgate".to_owned(), vault: "/home/me/My Notes".to_owned() };
    Server { name: "tollgate".to_owned(), door }
}

fn http() -> Server {
    let door = Door::Http { url: "http://127.0.0.1:8787/mcp".to_owned() };
    Server { name: "tollgate".to_owned(), door }
}

/// Everything that is said for one client.
#[track_caller]
fn says(client: Client, server: &Server, expect: Expect) {
    let Some(entry) = server.entry(client) else { return expect.assert_eq("not like this\n") };
    let mut said = snippet(client, &server.name, &entry);
    for scope in [Scope::User, Scope::Project] {
        if let Some(command) = server.command(client, scope) {
            said.push_str(&format!("{command}\n"));
        }
    }
    expect.assert_eq(&said);
}

#[test]
fn claude_code_starts_us() {
    says(
        Client::ClaudeCode,
        &stdio(),
        expect![[r#"
            {
              "mcpServers": {
                "tollgate": {
                  "type": "stdio",
                  "command": "/usr/bin/tollgate",
                  "args": ["mcp", "--vault", "/home/me/My Notes"]
                }
              }
            }
            claude mcp add --scope user tollgate -- /usr/bin/tollgate mcp --vault '/home/me/My Notes'
            claude mcp add --scope project tollgate -- /usr/bin/tollgate mcp --vault '/home/me/My Notes'
        "#]],
    );
}

#[test]
fn claude_code_calls_us() {
    says(
        Client::ClaudeCode,
        &http(),
        expect![[r#"
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
            claude mcp add --scope user --transport http tollgate http://127.0.0.1:8787/mcp --header 'Authorization: Bearer ${TOLLGATE_TOKEN}'
            claude mcp add --scope project --transport http tollgate http://127.0.0.1:8787/mcp --header 'Authorization: Bearer ${TOLLGATE_TOKEN}'
        "#]],
    );
}

#[test]
fn claude_desktop_starts_us_and_cannot_call_us() {
    let started = expect![[r#"
        {
          "mcpServers": {
            "tollgate": {
              "command": "/usr/bin/tollgate",
              "args": ["mcp", "--vault", "/home/me/My Notes"]
            }
          }
        }
    "#]];
    says(Client::ClaudeDesktop, &stdio(), started);
    says(Client::ClaudeDesktop, &http(), expect![["not like this\n"]]);
}

#[test]
fn codex_starts_us_and_calls_us() {
    let started = expect![[r#"
        [mcp_servers.tollgate]
        command = "/usr/bin/tollgate"
        args = ["mcp", "--vault", "/home/me/My Notes"]
        tool_timeout_sec = 300
        codex mcp add tollgate -- /usr/bin/tollgate mcp --vault '/home/me/My Notes'
    "#]];
    says(Client::Codex, &stdio(), started);
    let called = expect![[r#"
        [mcp_servers.tollgate]
        url = "http://127.0.0.1:8787/mcp"
        bearer_token_env_var = "TOLLGATE_TOKEN"
        tool_timeout_sec = 300
        codex mcp add tollgate --url http://127.0.0.1:8787/mcp --bearer-token-env-var TOLLGATE_TOKEN
    "#]];
    says(Client::Codex, &http(), called);
}

#[test]
fn cursor_starts_us_and_calls_us() {
    let started = expect![[r#"
        {
          "mcpServers": {
            "tollgate": {
              "command": "/usr/bin/tollgate",
              "args": ["mcp", "--vault", "/home/me/My Notes"]
            }
          }
        }
    "#]];
    says(Client::Cursor, &stdio(), started);
    let called = expect![[r#"
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
    "#]];
    says(Client::Cursor, &http(), called);
}

#[test]
fn vs_code_starts_us_and_calls_us() {
    let started = expect![[r#"
        {
          "servers": {
            "tollgate": {
              "type": "stdio",
              "command": "/usr/bin/tollgate",
              "args": ["mcp", "--vault", "/home/me/My Notes"]
            }
          }
        }
    "#]];
    says(Client::VsCode, &stdio(), started);
    let called = expect![[r#"
        {
          "servers": {
            "tollgate": {
              "type": "http",
              "url": "http://127.0.0.1:8787/mcp",
              "headers": {
                "Authorization": "Bearer ${env:TOLLGATE_TOKEN}"
              }
            }
          }
        }
    "#]];
    says(Client::VsCode, &http(), called);
}

#[test]
fn zed_starts_us_and_cannot_call_us() {
    let started = expect![[r#"
        {
          "context_servers": {
            "tollgate": {
              "command": "/usr/bin/tollgate",
              "args": ["mcp", "--vault", "/home/me/My Notes"]
            }
          }
        }
    "#]];
    says(Client::Zed, &stdio(), started);
    says(Client::Zed, &http(), expect![["not like this\n"]]);
}

#[test]
fn every_client_has_its_files() {
    let homes = |mac| Homes { home: "/me".into(), config: None, claude: None, codex: None, mac };
    let listed = |homes: &Homes| -> String {
        let mut lines = String::new();
        for client in Client::ALL {
            let file = |scope| homes.file(client, scope, Path::new("/work"));
            let (user, project) = (file(Scope::User), file(Scope::Project));
            lines.push_str(&format!("{client}: {user:?}, {project:?}\n"));
        }
        lines
    };
    expect![[r#"
        claude-code: Some("/me/.claude.json"), Some("/work/.mcp.json")
        claude-desktop: Some("/me/.config/Claude/claude_desktop_config.json"), None
        codex: Some("/me/.codex/config.toml"), Some("/work/.codex/config.toml")
        cursor: Some("/me/.cursor/mcp.json"), Some("/work/.cursor/mcp.json")
        vscode: Some("/me/.config/Code/User/mcp.json"), Some("/work/.vscode/mcp.json")
        zed: Some("/me/.config/zed/settings.json"), None
        obsidian: None, None
    "#]]
    .assert_eq(&listed(&homes(false)));
    expect![[r#"
        claude-code: Some("/me/.claude.json"), Some("/work/.mcp.json")
        claude-desktop: Some("/me/Library/Application Support/Claude/claude_desktop_config.json"), None
        codex: Some("/me/.codex/config.toml"), Some("/work/.codex/config.toml")
        cursor: Some("/me/.cursor/mcp.json"), Some("/work/.cursor/mcp.json")
        vscode: Some("/me/Library/Application Support/Code/User/mcp.json"), Some("/work/.vscode/mcp.json")
        zed: Some("/me/.config/zed/settings.json"), None
        obsidian: None, None
    "#]]
    .assert_eq(&listed(&homes(true)));
}

#[test]
fn a_client_that_is_not_known_is_told_the_nearest() {
    let wrong = |word: &str| word.parse::<Client>().unwrap_err();
    let list = "known are claude-code, claude-desktop, codex, cursor, vscode, zed, obsidian";
    assert_eq!(wrong("claude-cod"), format!("did you mean `claude-code`? {list}"));
    assert_eq!(wrong("emacs"), list);
}

/// The text after a small entry was put into it, or why it was not.
#[track_caller]
fn becomes(client: Client, text: &str, expect: Expect) {
    let entry = json!({ "command": "t" });
    let said = match edit(client, text, "tollgate", &entry) {
        Ok(Edited::New { text: new, replaces }) => {
            assert_eq!(edit(client, &new, "tollgate", &entry), Ok(Edited::Already), "{new}");
            format!("{}{new}", if replaces { "REPLACES\n" } else { "" })
        }
        Ok(Edited::Already) => "ALREADY\n".to_owned(),
        Err(why) => format!("error: {why}\n"),
    };
    expect.assert_eq(&said.replace('\r', "␍").replace('\u{feff}', "BOM"));
}

#[test]
fn a_file_that_is_not_there_or_empty_is_made() {
    for text in ["", "{}", "{\n}"] {
        let end = if text.starts_with('{') { "" } else { "\n" };
        let Ok(Edited::New { text: new, .. }) =
            edit(Client::Cursor, text, "tollgate", &json!({ "command": "t" }))
        else {
            panic!("{text}")
        };
        let whole = "{\n  \"mcpServers\": {\n    \"tollgate\": {\n      \"command\": \"t\"\n    }\n  }\n}";
        assert_eq!(new, format!("{whole}{end}"));
    }
    becomes(
        Client::Zed,
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
        Client::Zed,
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
        Client::VsCode,
        "{\n\t\"servers\": {\n\t\t\"a\": {} // about a, not about us\n\t}\n}\n",
        expect![[r#"
            {
            	"servers": {
            		"a": {}, // about a, not about us
            		"tollgate": {
            			"command": "t"
            		}
            	}
            }
        "#]],
    );
}

#[test]
fn the_servers_are_added_where_there_are_none() {
    becomes(
        Client::ClaudeCode,
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
        Client::Cursor,
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
        Client::ClaudeDesktop,
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
        Client::Codex,
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
        Client::Cursor,
        "{\n  \"mcpServers\": {\n    \"tollgate\": { \"command\": \"/old\", \"args\": [1] }, // mine\n    \"b\": {}\n  }\n}\n",
        expect![[r#"
            REPLACES
            {
              "mcpServers": {
                "tollgate": {
                  "command": "t"
                }, // mine
                "b": {}
              }
            }
        "#]],
    );
    becomes(Client::Cursor, "{\"mcpServers\": {\"tollgate\": {\"command\": \"t\"}}}", expect![["ALREADY\n"]]);
}

#[test]
fn json_that_is_not_understood_is_left_alone() {
    for (text, why) in [
        ("[]", "it is not an object"),
        ("{\"mcpServers\": []}", "`mcpServers` is not an object"),
        ("{\n\"a\": 1\n\"b\": 2}", "line 3: a `,` or `}` is missing"),
        ("{\"a\": 1, \"a\": 2}", "line 1: `a` stands there twice"),
        ("{'a': 1}", "line 1: a key in quotes or `}` is missing"),
        ("{\"a\": nope}", "line 1: this is no value"),
        ("{\"a\": 1} x", "line 1: nothing may follow"),
        ("{ /* ", "line 1: a comment has no end"),
        ("{\"a", "line 1: a string has no end"),
        ("{\"a\": 1", "line 1: a `,` or `}` is missing"),
        ("{,}", "line 1: a key in quotes or `}` is missing"),
    ] {
        let edited = edit(Client::Cursor, text, "tollgate", &json!({}));
        assert_eq!(edited, Err(why.to_owned()), "{text}");
    }
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(100), "]".repeat(100));
    assert_eq!(edit(Client::Cursor, &deep, "t", &json!({})), Err("line 1: too deeply nested".to_owned()));
}

#[test]
fn toml_keeps_its_comments_and_its_order() {
    becomes(
        Client::Codex,
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
fn a_table_of_the_same_name_is_replaced_and_nothing_around_it() {
    becomes(
        Client::Codex,
        "[mcp_servers.tollgate] # old\ncommand = \"o\"\n\n[mcp_servers.tollgate.env]\nA = \"1\"\n\n# about c\n[mcp_servers.c]\ncommand = \"c\"\n",
        expect![[r#"
            REPLACES
            [mcp_servers.tollgate]
            command = "t"

            # about c
            [mcp_servers.c]
            command = "c"
        "#]],
    );
}

#[test]
fn toml_that_cannot_be_extended_safely_is_left_alone() {
    let refused = "`mcp_servers` is written in a way that cannot be extended safely";
    for text in ["mcp_servers = { b = { command = \"b\" } }\n", "mcp_servers.tollgate.command = \"x\"\n"] {
        assert_eq!(
            edit(Client::Codex, text, "tollgate", &json!({ "command": "t" })),
            Err(refused.to_owned())
        );
    }
    assert!(edit(Client::Codex, "model = \n", "tollgate", &json!({})).is_err());
    // A head inside of a string is none.
    becomes(
        Client::Codex,
        "notes = \"\"\"\n[mcp_servers.tollgate]\n\"\"\"\n",
        expect![[r#"
            error: `mcp_servers` is written in a way that cannot be extended safely
        "#]],
    );
}

#[test]
fn servers_are_found_again() {
    let found = |client, text| entries(client, text).map(|found| found.keys().cloned().collect::<Vec<_>>());
    assert_eq!(
        found(Client::Zed, "{\"context_servers\": {\"a\": {}, /**/ \"b\": {},}}"),
        Ok(vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(found(Client::Codex, "[mcp_servers.a]\ncommand = \"x\"\n"), Ok(vec!["a".to_owned()]));
    assert_eq!(found(Client::Cursor, ""), Ok(vec![]));
}

#[test]
fn a_file_keeps_its_mode_and_its_link() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
    fs::File::create(&real).unwrap().set_permissions(Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    let file = Written::read(&link).unwrap();
    assert!(file.is_link && file.target == real.canonicalize().unwrap());
    file.replace("new", Scope::User).unwrap();
    let mode = fs::metadata(&real).unwrap().permissions().mode() & 0o777;
    assert_eq!((fs::read_to_string(&real).unwrap().as_str(), mode), ("new", 0o640));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    // What was shown is no longer what is there.
    let why = file.replace("newer", Scope::User).unwrap_err().to_string();
    assert_eq!(
        (why.as_str(), fs::read_to_string(&real).unwrap().as_str()),
        ("it has changed meanwhile", "new")
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
}

#[test]
fn a_new_file_is_for_its_owner_unless_it_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    for (name, scope, mode) in [("a/b/u.json", Scope::User, 0o600), ("p.json", Scope::Project, 0o644)] {
        let path = folder.path().join(name);
        Written::read(&path).unwrap().replace("{}", scope).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
    }
}

/// Space of all kinds between two words.
fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just(" "),
        Just("\n  "),
        Just("\r\n\t"),
        Just(" /* a, } \" */ "),
        Just(" // b { ,\n"),
        Just("\n")
    ]
}

/// A list of members with all the ways to end it.
fn object(members: impl Strategy<Value = Vec<String>>) -> impl Strategy<Value = String> {
    (members, space(), space(), prop::bool::ANY).prop_map(|(members, before, after, comma)| {
        let comma = if comma && !members.is_empty() { "," } else { "" };
        format!("{{{before}{}{comma}{after}}}", members.join(&format!("{after},{before}")))
    })
}

/// Any JSON with comments whose servers, if it has any, are called `s0`, `s1` ...
fn document() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        Just("1"),
        Just("-2.5e3"),
        Just("null"),
        Just("\"a\\\"}//,\""),
        Just("[1,[],{},]"),
        Just("\"ü\"")
    ];
    let named = |prefix: &'static str, value: prop::strategy::BoxedStrategy<String>| {
        prop::collection::vec((space(), value, space()), 0..4).prop_map(move |values| {
            let member = |(number, (before, value, after)): (usize, (&str, String, &str))| {
                format!("\"{prefix}{number}\"{before}:{before}{value}{after}")
            };
            values.into_iter().enumerate().map(member).collect::<Vec<_>>()
        })
    };
    let leaf = plain.prop_map(str::to_owned).boxed();
    let inner = object(named("k", leaf.clone())).boxed();
    let servers = object(named("s", inner.clone()));
    let others = named("o", prop_oneof![leaf, inner].boxed());
    let members =
        (others, prop::option::of(servers), prop::bool::ANY).prop_map(|(mut members, servers, first)| {
            if let Some(servers) = servers {
                let at = if first { 0 } else { members.len() };
                members.insert(at, format!("\"mcpServers\": {servers}"));
            }
            members
        });
    (space(), object(members), space(), prop::bool::ANY).prop_map(|(before, text, after, bom)| {
        format!("{}{before}{text}{after}", if bom { "\u{feff}" } else { "" })
    })
}

/// Whether the new bytes are the old ones with one stretch put in.
fn is_one_insertion(old: &[u8], new: &[u8]) -> bool {
    let same = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let ahead = same(old, new);
    let turned = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<_>>();
    ahead + same(&turned(old), &turned(new)) >= old.len()
}

proptest! {
    #[test]
    fn every_other_byte_stays_and_the_second_time_nothing_happens(text in document()) {
        let entry = json!({ "command": "/t", "args": ["mcp", "--vault", "/v \"x\""] });
        let edited = edit(Client::Cursor, &text, "tollgate", &entry);
        let Ok(Edited::New { text: new, replaces: false }) = edited else { panic!("{edited:?}\n{text}") };
        let (old, bytes) = (text.as_bytes(), new.as_bytes());
        let comma = old.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        let behind_comma = bytes.get(comma) == Some(&b',') && is_one_insertion(&old[comma..], &bytes[comma + 1..]);
        assert!(is_one_insertion(old, bytes) || behind_comma, "{text}\n---\n{new}");
        assert_eq!(edit(Client::Cursor, &new, "tollgate", &entry), Ok(Edited::Already));
    }

    #[test]
    fn nothing_makes_the_reader_crash(text in "[{}\\[\\]\",:/*a1\\\\ \n\u{feff}é]{0,40}") {
        let _read = edit(Client::Cursor, &text, "tollgate", &json!({}));
        let _read = edit(Client::Codex, &text, "tollgate", &json!({}));
    }
}
