//! Where an approval must come from. A client that asks on our behalf could answer without showing the question. If
//! that is not enough, the policy requires the user's own answer at a terminal.

use envelope::Risk;
use serde::{Deserialize, Serialize};

/// Source of an approval, weakest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalSource {
    /// The client says that its user agreed.
    #[default]
    Client,
    /// The user at a terminal, or through `tollgate approve`.
    Person,
}

/// The required source of an approval, by the risk of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ApprovalPolicy {
    pub writes: ApprovalSource,
    pub commands: ApprovalSource,
}

impl ApprovalPolicy {
    /// Returns the weakest source that can approve a call of this risk.
    pub fn required_source(&self, risk: Risk) -> ApprovalSource {
        match risk {
            // A read is asked about only if a rule or a hook says so, and then as carefully as a write.
            Risk::ReadOnly | Risk::Writes => self.writes,
            // A plan that says it runs commands may write too, and a command can.
            Risk::Commands => self.commands.max(self.writes),
        }
    }

    /// Whether this is the default. It is then left out of the serialized policy.
    pub(crate) fn is_default(&self) -> bool {
        *self == ApprovalPolicy::default()
    }
}

#[cfg(test)]
mod tests {
    use envelope::Risk;

    use super::{ApprovalPolicy, ApprovalSource};

    #[test]
    fn whoever_claims_to_run_commands_needs_no_less_than_whoever_writes() {
        let approvals = ApprovalPolicy { writes: ApprovalSource::Person, commands: ApprovalSource::Client };
        assert_eq!(approvals.required_source(Risk::Writes), ApprovalSource::Person);
        assert_eq!(approvals.required_source(Risk::Commands), ApprovalSource::Person);
        let approvals = ApprovalPolicy { writes: ApprovalSource::Client, commands: ApprovalSource::Person };
        assert_eq!(approvals.required_source(Risk::Writes), ApprovalSource::Client);
        assert_eq!(approvals.required_source(Risk::Commands), ApprovalSource::Person);
    }
}
