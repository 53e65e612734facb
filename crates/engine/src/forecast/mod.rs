//! What a plan or one call would do, found out before anyone is asked about it, and what a yes to it covers.
//!
//! The engine does not know how to find out: whoever makes an engine brings a [`Forecaster`], which runs the same
//! machine and the same phases over an overlay. The forecast becomes part of the question, and a yes covers exactly
//! what was forecast: [`ApprovedCalls`] is compared with what each call is about to change, just before it does.

mod approved;

use std::fmt;

use envelope::{Change, Hash, StepId, ToolCall, ToolDecl, ToolName};
use plan::CheckedPlan;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolkit::BoxFuture;

use crate::catch::catch_panic;

pub(crate) use approved::ApprovedCalls;

/// What is expected at one moment.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// One line, safe to show: the effects in counts and names, then what will fail.
    pub headline: String,
    /// Everything else that you have to see, safe to show: failures, differences, what cannot be known.
    pub text: String,
    /// Hash of everything that would be done, also of what the text leaves out.
    pub fingerprint: Hash,
    /// In what it differs from the forecast before it, one line each.
    pub differs: Vec<String>,
    /// Every call that would be made. `None` where the forecaster cannot tell calls apart: a yes is then bound to the
    /// fingerprint, and to no single change.
    pub calls: Option<Vec<ForecastCall>>,
    /// Whether the rules let every call run without a question.
    pub runs_unasked: bool,
}

/// One call of a forecast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForecastCall {
    pub step: StepId,
    /// The position of the item, for a call of a foreach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    pub tool: ToolName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_hash: Option<Hash>,
    pub outcome: ForecastOutcome,
    /// The changes to the vault in order, each with the state of the file before and after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// How a call is expected to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum ForecastOutcome {
    Works,
    Fails {
        message: String,
    },
    /// A command or another program's server: only running it tells.
    Unknown,
}

impl ForecastCall {
    /// A call as it is logged, with the end that it came to.
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

/// Whoever can tell what would be done. Looks anew at every call, and changes nothing.
pub trait Forecaster: Send + Sync {
    fn forecast_plan<'a>(&'a self, plan: &'a CheckedPlan) -> BoxFuture<'a, Forecast>;

    /// The forecast of a single call with exactly these arguments; `None` where nothing can be told of it.
    fn forecast_call<'a>(&'a self, tool: &'a ToolDecl, args: &'a Value) -> BoxFuture<'a, Option<Forecast>>;
}

/// Whether an engine acts, or only finds out what would be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Act,
    /// The tools work on an overlay. What no overlay contains, a command or a server, is not called.
    Forecast,
}

/// The forecast, whatever happens to the forecaster: a question is asked without one rather than not at all, and a yes
/// to it covers no change of a file.
pub(crate) async fn forecast_plan(forecaster: &dyn Forecaster, plan: &CheckedPlan) -> Forecast {
    catch_panic(forecaster.forecast_plan(plan)).await.unwrap_or_else(|panic| Forecast::impossible(&panic))
}

impl Forecast {
    /// For a plan of which nothing can be told. A yes covers none of its changes, so each is asked about when it comes.
    pub fn impossible(why: impl fmt::Display) -> Forecast {
        let headline = format!("What would happen cannot be forecast: {why}");
        Forecast {
            text: String::new(),
            fingerprint: Hash::of(headline.as_bytes()),
            headline,
            differs: Vec::new(),
            calls: Some(Vec::new()),
            runs_unasked: false,
        }
    }
}
