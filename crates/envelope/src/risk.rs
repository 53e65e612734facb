//! Risk levels of tools and plans.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the worst call of a tool, or of a plan, can do. Ordered: a later one includes the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Risk {
    /// Changes nothing, or only ends what a yes in the same run has started.
    ReadOnly,
    /// Changes notes or the state of the application.
    Writes,
    /// Runs commands, whose effects nobody can foresee.
    Commands,
}

impl Risk {
    pub const fn name(self) -> &'static str {
        match self {
            Risk::ReadOnly => "read-only",
            Risk::Writes => "writes",
            Risk::Commands => "commands",
        }
    }

    /// Whether a call of this risk must be durable in the journal before it starts.
    pub const fn has_effects(self) -> bool {
        match self {
            Risk::ReadOnly => false,
            Risk::Writes | Risk::Commands => true,
        }
    }
}

impl std::fmt::Display for Risk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
