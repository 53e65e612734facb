//! The tools and the rules as they stood when somebody last looked. A run keeps those that it was opened under.

use std::collections::HashMap;

use engine::{Engine, Policy};
use envelope::{Family, Risk, ToolDecl, ToolName, ToolResult};
use rmcp::model::CallToolResult;

use super::answer;
use super::listing::{Listing, Show};
use super::plans;

/// What is decided by the tool alone.
#[derive(Debug, Clone, Copy)]
struct Known {
    family: Family,
    risk: Risk,
}

#[derive(Clone)]
pub(super) struct Surface {
    pub(super) listing: Listing,
    pub(super) policy: Policy,
    tools: HashMap<ToolName, Known>,
    structured: bool,
}

impl Surface {
    pub(super) fn of(engine: &Engine, show: Show) -> Surface {
        let known = |decl: &ToolDecl| Known { family: decl.family, risk: decl.risk_level };
        let tools =
            engine.surface().iter().map(|(entry, _)| (entry.decl.name.clone(), known(&entry.decl))).collect();
        let mut listing = Listing::of(engine, show);
        plans::list(&mut listing, show);
        Surface { listing, policy: engine.policy().clone(), tools, structured: show.structured }
    }

    /// Whether a client would notice no difference, neither in the list nor in what calls may do.
    pub(super) fn is_like(&self, other: &Surface) -> bool {
        self.listing.is_like(&other.listing) && self.policy == other.policy
    }

    /// Whether a person can be shown beforehand what a call of it would change.
    pub(super) fn can_be_foreseen(&self, tool: &ToolName) -> bool {
        self.tools.get(tool).is_some_and(|known| known.risk == Risk::Writes)
    }

    /// A result in words for the client.
    pub(super) fn told(&self, result: ToolResult) -> CallToolResult {
        let family = self.tools.get(&result.tool).map(|known| known.family).unwrap_or_default();
        answer::told(result, family, &self.policy, self.structured)
    }
}
