//! What one call would do, for whoever is asked about it.

use std::sync::{Arc, Mutex, PoisonError};

use engine::RunCancel;
use gateway::mcp::Foreseer;
use serde_json::Value;
use shell::Lifetime;
use toolkit::BoxFuture;

use super::live::LivePlace;
use crate::commands::call::one_step;
use crate::diff::Limits;
use crate::place::Place;
use crate::preview::Rehearsal;
use crate::wiring::Toolset;

/// Rehearses calls over an imagined vault.
pub(crate) struct CallForeseer {
    live: Arc<LivePlace>,
    /// The tools as they were opened last, and under which settings.
    tools: Mutex<Option<(Arc<Place>, Arc<Toolset>)>>,
}

impl CallForeseer {
    pub(crate) fn new(live: Arc<LivePlace>) -> CallForeseer {
        CallForeseer { live, tools: Mutex::default() }
    }

    async fn look(&self, tool: &str, args: &Value) -> Option<String> {
        let (place, tools) = self.opened()?;
        let entry = tools.surface.resolve(tool).ok()?;
        let plan = one_step(&tools.surface, &entry.decl, args, &place).ok()?;
        let rehearsal = Rehearsal::new(&place, tools, &plan);
        // A question is asked without a preview rather than not at all: the input stands in it whole.
        let preview = rehearsal.perform(Limits::screen(), RunCancel::new()).await.ok()?;
        Some(preview.plain())
    }

    fn opened(&self) -> Option<(Arc<Place>, Arc<Toolset>)> {
        let now = self.live.current().ok()?;
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((place, tools)) = tools.as_ref().filter(|(place, _)| Arc::ptr_eq(place, &now)) {
            return Some((place.clone(), tools.clone()));
        }
        let opened = (now.clone(), Arc::new(Toolset::open(&now, Lifetime::Session).ok()?));
        *tools = Some(opened.clone());
        Some(opened)
    }
}

impl Foreseer for CallForeseer {
    fn foresee<'a>(&'a self, tool: &'a str, args: &'a Value) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.look(tool, args))
    }
}
