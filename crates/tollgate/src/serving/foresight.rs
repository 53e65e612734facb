//! What one call would do, for whoever is asked about it.

use std::sync::Arc;

use engine::RunCancel;
use gateway::mcp::Foreseer;
use serde_json::Value;
use toolkit::BoxFuture;

use crate::commands::call::one_step;
use crate::diff::Limits;
use crate::place::Place;
use crate::preview::Rehearsal;
use crate::wiring::Toolset;

/// Rehearses calls over an imagined vault.
pub(crate) struct CallForeseer {
    pub(crate) place: Arc<Place>,
    pub(crate) tools: Arc<Toolset>,
}

impl CallForeseer {
    async fn look(&self, tool: &str, args: &Value) -> Option<String> {
        let entry = self.tools.surface.resolve(tool).ok()?;
        let plan = one_step(&self.tools.surface, &entry.decl, args, &self.place).ok()?;
        let rehearsal = Rehearsal::new(&self.place, self.tools.clone(), &plan);
        // A question is asked without a preview rather than not at all: the input stands in it whole.
        let preview = rehearsal.perform(Limits::screen(), RunCancel::new()).await.ok()?;
        Some(preview.plain())
    }
}

impl Foreseer for CallForeseer {
    fn foresee<'a>(&'a self, tool: &'a str, args: &'a Value) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.look(tool, args))
    }
}
