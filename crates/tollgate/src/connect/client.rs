//! The known clients, and how their settings differ.

use std::fmt;
use std::str::FromStr;

use envelope::nearest;

/// A program that speaks MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientKind {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    VsCode,
    /// GitHub Copilot in VS Code and as a program. VS Code calls its format the portable one.
    Copilot,
    Gemini,
    Zed,
    /// The Obsidian plugin Agent Client. It has no servers of its own: the agent that it starts brings them.
    Obsidian,
}

/// The scope of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigScope {
    /// All projects of this user.
    User,
    /// One folder, for everyone who has it.
    Project,
}

/// The format of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigFormat {
    /// JSON, with comments and trailing commas where the client accepts them.
    Json,
    Toml,
}

impl ClientKind {
    pub(crate) const ALL: [ClientKind; 9] = [
        ClientKind::ClaudeCode,
        ClientKind::ClaudeDesktop,
        ClientKind::Codex,
        ClientKind::Cursor,
        ClientKind::VsCode,
        ClientKind::Copilot,
        ClientKind::Gemini,
        ClientKind::Zed,
        ClientKind::Obsidian,
    ];

    /// The name as an argument.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ClientKind::ClaudeCode => "claude-code",
            ClientKind::ClaudeDesktop => "claude-desktop",
            ClientKind::Codex => "codex",
            ClientKind::Cursor => "cursor",
            ClientKind::VsCode => "vscode",
            ClientKind::Copilot => "copilot",
            ClientKind::Gemini => "gemini",
            ClientKind::Zed => "zed",
            ClientKind::Obsidian => "obsidian",
        }
    }

    /// The product name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            ClientKind::ClaudeCode => "Claude Code",
            ClientKind::ClaudeDesktop => "Claude Desktop",
            ClientKind::Codex => "Codex",
            ClientKind::Cursor => "Cursor",
            ClientKind::VsCode => "VS Code",
            ClientKind::Copilot => "GitHub Copilot",
            ClientKind::Gemini => "Gemini CLI",
            ClientKind::Zed => "Zed",
            ClientKind::Obsidian => "Agent Client (Obsidian)",
        }
    }

    pub(crate) fn format(self) -> ConfigFormat {
        match self {
            ClientKind::Codex => ConfigFormat::Toml,
            ClientKind::ClaudeCode
            | ClientKind::ClaudeDesktop
            | ClientKind::Cursor
            | ClientKind::VsCode
            | ClientKind::Copilot
            | ClientKind::Gemini
            | ClientKind::Zed
            | ClientKind::Obsidian => ConfigFormat::Json,
        }
    }

    /// The key under which the servers are listed.
    pub(crate) fn key(self) -> &'static str {
        match self {
            ClientKind::Codex => "mcp_servers",
            ClientKind::VsCode => "servers",
            ClientKind::Zed => "context_servers",
            ClientKind::ClaudeCode
            | ClientKind::ClaudeDesktop
            | ClientKind::Cursor
            | ClientKind::Copilot
            | ClientKind::Gemini
            | ClientKind::Obsidian => "mcpServers",
        }
    }

    /// The syntax to read a variable of the client's environment in a header, if the client has one.
    pub(crate) fn token_from(self, variable: &str) -> Option<String> {
        match self {
            ClientKind::ClaudeCode | ClientKind::Gemini => Some(format!("Bearer ${{{variable}}}")),
            ClientKind::Cursor | ClientKind::VsCode => Some(format!("Bearer ${{env:{variable}}}")),
            // Codex takes the name of the variable alone.
            ClientKind::Codex => Some(variable.to_owned()),
            ClientKind::ClaudeDesktop | ClientKind::Copilot | ClientKind::Zed | ClientKind::Obsidian => None,
        }
    }
}

impl FromStr for ClientKind {
    type Err = String;

    fn from_str(word: &str) -> Result<ClientKind, String> {
        if let Some(client) = ClientKind::ALL.into_iter().find(|client| client.name() == word) {
            return Ok(client);
        }
        let names = ClientKind::ALL.map(ClientKind::name);
        let meant = nearest(word, names).map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
        Err(format!("{meant}known are {}", names.join(", ")))
    }
}

impl fmt::Display for ClientKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
