//! Whose yes counts. A client that asks on our behalf may show nobody the question; where that is not good enough,
//! the policy demands a person whom no client can speak for.

use envelope::Risk;
use serde::{Deserialize, Serialize};

/// The least that a yes has to come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Voice {
    /// The client says that its person agreed.
    #[default]
    Client,
    /// A person at a terminal, or through `tollgate approve`.
    Person,
}

/// Whose yes counts, by what a call can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Approvals {
    pub writes: Voice,
    pub commands: Voice,
}

impl Approvals {
    /// Whose yes a call of this risk needs.
    pub fn least(&self, risk: Risk) -> Voice {
        match risk {
            // Asked about only because a rule or a hook says so, and then as carefully as a write.
            Risk::ReadOnly | Risk::Writes => self.writes,
            // A plan that says it runs commands may write too, and a command can.
            Risk::Commands => self.commands.max(self.writes),
        }
    }

    /// Whether nothing was demanded beyond what goes without saying. Such a policy is written as before.
    pub(crate) fn is_usual(&self) -> bool {
        *self == Approvals::default()
    }
}

#[cfg(test)]
mod tests {
    use envelope::Risk;

    use super::{Approvals, Voice};

    #[test]
    fn whoever_claims_to_run_commands_needs_no_less_than_whoever_writes() {
        let approvals = Approvals { writes: Voice::Person, commands: Voice::Client };
        assert_eq!(approvals.least(Risk::Writes), Voice::Person);
        assert_eq!(approvals.least(Risk::Commands), Voice::Person);
        let approvals = Approvals { writes: Voice::Client, commands: Voice::Person };
        assert_eq!(approvals.least(Risk::Writes), Voice::Client);
        assert_eq!(approvals.least(Risk::Commands), Voice::Person);
    }
}
