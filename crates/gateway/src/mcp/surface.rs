//! The tools and the rules as they stood when somebody last looked. A run keeps those that it was opened under.

use std::collections::HashMap;

use engine::{Engine, Policy};
use envelope::{Family, ToolName, ToolResult};
use rmcp::model::CallToolResult;

use super::answer;
use super::listing::{Listing, Show};
use super::plans;

#[derive(Clone)]
pub(super) struct Surface {
    pub(super) listing: Listing,
    pub(super) policy: Policy,
    families: HashMap<ToolName, Family>,
    structured: bool,
}

impl Surface {
    pub(super) fn of(engine: &Engine, show: Show) -> Surface {
        let tools = engine.surface().iter();
        let families = tools.map(|(entry, _)| (entry.decl.name.clone(), entry.decl.family)).collect();
        let mut listing = Listing::of(engine, show);
        plans::list(&mut listing, show);
        Surface { listing, policy: engine.policy().clone(), families, structured: show.structured }
    }

    /// Whether a client would notice no difference, neither in the list nor in what calls may do.
    pub(super) fn is_like(&self, other: &Surface) -> bool {
        self.listing.is_like(&other.listing) && self.policy == other.policy
    }

    /// A result in words for the client.
    pub(super) fn told(&self, result: ToolResult) -> CallToolResult {
        let family = self.families.get(&result.tool).copied().unwrap_or_default();
        answer::told(result, family, &self.policy, self.structured)
    }
}
