//! Forecasts of plans and calls, made before the user is asked, and the calls that an approval covers.
//!
//! The engine does not know how to forecast: its [`Forecaster`] runs the same machine and the same phases over an
//! overlay. The forecast becomes part of the question, and an approval covers exactly the forecast: [`ApprovedCalls`]
//! is compared with the changes of each call just before they are made.

mod approved_calls;

use std::fmt;

use envelope::{Fault, Hash, StepId, ToolCall, ToolDecl, ToolName, VaultChange};
use plan::CheckedPlan;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolkit::BoxFuture;

use crate::panic_guard::catch_panic;

pub(crate) use approved_calls::ApprovedCalls;

/// The expected outcome of a plan or a call, at one moment.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// One line, safe to show: the effects in counts and names, then the failures.
    pub headline: String,
    /// The rest that must be shown, safe to show: failures, differences, calls that cannot be forecast.
    pub text: String,
    /// Hash of all effects, including those that the text leaves out.
    pub fingerprint: Hash,
    /// Differences to the previous forecast, one line each.
    pub differs: Vec<String>,
    /// Every call that would be made. `None` if the forecaster cannot separate calls: an approval is then bound to the
    /// fingerprint, not to single changes.
    pub calls: Option<Vec<ForecastCall>>,
    /// Whether every call would run without a question.
    pub runs_unasked: bool,
    /// The failure that is certain, whatever the user answers: the plan or call is refused with it and no one is asked.
    pub refusal: Option<Box<Fault>>,
}

/// One call of a forecast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForecastCall {
    pub step: StepId,
    /// Index of the item, for a call of a foreach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    pub tool: ToolName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_hash: Option<Hash>,
    pub outcome: ForecastOutcome,
    /// Changes of the vault in order, each with the state of the file before and after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<VaultChange>,
}

/// The expected outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum ForecastOutcome {
    Works,
    Fails {
        message: String,
    },
    /// A command or an external server: the outcome is known only after the call.
    Unknown,
}

impl ForecastCall {
    /// Returns the forecast of a call as it was recorded, with its outcome.
    pub fn of(call: &ToolCall, outcome: ForecastOutcome) -> ForecastCall {
        ForecastCall {
            step: call.step_id.clone(),
            index: call.iteration.as_ref().map(|iteration| iteration.index),
            tool: call.tool.clone(),
            args_hash: call.args_hash,
            outcome,
            changes: call.intent.clone(),
        }
    }
}

/// Forecasts plans and calls. Reads the current state each time, and changes nothing.
pub trait Forecaster: Send + Sync {
    fn forecast_plan<'a>(&'a self, plan: &'a CheckedPlan) -> BoxFuture<'a, Forecast>;

    /// Returns the forecast of a single call with exactly these arguments, or `None` if it cannot be forecast.
    fn forecast_call<'a>(&'a self, tool: &'a ToolDecl, args: &'a Value) -> BoxFuture<'a, Option<Forecast>>;
}

/// Whether an engine acts or only forecasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Act,
    /// The tools work on an overlay. Commands and servers, which no overlay contains, are not called.
    Forecast,
}

/// Forecasts a plan and catches a panic of the forecaster: the question is then asked without a forecast, and its
/// approval covers no change of a file.
pub(crate) async fn forecast_plan(forecaster: &dyn Forecaster, plan: &CheckedPlan) -> Forecast {
    catch_panic(forecaster.forecast_plan(plan)).await.unwrap_or_else(|panic| Forecast::impossible(&panic))
}

impl Forecast {
    /// Returns the forecast of a plan that cannot be forecast. Its approval covers no change, so each call is asked
    /// about when it comes.
    pub fn impossible(why: impl fmt::Display) -> Forecast {
        let headline = format!("What would happen cannot be forecast: {why}");
        Forecast {
            text: String::new(),
            fingerprint: Hash::of(headline.as_bytes()),
            headline,
            differs: Vec::new(),
            calls: Some(Vec::new()),
            runs_unasked: false,
            refusal: None,
        }
    }
}
