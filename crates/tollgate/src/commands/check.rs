//! `tollgate check`: everything that is wrong with a plan, without running any of it.

use std::path::Path;

use clap::Args;

use crate::exit::Exit;
use crate::findings;
use crate::place::{Place, find_vault};
use crate::plan_text;
use crate::screen;
use crate::settings::Settings;
use crate::stop::Outcome;
use crate::visible::count;
use crate::wiring::{self, Toolset};

/// Checks a plan: every finding with its step, its place and what to write instead
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate check plan.json\n  generate-plan | tollgate check - --json")]
pub(crate) struct Check {
    /// The plan: a file, or `-` for standard input
    plan: String,
    /// Answer in JSON: {"ok", "findings", "planHash", "order"}
    #[arg(long)]
    pub(crate) json: bool,
}

impl Check {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        // A plan can be checked anywhere; a vault that was named, or is around, brings its limits and servers.
        let (settings, tools) = match (vault, find_vault(vault)) {
            (None, Err(_)) => (Settings::cautious(), Toolset::without_vault()?),
            (_, found) => {
                let place = Place::find(Some(&found?))?;
                let tools = Toolset::listed(&place)?;
                (place.settings, tools)
            }
        };
        let text = plan_text::read(&self.plan, "plan")?;
        let surface = tools.surface;
        let report = plan::check(&text, &*surface, &wiring::check_limits(&settings));
        let found = findings::sorted(report.findings);
        if self.json {
            screen::json(&findings::answer(&found, report.plan.as_ref()));
        } else {
            findings::show(&found);
            if let Some(plan) = &report.plan {
                let steps = count(plan.steps.len() as u64, "step");
                screen::say(format_args!(
                    "The plan can run: {steps}, {}, {}",
                    plan.plan.risk_level, plan.hash
                ));
                screen::say(format_args!("Order: {}", findings::order(plan).join(", ")));
            }
        }
        Ok(if report.plan.is_some() { Exit::Done } else { Exit::BadInput })
    }
}
