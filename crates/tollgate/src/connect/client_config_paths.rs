//! The paths of the clients' settings files.

use std::path::{Path, PathBuf};

use super::client::{ClientKind, ConfigScope};

/// The folders that the paths are relative to. The caller reads them from the environment.
#[derive(Debug, Clone)]
pub(crate) struct ConfigFolders {
    pub(crate) home: PathBuf,
    /// `$XDG_CONFIG_HOME`, where it is set.
    pub(crate) config: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`
    pub(crate) claude: Option<PathBuf>,
    /// `$CODEX_HOME`
    pub(crate) codex: Option<PathBuf>,
    /// `$COPILOT_HOME`
    pub(crate) copilot: Option<PathBuf>,
    /// Whether applications keep their settings in the folders of macOS.
    pub(crate) mac: bool,
}

impl ConfigFolders {
    /// Reads the environment of this process; `None` without `HOME`.
    pub(crate) fn from_environment() -> Option<ConfigFolders> {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Some(ConfigFolders {
            home: absolute("HOME")?,
            config: absolute("XDG_CONFIG_HOME"),
            claude: absolute("CLAUDE_CONFIG_DIR"),
            codex: absolute("CODEX_HOME"),
            copilot: absolute("COPILOT_HOME"),
            mac: cfg!(target_os = "macos"),
        })
    }

    /// Returns the settings file of a client; `None` if it has none of that scope. `project` is the folder of the
    /// project.
    pub(crate) fn file(&self, client: ClientKind, scope: ConfigScope, project: &Path) -> Option<PathBuf> {
        match (client, scope) {
            (ClientKind::ClaudeCode, ConfigScope::User) => {
                Some(self.claude.as_ref().unwrap_or(&self.home).join(".claude.json"))
            }
            (ClientKind::ClaudeCode, ConfigScope::Project) => Some(project.join(".mcp.json")),
            (ClientKind::ClaudeDesktop, ConfigScope::User) => {
                Some(self.applications().join("Claude/claude_desktop_config.json"))
            }
            (ClientKind::Codex, ConfigScope::User) => {
                let home = self.codex.clone().unwrap_or_else(|| self.home.join(".codex"));
                Some(home.join("config.toml"))
            }
            (ClientKind::Codex, ConfigScope::Project) => Some(project.join(".codex/config.toml")),
            (ClientKind::Cursor, ConfigScope::User) => Some(self.home.join(".cursor/mcp.json")),
            (ClientKind::Cursor, ConfigScope::Project) => Some(project.join(".cursor/mcp.json")),
            (ClientKind::VsCode, ConfigScope::User) => Some(self.applications().join("Code/User/mcp.json")),
            (ClientKind::VsCode, ConfigScope::Project) => Some(project.join(".vscode/mcp.json")),
            (ClientKind::Copilot, ConfigScope::User) => {
                let home = self.copilot.clone().unwrap_or_else(|| self.home.join(".copilot"));
                Some(home.join("mcp-config.json"))
            }
            (ClientKind::Copilot, ConfigScope::Project) => Some(project.join(".mcp.json")),
            (ClientKind::Gemini, ConfigScope::User) => Some(self.home.join(".gemini/settings.json")),
            (ClientKind::Gemini, ConfigScope::Project) => Some(project.join(".gemini/settings.json")),
            // The same on macOS.
            (ClientKind::Zed, ConfigScope::User) => Some(self.configs().join("zed/settings.json")),
            (ClientKind::ClaudeDesktop | ClientKind::Zed, ConfigScope::Project)
            | (ClientKind::Obsidian, _) => None,
        }
    }

    fn configs(&self) -> PathBuf {
        self.config.clone().unwrap_or_else(|| self.home.join(".config"))
    }

    fn applications(&self) -> PathBuf {
        if self.mac { self.home.join("Library/Application Support") } else { self.configs() }
    }
}
