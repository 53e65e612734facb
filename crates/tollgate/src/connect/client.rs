//! The clients we know, and what differs between them.

use std::fmt;
use std::str::FromStr;

use envelope::nearest;

/// A program that speaks MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    VsCode,
    Zed,
    /// Obsidian's plugin Agent Client. It has no servers of its own: the agent that it starts brings them.
    Obsidian,
}

/// For whom a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everywhere, for this person.
    User,
    /// One folder, for everyone who gets it.
    Project,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, with comments and trailing commas where the client takes them.
    Json,
    Toml,
}

impl Client {
    pub(crate) const ALL: [Client; 7] = [
        Client::ClaudeCode,
        Client::ClaudeDesktop,
        Client::Codex,
        Client::Cursor,
        Client::VsCode,
        Client::Zed,
        Client::Obsidian,
    ];

    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::ClaudeDesktop => "claude-desktop",
            Client::Codex => "codex",
            Client::Cursor => "cursor",
            Client::VsCode => "vscode",
            Client::Zed => "zed",
            Client::Obsidian => "obsidian",
        }
    }

    /// As its makers call it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Client::ClaudeCode => "Claude Code",
            Client::ClaudeDesktop => "Claude Desktop",
            Client::Codex => "Codex",
            Client::Cursor => "Cursor",
            Client::VsCode => "VS Code",
            Client::Zed => "Zed",
            Client::Obsidian => "Agent Client (Obsidian)",
        }
    }

    pub(crate) fn format(self) -> Format {
        match self {
            Client::Codex => Format::Toml,
            Client::ClaudeCode
            | Client::ClaudeDesktop
            | Client::Cursor
            | Client::VsCode
            | Client::Zed
            | Client::Obsidian => Format::Json,
        }
    }

    /// Under which key the servers are listed.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Client::Codex => "mcp_servers",
            Client::VsCode => "servers",
            Client::Zed => "context_servers",
            Client::ClaudeCode | Client::ClaudeDesktop | Client::Cursor | Client::Obsidian => "mcpServers",
        }
    }

    /// How it is told to read a variable of its environment where a header stands, if it can.
    pub(crate) fn token_from(self, variable: &str) -> Option<String> {
        match self {
            Client::ClaudeCode => Some(format!("Bearer ${{{variable}}}")),
            Client::Cursor | Client::VsCode => Some(format!("Bearer ${{env:{variable}}}")),
            // It is given the name of the variable alone.
            Client::Codex => Some(variable.to_owned()),
            Client::ClaudeDesktop | Client::Zed | Client::Obsidian => None,
        }
    }
}

impl FromStr for Client {
    type Err = String;

    fn from_str(word: &str) -> Result<Client, String> {
        if let Some(client) = Client::ALL.into_iter().find(|client| client.name() == word) {
            return Ok(client);
        }
        let names = Client::ALL.map(Client::name);
        let meant = nearest(word, names).map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
        Err(format!("{meant}known are {}", names.join(", ")))
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
