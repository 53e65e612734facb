//! Forecasts plans and calls over the overlay for the engine, which asks before a question and again after the yes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Forecast, Forecaster, RunCancel};
use envelope::{Hash, ToolDecl};
use plan::CheckedPlan;
use serde_json::Value;
use toolkit::BoxFuture;

use super::rehearsal::ForecastRules;
use super::{Preview, Rehearsal, SavedPreview};
use crate::commands::call::one_step;
use crate::diff::Limits;
use crate::screen::Paint;
use crate::settings::Settings;
use crate::visible::visible;
use crate::wiring::Toolset;

/// Runs plans and calls over an overlay of one vault, under its settings.
pub(crate) struct OverlayForecaster {
    rules: ForecastRules,
    tools: Arc<Toolset>,
    limits: Limits,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    /// The preview that the next one is compared with.
    before: Option<SavedPreview>,
    /// The preview that you saw in full before this question.
    seen: Option<Hash>,
    shown: Option<Shown>,
}

/// The body of one forecast in both its forms: the plain one is the coloured one without its colours.
struct Shown {
    text: String,
    coloured: String,
}

impl OverlayForecaster {
    pub(crate) fn new(settings: &Settings, tools: &Arc<Toolset>) -> OverlayForecaster {
        OverlayForecaster {
            rules: ForecastRules::of(settings),
            tools: tools.clone(),
            limits: Limits::screen(),
            last: Mutex::default(),
        }
    }

    /// The same with every difference in full.
    pub(crate) fn in_full(mut self, full: bool) -> OverlayForecaster {
        if full {
            self.limits = Limits::full();
        }
        self
    }

    /// The same for somebody who has seen a preview already.
    pub(crate) fn previewed(self, saved: Option<SavedPreview>) -> OverlayForecaster {
        let seen = saved.as_ref().map(|saved| saved.fingerprint);
        OverlayForecaster { last: Mutex::new(Last { before: saved, seen, shown: None }), ..self }
    }

    /// A text of ours with the last forecast in it, in colours. Only exactly the plain form is replaced, so the screen
    /// says what was hashed.
    pub(crate) fn coloured(&self, text: &str) -> String {
        match &self.last().shown {
            Some(shown) if !shown.text.is_empty() => text.replacen(&shown.text, &shown.coloured, 1),
            Some(_) | None => text.to_owned(),
        }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn plan(&self, plan: &CheckedPlan) -> Forecast {
        let rehearsal = Rehearsal::new(&self.rules, self.tools.clone(), plan);
        match rehearsal.perform(self.limits.clone(), RunCancel::new()).await {
            Ok(preview) => self.told(&rehearsal, preview),
            Err(stop) => Forecast::impossible(visible(&stop.message)),
        }
    }

    fn told(&self, rehearsal: &Rehearsal, preview: Preview) -> Forecast {
        let mut last = self.last();
        let differs = last.before.as_ref().map(|before| rehearsal.differences(before, &preview));
        let differs = differs.unwrap_or_default();
        last.before = Some(SavedPreview::of(&preview));
        let shown = if last.seen == Some(preview.fingerprint) && differs.is_empty() {
            let text = "This is exactly what was previewed.".to_owned();
            Shown { coloured: text.clone(), text }
        } else {
            Shown {
                text: preview.render_rest(Paint::plain()).join("\n"),
                coloured: preview.render_rest(Paint::stderr()).join("\n"),
            }
        };
        let text = shown.text.clone();
        last.shown = Some(shown);
        forecast(preview, text, differs)
    }

    /// A single call is compared with no earlier one: another call may have been forecast in between.
    async fn call(&self, tool: &ToolDecl, args: &Value) -> Option<Forecast> {
        let plan = one_step(&self.tools.surface, tool, args, &self.rules.policy.check_limits()).ok()?;
        let rehearsal = Rehearsal::new(&self.rules, self.tools.clone(), &plan);
        let preview = rehearsal.perform(self.limits.clone(), RunCancel::new()).await.ok()?;
        let shown = Shown {
            text: preview.render_call(Paint::plain()).join("\n"),
            coloured: preview.render_call(Paint::stderr()).join("\n"),
        };
        let text = shown.text.clone();
        self.last().shown = Some(shown);
        Some(forecast(preview, text, Vec::new()))
    }
}

fn forecast(preview: Preview, text: String, differs: Vec<String>) -> Forecast {
    Forecast {
        headline: preview.headline,
        text,
        fingerprint: preview.fingerprint,
        differs,
        calls: Some(preview.calls),
        runs_unasked: preview.runs_unasked,
    }
}

impl Forecaster for OverlayForecaster {
    fn forecast_plan<'a>(&'a self, plan: &'a CheckedPlan) -> BoxFuture<'a, Forecast> {
        Box::pin(self.plan(plan))
    }

    fn forecast_call<'a>(&'a self, tool: &'a ToolDecl, args: &'a Value) -> BoxFuture<'a, Option<Forecast>> {
        Box::pin(self.call(tool, args))
    }
}
