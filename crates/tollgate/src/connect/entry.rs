//! The entry that names Tollgate among the servers of a client.

use serde_json::{Value, json};

use super::client::{Client, Scope};
use crate::quoting::quoted;

/// The variable that a client reads the server's token from.
pub(crate) const TOKEN_VARIABLE: &str = "TOLLGATE_TOKEN";

/// The variable that says where a person keeps state.
pub(crate) const STATE_VARIABLE: &str = "XDG_STATE_HOME";

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
    Stdio {
        program: String,
        vault: String,
        /// Where the person keeps state, if not in the usual place. Most clients hand on only a few variables, and
        /// the questions of the server must lie where the person looks for them.
        state: Option<String>,
    },
    /// It calls a server that runs.
    Http { url: String },
}

impl Server {
    /// The entry as the client wants it; `None` where it cannot read a token from its environment.
    pub(crate) fn entry(&self, client: Client) -> Option<Value> {
        match &self.door {
            Door::Stdio { program, vault, state } => Some(stdio(client, program, vault, state.as_deref())),
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
                    Door::Stdio { program, vault, state } => format!(
                        "claude mcp add --scope {scope} {name}{} -- {}",
                        variable(state.as_deref()),
                        words(program, vault)
                    ),
                    Door::Http { url } => format!(
                        "claude mcp add --scope {scope} --transport http {name} {url} \
                         --header 'Authorization: Bearer ${{{TOKEN_VARIABLE}}}'"
                    ),
                })
            }
            (Client::Codex, door) if scope == Scope::User => Some(match door {
                Door::Stdio { program, vault, state } => {
                    let variable = variable(state.as_deref());
                    format!("codex mcp add {name}{variable} -- {}", words(program, vault))
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

fn stdio(client: Client, program: &str, vault: &str, state: Option<&str>) -> Value {
    let args = json!(["mcp", "--vault", vault]);
    let mut entry = match client {
        Client::ClaudeCode | Client::VsCode => json!({ "type": "stdio", "command": program, "args": args }),
        Client::Codex => {
            json!({ "command": program, "args": args, "tool_timeout_sec": CODEX_TIMEOUT_SECONDS })
        }
        Client::ClaudeDesktop | Client::Cursor | Client::Zed | Client::Obsidian => {
            json!({ "command": program, "args": args })
        }
    };
    if let Some(state) = state {
        entry["env"] = json!({ STATE_VARIABLE: state });
    }
    entry
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

/// The option of a client's own command that hands on where state is kept.
fn variable(state: Option<&str>) -> String {
    state.map(|state| format!(" --env {STATE_VARIABLE}={}", quoted(state.as_ref()))).unwrap_or_default()
}
