//! The entry that names Tollgate among the servers of a client.

use serde_json::{Value, json};

use super::client::{Client, Scope};
use crate::quoting::quoted;

/// The variable that a client reads the server's token from.
pub(crate) const TOKEN_VARIABLE: &str = "TOLLGATE_TOKEN";

/// How long codex lets a call take: a person may have to answer first, and then a command to run.
const CODEX_TIMEOUT_SECONDS: u32 = 300;

/// What a client is told about us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// The name of the entry.
    pub(crate) name: String,
    pub(crate) door: Door,
}

/// How a client reaches us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Door {
    /// It starts this program.
    Stdio { program: String, vault: String },
    /// It calls a server that runs.
    Http { url: String },
}

impl Server {
    /// The entry as the client wants it; `None` where it cannot read a token from its environment.
    pub(crate) fn entry(&self, client: Client) -> Option<Value> {
        match &self.door {
            Door::Stdio { program, vault } => Some(stdio(client, program, vault)),
            Door::Http { url } => http(client, url),
        }
    }

    /// The command of the client itself that does the same, where it has one.
    pub(crate) fn command(&self, client: Client, scope: Scope) -> Option<String> {
        let name = &self.name;
        match (client, &self.door) {
            (Client::ClaudeCode, door) => {
                let scope = match scope {
                    Scope::User => "user",
                    Scope::Project => "project",
                };
                Some(match door {
                    Door::Stdio { program, vault } => {
                        format!("claude mcp add --scope {scope} {name} -- {}", words(program, vault))
                    }
                    Door::Http { url } => format!(
                        "claude mcp add --scope {scope} --transport http {name} {url} \
                         --header 'Authorization: Bearer ${{{TOKEN_VARIABLE}}}'"
                    ),
                })
            }
            (Client::Codex, door) if scope == Scope::User => Some(match door {
                Door::Stdio { program, vault } => {
                    format!("codex mcp add {name} -- {}", words(program, vault))
                }
                Door::Http { url } => {
                    format!("codex mcp add {name} --url {url} --bearer-token-env-var {TOKEN_VARIABLE}")
                }
            }),
            (
                Client::Codex
                | Client::ClaudeDesktop
                | Client::Cursor
                | Client::VsCode
                | Client::Zed
                | Client::Obsidian,
                _,
            ) => None,
        }
    }
}

fn stdio(client: Client, program: &str, vault: &str) -> Value {
    let args = json!(["mcp", "--vault", vault]);
    match client {
        Client::ClaudeCode | Client::VsCode => json!({ "type": "stdio", "command": program, "args": args }),
        Client::Codex => {
            json!({ "command": program, "args": args, "tool_timeout_sec": CODEX_TIMEOUT_SECONDS })
        }
        Client::ClaudeDesktop | Client::Cursor | Client::Zed | Client::Obsidian => {
            json!({ "command": program, "args": args })
        }
    }
}

fn http(client: Client, url: &str) -> Option<Value> {
    let token = client.token_from(TOKEN_VARIABLE)?;
    Some(match client {
        Client::Codex => {
            json!({ "url": url, "bearer_token_env_var": token, "tool_timeout_sec": CODEX_TIMEOUT_SECONDS })
        }
        Client::ClaudeCode | Client::VsCode => {
            json!({ "type": "http", "url": url, "headers": { "Authorization": token } })
        }
        Client::Cursor | Client::ClaudeDesktop | Client::Zed | Client::Obsidian => {
            json!({ "url": url, "headers": { "Authorization": token } })
        }
    })
}

fn words(program: &str, vault: &str) -> String {
    format!("{} mcp --vault {}", quoted(program.as_ref()), quoted(vault.as_ref()))
}
