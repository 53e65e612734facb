//! What each client is told.

use std::path::Path;

use expect_test::{Expect, expect};

use crate::connect::client::{ClientKind, ConfigScope};
use crate::connect::client_config_paths::ConfigFolders;
use crate::connect::entry::{ClientTransport, ServerEntry};
use crate::connect::entry_edit::entry_snippet;

fn stdio() -> ServerEntry {
    let transport = ClientTransport::Stdio {
        program: "/usr/bin/tollgate".to_owned(),
        vault: "/home/me/My Notes".to_owned(),
        state: None,
    };
    ServerEntry { name: "tollgate".to_owned(), transport }
}

fn http() -> ServerEntry {
    let transport = ClientTransport::Http { url: "http://127.0.0.1:8787/mcp".to_owned() };
    ServerEntry { name: "tollgate".to_owned(), transport }
}

/// The same for a person who keeps state elsewhere.
fn kept_elsewhere() -> ServerEntry {
    let (program, vault) = ("/usr/bin/tollgate".to_owned(), "/notes".to_owned());
    let transport = ClientTransport::Stdio { program, vault, state: Some("/my state".to_owned()) };
    ServerEntry { name: "tollgate".to_owned(), transport }
}

/// Everything that is shown for one client.
#[track_caller]
fn says(client: ClientKind, server: &ServerEntry, expect: Expect) {
    let Some(entry) = server.entry(client) else { return expect.assert_eq("not like this\n") };
    let mut shown = entry_snippet(client, &server.name, &entry);
    for scope in [ConfigScope::User, ConfigScope::Project] {
        if let Some(command) = server.command(client, scope) {
            shown.push_str(&format!("{command}\n"));
        }
    }
    expect.assert_eq(&shown);
}

#[test]
fn claude_code_starts_us() {
    says(
        ClientKind::ClaudeCode,
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
        ClientKind::ClaudeCode,
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
    says(ClientKind::ClaudeDesktop, &stdio(), started);
    says(ClientKind::ClaudeDesktop, &http(), expect![["not like this\n"]]);
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
    says(ClientKind::Codex, &stdio(), started);
    let called = expect![[r#"
        [mcp_servers.tollgate]
        url = "http://127.0.0.1:8787/mcp"
        bearer_token_env_var = "TOLLGATE_TOKEN"
        tool_timeout_sec = 300
        codex mcp add tollgate --url http://127.0.0.1:8787/mcp --bearer-token-env-var TOLLGATE_TOKEN
    "#]];
    says(ClientKind::Codex, &http(), called);
}

#[test]
fn questions_are_asked_where_the_person_keeps_state() {
    says(
        ClientKind::Codex,
        &kept_elsewhere(),
        expect![[r#"
            [mcp_servers.tollgate]
            command = "/usr/bin/tollgate"
            args = ["mcp", "--vault", "/notes"]
            tool_timeout_sec = 300
            env = { XDG_STATE_HOME = "/my state" }
            codex mcp add tollgate --env XDG_STATE_HOME='/my state' -- /usr/bin/tollgate mcp --vault /notes
        "#]],
    );
    says(
        ClientKind::ClaudeCode,
        &kept_elsewhere(),
        expect![[r#"
            {
              "mcpServers": {
                "tollgate": {
                  "type": "stdio",
                  "command": "/usr/bin/tollgate",
                  "args": ["mcp", "--vault", "/notes"],
                  "env": {
                    "XDG_STATE_HOME": "/my state"
                  }
                }
              }
            }
            claude mcp add --scope user tollgate --env XDG_STATE_HOME='/my state' -- /usr/bin/tollgate mcp --vault /notes
            claude mcp add --scope project tollgate --env XDG_STATE_HOME='/my state' -- /usr/bin/tollgate mcp --vault /notes
        "#]],
    );
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
    says(ClientKind::Cursor, &stdio(), started);
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
    says(ClientKind::Cursor, &http(), called);
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
    says(ClientKind::VsCode, &stdio(), started);
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
    says(ClientKind::VsCode, &http(), called);
}

#[test]
fn copilot_starts_us_and_cannot_call_us() {
    let started = expect![[r#"
        {
          "mcpServers": {
            "tollgate": {
              "type": "stdio",
              "command": "/usr/bin/tollgate",
              "args": ["mcp", "--vault", "/home/me/My Notes"]
            }
          }
        }
    "#]];
    says(ClientKind::Copilot, &stdio(), started);
    says(ClientKind::Copilot, &http(), expect![["not like this\n"]]);
}

#[test]
fn gemini_starts_us_and_calls_us() {
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
    says(ClientKind::Gemini, &stdio(), started);
    let called = expect![[r#"
        {
          "mcpServers": {
            "tollgate": {
              "httpUrl": "http://127.0.0.1:8787/mcp",
              "headers": {
                "Authorization": "Bearer ${TOLLGATE_TOKEN}"
              }
            }
          }
        }
    "#]];
    says(ClientKind::Gemini, &http(), called);
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
    says(ClientKind::Zed, &stdio(), started);
    says(ClientKind::Zed, &http(), expect![["not like this\n"]]);
}

#[test]
fn every_client_has_its_files() {
    let homes = |mac| ConfigFolders {
        home: "/me".into(),
        config: None,
        claude: None,
        codex: None,
        copilot: None,
        mac,
    };
    let listed = |homes: &ConfigFolders| -> String {
        let mut lines = String::new();
        for client in ClientKind::ALL {
            let file = |scope| homes.file(client, scope, Path::new("/work"));
            let (user, project) = (file(ConfigScope::User), file(ConfigScope::Project));
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
        copilot: Some("/me/.copilot/mcp-config.json"), Some("/work/.mcp.json")
        gemini: Some("/me/.gemini/settings.json"), Some("/work/.gemini/settings.json")
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
        copilot: Some("/me/.copilot/mcp-config.json"), Some("/work/.mcp.json")
        gemini: Some("/me/.gemini/settings.json"), Some("/work/.gemini/settings.json")
        zed: Some("/me/.config/zed/settings.json"), None
        obsidian: None, None
    "#]]
    .assert_eq(&listed(&homes(true)));
}

#[test]
fn a_client_that_is_not_known_is_told_the_nearest() {
    let wrong = |word: &str| word.parse::<ClientKind>().unwrap_err();
    let list = "known are claude-code, claude-desktop, codex, cursor, vscode, copilot, gemini, zed, obsidian";
    assert_eq!(wrong("claude-cod"), format!("did you mean `claude-code`? {list}"));
    assert_eq!(wrong("emacs"), list);
}
