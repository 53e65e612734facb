//! The tools and the policy as of the last reload. A run keeps the surface that it was opened with.

use std::collections::HashMap;

use engine::{Engine, Policy};
use envelope::{ReceiptFamily, ToolName, ToolResult};
use rmcp::model::CallToolResult;

use super::call_result;
use super::listing::{ListingOptions, ToolListing};
use super::plan_tools;

#[derive(Clone)]
pub(super) struct ServerSurface {
    pub(super) listing: ToolListing,
    pub(super) policy: Policy,
    families: HashMap<ToolName, ReceiptFamily>,
    structured: bool,
}

impl ServerSurface {
    pub(super) fn of(engine: &Engine, show: ListingOptions) -> ServerSurface {
        let tools = engine.surface().iter();
        let families = tools.map(|(entry, _)| (entry.decl.name.clone(), entry.decl.family)).collect();
        let mut listing = ToolListing::of(engine, &show);
        if show.tools.has_plans() {
            plan_tools::add_plan_tools(&mut listing, &show);
        }
        ServerSurface { listing, policy: engine.policy().clone(), families, structured: show.structured }
    }

    /// Returns true if clients can see no difference, neither in the list nor in the policy.
    pub(super) fn is_equivalent(&self, other: &ServerSurface) -> bool {
        self.listing.same_tools(&other.listing) && self.policy == other.policy
    }

    /// Converts a result for the client.
    pub(super) fn render_result(&self, result: ToolResult) -> CallToolResult {
        let family = self.families.get(&result.tool).copied().unwrap_or_default();
        call_result::call_tool_result(result, family, &self.policy, self.structured)
    }
}
