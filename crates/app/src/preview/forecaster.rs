//! Forecasts plans and calls over the overlay for the engine, which forecasts before a question; a plan also after its approval.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Forecast, Forecaster, RunCancel};
use envelope::{Fault, Hash, ToolDecl};
use journal::Continuation;
use plan::CheckedPlan;
use serde_json::Value;
use toolkit::BoxFuture;

use super::forecast_run::ForecastRules;
use super::{ForecastRun, KnownFailure, PlanPreview, SavedPreview};
use crate::diff::DiffLimits;
use crate::display_text::escape_text;
use crate::settings::Settings;
use crate::single_call::one_step;
use crate::text_style::TextStyle;
use crate::toolset::Toolset;

/// Runs plans and calls over an overlay of one vault, under its settings.
pub struct OverlayForecaster {
    rules: ForecastRules,
    tools: Arc<Toolset>,
    limits: DiffLimits,
    style: TextStyle,
    continues: Option<Continuation>,
    /// Whether a plan that is certain to fail is refused without a question.
    refuses: bool,
    last: Mutex<LastForecast>,
}

#[derive(Default)]
struct LastForecast {
    /// Preview that the next one is compared with.
    before: Option<SavedPreview>,
    /// Preview that you saw in full before this question.
    seen: Option<Hash>,
    shown: Option<RenderedForecast>,
    failures: Vec<KnownFailure>,
}

/// The body of one forecast, plain and coloured.
struct RenderedForecast {
    text: String,
    coloured: String,
}

impl OverlayForecaster {
    pub fn new(settings: &Settings, tools: &Arc<Toolset>) -> OverlayForecaster {
        OverlayForecaster {
            rules: ForecastRules::of(settings),
            tools: tools.clone(),
            limits: DiffLimits::screen(),
            style: TextStyle::plain(),
            continues: None,
            refuses: false,
            last: Mutex::default(),
        }
    }

    /// Sets whether every difference is shown in full.
    pub fn in_full(mut self, full: bool) -> OverlayForecaster {
        if full {
            self.limits = DiffLimits::full();
        }
        self
    }

    /// Sets the colours of the screen, for [`OverlayForecaster::coloured`].
    pub fn painted(mut self, style: TextStyle) -> OverlayForecaster {
        self.style = style;
        self
    }

    /// Sets a preview that the forecast is compared with: the question names the differences.
    pub fn compared_with(self, saved: Option<SavedPreview>) -> OverlayForecaster {
        OverlayForecaster {
            last: Mutex::new(LastForecast { before: saved, ..LastForecast::default() }),
            ..self
        }
    }

    /// Refuses a plan that is certain to fail, for a client that can write another one. A person sees the preview and
    /// decides.
    pub fn refusing_failures(self) -> OverlayForecaster {
        OverlayForecaster { refuses: true, ..self }
    }

    /// Returns the steps of the last plan that are certain to fail.
    pub fn known_failures(&self) -> Vec<KnownFailure> {
        self.last().failures.clone()
    }

    /// Sets the run that the plan continues.
    pub fn continuing(self, continues: Option<Continuation>) -> OverlayForecaster {
        OverlayForecaster { continues, ..self }
    }

    /// Sets the preview that the user has seen already.
    pub fn previewed(self, saved: Option<SavedPreview>) -> OverlayForecaster {
        let seen = saved.as_ref().map(|saved| saved.fingerprint);
        OverlayForecaster {
            last: Mutex::new(LastForecast { before: saved, seen, ..LastForecast::default() }),
            ..self
        }
    }

    /// Returns a text with the last forecast in it, in colours. Only exactly the plain form is replaced, so the screen shows
    /// what was hashed.
    pub fn coloured(&self, text: &str) -> String {
        match &self.last().shown {
            Some(shown) if !shown.text.is_empty() => text.replacen(&shown.text, &shown.coloured, 1),
            Some(_) | None => text.to_owned(),
        }
    }

    fn last(&self) -> MutexGuard<'_, LastForecast> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn plan(&self, plan: &CheckedPlan) -> Forecast {
        let forecast_run =
            ForecastRun::new(&self.rules, self.tools.clone(), plan).continuing(self.continues.clone());
        match forecast_run.perform(self.limits.clone(), RunCancel::new()).await {
            Ok(preview) => self.to_forecast(&forecast_run, preview),
            Err(error) => Forecast::impossible(escape_text(&error.message)),
        }
    }

    fn to_forecast(&self, forecast_run: &ForecastRun, preview: PlanPreview) -> Forecast {
        let mut last = self.last();
        let differs = last.before.as_ref().map(|before| forecast_run.differences(before, &preview));
        let differs = differs.unwrap_or_default();
        last.before = Some(SavedPreview::of(&preview));
        let shown = if last.seen == Some(preview.fingerprint) && differs.is_empty() {
            let text = "This is exactly what was previewed.".to_owned();
            RenderedForecast { coloured: text.clone(), text }
        } else {
            RenderedForecast {
                text: preview.render_rest(TextStyle::plain()).join("\n"),
                coloured: preview.render_rest(self.style).join("\n"),
            }
        };
        let text = shown.text.clone();
        last.shown = Some(shown);
        let certain = preview.certain_failures();
        let refusal = KnownFailure::of_plan(&certain).filter(|_| self.refuses);
        last.failures = certain;
        forecast(preview, text, differs, refusal)
    }

    /// A single call is compared with no earlier one: another call can have been forecast in between.
    async fn call(&self, tool: &ToolDecl, args: &Value) -> Option<Forecast> {
        let plan = one_step(&self.tools.surface, tool, args, &self.rules.policy.check_limits()).ok()?;
        let forecast_run = ForecastRun::new(&self.rules, self.tools.clone(), &plan);
        let preview = forecast_run.perform(self.limits.clone(), RunCancel::new()).await.ok()?;
        let shown = RenderedForecast {
            text: preview.render_call(TextStyle::plain()).join("\n"),
            coloured: preview.render_call(self.style).join("\n"),
        };
        let text = shown.text.clone();
        self.last().shown = Some(shown);
        let refusal = preview.known_failures.first().map(KnownFailure::of_call);
        Some(forecast(preview, text, Vec::new(), refusal))
    }
}

fn forecast(preview: PlanPreview, text: String, differs: Vec<String>, refusal: Option<Fault>) -> Forecast {
    Forecast {
        headline: preview.headline,
        text,
        fingerprint: preview.fingerprint,
        differs,
        calls: Some(preview.calls),
        runs_unasked: preview.runs_unasked,
        refusal: refusal.map(Box::new),
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
