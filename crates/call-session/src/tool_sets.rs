//! The sets of tools that a front end lists: a short list costs a model fewer tokens in every turn.

use std::fmt;
use std::str::FromStr;

use envelope::{ReceiptFamily, Requirement, ToolDecl};

/// A set of tools that can be chosen by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSet {
    /// Notes and folders of the vault.
    Notes,
    /// Commands and their tasks.
    Commands,
    /// Helpers that read no file.
    Text,
    /// The editor, the windows and the commands of the host application.
    Host,
    /// Tools of the servers in the settings.
    Servers,
    /// Check, preview and run of plans.
    Plans,
}

impl ToolSet {
    pub const ALL: [ToolSet; 6] =
        [ToolSet::Notes, ToolSet::Commands, ToolSet::Text, ToolSet::Host, ToolSet::Servers, ToolSet::Plans];

    pub const fn name(self) -> &'static str {
        match self {
            ToolSet::Notes => "notes",
            ToolSet::Commands => "commands",
            ToolSet::Text => "text",
            ToolSet::Host => "host",
            ToolSet::Servers => "servers",
            ToolSet::Plans => "plans",
        }
    }

    fn includes(self, decl: &ToolDecl) -> bool {
        // Every other set can leave output that is too long for a receipt.
        if decl.family == ReceiptFamily::Artifact {
            return self != ToolSet::Plans;
        }
        let of = if decl.availability.contains(&Requirement::Server) {
            ToolSet::Servers
        } else if decl.availability.contains(&Requirement::Host) {
            ToolSet::Host
        } else if matches!(decl.family, ReceiptFamily::Command | ReceiptFamily::Task) {
            ToolSet::Commands
        } else if decl.family == ReceiptFamily::Text {
            ToolSet::Text
        } else {
            ToolSet::Notes
        };
        self == of
    }
}

/// Names a set that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownToolSet(String);

impl fmt::Display for UnknownToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ToolSet::ALL.map(ToolSet::name).join(", ");
        write!(f, "there is no tool set `{}`; the sets are {names}", self.0.escape_debug())
    }
}

impl std::error::Error for UnknownToolSet {}

impl FromStr for ToolSet {
    type Err = UnknownToolSet;

    fn from_str(name: &str) -> Result<ToolSet, UnknownToolSet> {
        ToolSet::ALL.into_iter().find(|set| set.name() == name).ok_or_else(|| UnknownToolSet(name.to_owned()))
    }
}

/// The tools that a front end offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolChoice {
    /// The sets that the user chose; empty for the default.
    pub sets: Vec<ToolSet>,
    /// Whether a host application is attached.
    pub has_host: bool,
}

impl ToolChoice {
    /// Returns true if clients may call the tool. Without a choice of the user they may call every tool.
    pub fn allows(&self, decl: &ToolDecl) -> bool {
        self.sets.is_empty() || self.sets.iter().any(|set| set.includes(decl))
    }

    /// Returns true if the tool is listed. Without a choice of the user, helpers for texts are not, and tools of a host
    /// are if there is one.
    pub fn lists(&self, decl: &ToolDecl) -> bool {
        match self.sets.is_empty() {
            true => match ToolSet::ALL.into_iter().find(|set| set.includes(decl)) {
                Some(ToolSet::Host) => self.has_host,
                Some(ToolSet::Text) => false,
                Some(ToolSet::Notes | ToolSet::Commands | ToolSet::Servers | ToolSet::Plans) | None => true,
            },
            false => self.allows(decl),
        }
    }

    /// Returns true if the plan tools are offered.
    pub fn has_plans(&self) -> bool {
        self.sets.is_empty() || self.sets.contains(&ToolSet::Plans)
    }
}
