//! Where each client keeps its settings.

use std::path::{Path, PathBuf};

use super::client::{Client, Scope};

/// The folders that everything else is relative to. Read from the environment by whoever asks.
#[derive(Debug, Clone)]
pub(crate) struct Homes {
    pub(crate) home: PathBuf,
    /// `$XDG_CONFIG_HOME`, where it is set.
    pub(crate) config: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`
    pub(crate) claude: Option<PathBuf>,
    /// `$CODEX_HOME`
    pub(crate) codex: Option<PathBuf>,
    /// Whether applications keep their settings where macOS wants them.
    pub(crate) mac: bool,
}

impl Homes {
    /// As this process sees them; `None` without a home.
    pub(crate) fn of_person() -> Option<Homes> {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Some(Homes {
            home: absolute("HOME")?,
            config: absolute("XDG_CONFIG_HOME"),
            claude: absolute("CLAUDE_CONFIG_DIR"),
            codex: absolute("CODEX_HOME"),
            mac: cfg!(target_os = "macos"),
        })
    }

    /// The file of a client; `None` where it has none of that scope. `project` is the folder of the project.
    pub(crate) fn file(&self, client: Client, scope: Scope, project: &Path) -> Option<PathBuf> {
        match (client, scope) {
            (Client::ClaudeCode, Scope::User) => {
                Some(self.claude.as_ref().unwrap_or(&self.home).join(".claude.json"))
            }
            (Client::ClaudeCode, Scope::Project) => Some(project.join(".mcp.json")),
            (Client::ClaudeDesktop, Scope::User) => {
                Some(self.applications().join("Claude/claude_desktop_config.json"))
            }
            (Client::Codex, Scope::User) => {
                let home = self.codex.clone().unwrap_or_else(|| self.home.join(".codex"));
                Some(home.join("config.toml"))
            }
            (Client::Codex, Scope::Project) => Some(project.join(".codex/config.toml")),
            (Client::Cursor, Scope::User) => Some(self.home.join(".cursor/mcp.json")),
            (Client::Cursor, Scope::Project) => Some(project.join(".cursor/mcp.json")),
            (Client::VsCode, Scope::User) => Some(self.applications().join("Code/User/mcp.json")),
            (Client::VsCode, Scope::Project) => Some(project.join(".vscode/mcp.json")),
            // On macOS as well.
            (Client::Zed, Scope::User) => Some(self.configs().join("zed/settings.json")),
            (Client::ClaudeDesktop | Client::Zed, Scope::Project) | (Client::Obsidian, _) => None,
        }
    }

    fn configs(&self) -> PathBuf {
        self.config.clone().unwrap_or_else(|| self.home.join(".config"))
    }

    fn applications(&self) -> PathBuf {
        if self.mac { self.home.join("Library/Application Support") } else { self.configs() }
    }
}
