//! The entry for Tollgate among the servers of a client.

use serde_json::{Value, json};

use super::client::{ClientKind, ConfigScope};
use app::shell_quoting::quote_for_shell;

/// The variable from which a client reads the server's token.
pub(crate) const TOKEN_VARIABLE: &str = "TOLLGATE_TOKEN";

/// The variable with the folder for state.
pub(crate) const STATE_VARIABLE: &str = "XDG_STATE_HOME";

/// Time limit of codex for a call: the user may have to approve it first, and then a command has to run.
const CODEX_TIMEOUT_SECONDS: u32 = 300;

/// The entry for Tollgate in a client's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    /// The name of the entry.
    pub(crate) name: String,
    pub(crate) transport: ClientTransport,
}

/// How the client reaches Tollgate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientTransport {
    /// The client starts this program.
    Stdio {
        program: String,
        vault: String,
        /// `XDG_STATE_HOME`, if it is set. Most clients pass on only a few variables, and the questions of the server
        /// must lie where `tollgate approve` looks for them.
        state: Option<String>,
    },
    /// The client calls a running server.
    Http { url: String },
}

impl ServerEntry {
    /// Returns the entry in the client's format; `None` if the client cannot read a token from its environment.
    pub(crate) fn entry(&self, client: ClientKind) -> Option<Value> {
        match &self.transport {
            ClientTransport::Stdio { program, vault, state } => {
                Some(stdio_entry(client, program, vault, state.as_deref()))
            }
            ClientTransport::Http { url } => http_entry(client, url),
        }
    }

    /// Returns the client's own command that adds the same entry, if it has one.
    pub(crate) fn command(&self, client: ClientKind, scope: ConfigScope) -> Option<String> {
        let name = &self.name;
        match (client, &self.transport) {
            (ClientKind::ClaudeCode, transport) => {
                let scope = match scope {
                    ConfigScope::User => "user",
                    ConfigScope::Project => "project",
                };
                Some(match transport {
                    ClientTransport::Stdio { program, vault, state } => format!(
                        "claude mcp add --scope {scope} {name}{} -- {}",
                        state_option(state.as_deref()),
                        command_words(program, vault)
                    ),
                    ClientTransport::Http { url } => format!(
                        "claude mcp add --scope {scope} --transport http {name} {url} \
                         --header 'Authorization: Bearer ${{{TOKEN_VARIABLE}}}'"
                    ),
                })
            }
            (ClientKind::Codex, transport) if scope == ConfigScope::User => Some(match transport {
                ClientTransport::Stdio { program, vault, state } => {
                    let variable = state_option(state.as_deref());
                    format!("codex mcp add {name}{variable} -- {}", command_words(program, vault))
                }
                ClientTransport::Http { url } => {
                    format!("codex mcp add {name} --url {url} --bearer-token-env-var {TOKEN_VARIABLE}")
                }
            }),
            (
                ClientKind::Codex
                | ClientKind::ClaudeDesktop
                | ClientKind::Cursor
                | ClientKind::VsCode
                | ClientKind::Copilot
                | ClientKind::Gemini
                | ClientKind::Zed
                | ClientKind::Obsidian,
                _,
            ) => None,
        }
    }
}

fn stdio_entry(client: ClientKind, program: &str, vault: &str, state: Option<&str>) -> Value {
    let args = json!(["mcp", "--vault", vault]);
    let mut entry = match client {
        ClientKind::ClaudeCode | ClientKind::VsCode | ClientKind::Copilot => {
            json!({ "type": "stdio", "command": program, "args": args })
        }
        ClientKind::Codex => {
            json!({ "command": program, "args": args, "tool_timeout_sec": CODEX_TIMEOUT_SECONDS })
        }
        ClientKind::ClaudeDesktop
        | ClientKind::Cursor
        | ClientKind::Gemini
        | ClientKind::Zed
        | ClientKind::Obsidian => {
            json!({ "command": program, "args": args })
        }
    };
    if let Some(state) = state {
        entry["env"] = json!({ STATE_VARIABLE: state });
    }
    entry
}

fn http_entry(client: ClientKind, url: &str) -> Option<Value> {
    let token = client.token_from(TOKEN_VARIABLE)?;
    Some(match client {
        ClientKind::Codex => {
            json!({ "url": url, "bearer_token_env_var": token, "tool_timeout_sec": CODEX_TIMEOUT_SECONDS })
        }
        ClientKind::ClaudeCode | ClientKind::VsCode | ClientKind::Copilot => {
            json!({ "type": "http", "url": url, "headers": { "Authorization": token } })
        }
        // Its `url` is the older transport.
        ClientKind::Gemini => json!({ "httpUrl": url, "headers": { "Authorization": token } }),
        ClientKind::Cursor | ClientKind::ClaudeDesktop | ClientKind::Zed | ClientKind::Obsidian => {
            json!({ "url": url, "headers": { "Authorization": token } })
        }
    })
}

fn command_words(program: &str, vault: &str) -> String {
    format!("{} mcp --vault {}", quote_for_shell(program.as_ref()), quote_for_shell(vault.as_ref()))
}

/// The option of a client's own command that sets the state folder.
fn state_option(state: Option<&str>) -> String {
    state
        .map(|state| format!(" --env {STATE_VARIABLE}={}", quote_for_shell(state.as_ref())))
        .unwrap_or_default()
}
