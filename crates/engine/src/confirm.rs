//! The one question of a run: put to the person, and its yes recorded before anything else.

use std::sync::Arc;

use envelope::{Channel, Confirmation, DataRef, Hash};
use plan::{CheckedPlan, Input};

use crate::Engine;
use crate::approval::{Answer, ConfirmRequest};
use crate::call::RunScope;
use crate::catch::catch_panic;
use crate::forecast::{Forecast, Forecaster, forecast_plan};
use crate::question::forecast_question;

/// How often the same plan is asked about because what it would do has changed meanwhile.
const MAX_ASKED: u32 = 3;

/// A plan with whoever can forecast it, and the forecast that was made last.
pub(crate) struct ForecastPlan {
    pub(crate) plan: Arc<CheckedPlan>,
    pub(crate) forecaster: Arc<dyn Forecaster>,
    pub(crate) first: Option<Forecast>,
}

/// [`confirm`] with the forecast in the question. A yes to something that has changed by the time it comes is a yes to
/// something else: the differences are told, and the question is asked again. A yes binds every call of the run to the
/// forecast.
pub(crate) async fn confirm_forecast(
    engine: &Engine,
    scope: &RunScope,
    mut request: ConfirmRequest,
    about: ForecastPlan,
) -> Input {
    let details = std::mem::take(&mut request.text);
    let ForecastPlan { plan, forecaster, first } = about;
    let mut shown = match first {
        Some(first) => first,
        None => forecast_plan(&*forecaster, &plan).await,
    };
    for _ in 0..MAX_ASKED {
        request.text = forecast_question(&details, &shown);
        request.binding = engine.binding(&plan, Some(&shown.fingerprint));
        let channel = match ask(engine, &request).await {
            Ok(channel) => channel,
            Err(declined) => return declined,
        };
        let now = forecast_plan(&*forecaster, &plan).await;
        if now.fingerprint == shown.fingerprint {
            return bound(engine, scope, &plan, &request, channel, now).await;
        }
        shown = now;
    }
    let reason = "what the plan would do changed again and again while it was being asked about";
    Input::Declined { reason: reason.to_owned() }
}

/// Keeps the forecast beside the record, so that a resumed run is held to it as well, and takes the yes.
async fn bound(
    engine: &Engine,
    scope: &RunScope,
    plan: &CheckedPlan,
    request: &ConfirmRequest,
    channel: Channel,
    forecast: Forecast,
) -> Input {
    let Some(calls) = forecast.calls else {
        // Nothing is kept to hold calls to, so the record binds the yes to the plan; the text that was shown, with the
        // forecast in it, is bound by its own hash.
        let binding = engine.binding(plan, None);
        return confirmed(engine, scope, request, (channel, binding, None)).await;
    };
    let bytes = serde_json::to_vec(&calls).unwrap_or_default();
    let journal = scope.journal().clone();
    let kept =
        tokio::task::spawn_blocking(move || journal.put_object(&bytes).map_err(|error| error.to_string()));
    let kept = match kept.await.map_err(|error| error.to_string()) {
        Ok(Ok(kept)) => kept,
        Ok(Err(error)) | Err(error) => {
            return Input::Declined { reason: format!("the forecast cannot be recorded: {error}") };
        }
    };
    scope.approve(calls);
    let binding = engine.binding(plan, Some(&kept.hash));
    confirmed(engine, scope, request, (channel, binding, Some(kept))).await
}

/// Puts the question to the person and turns the answer into an input.
pub(crate) async fn confirm(engine: &Engine, scope: &RunScope, request: &ConfirmRequest) -> Input {
    match ask(engine, request).await {
        Ok(channel) => confirmed(engine, scope, request, (channel, request.binding, None)).await,
        Err(declined) => declined,
    }
}

/// How the yes came, or the no.
async fn ask(engine: &Engine, request: &ConfirmRequest) -> Result<Channel, Input> {
    let answer = catch_panic(engine.parts.approver.confirm(request)).await;
    match answer.unwrap_or_else(|panic| Answer::Nobody { why: format!("asking crashed: {panic}") }) {
        Answer::Yes { channel } => Ok(channel),
        Answer::No { reason } => Err(Input::Declined { reason }),
        Answer::Nobody { why } => Err(Input::Declined { reason: format!("nobody can be asked: {why}") }),
    }
}

async fn confirmed(
    engine: &Engine,
    scope: &RunScope,
    request: &ConfirmRequest,
    (channel, binding, forecast): (Channel, Hash, Option<DataRef>),
) -> Input {
    let now = engine.parts.clock.now();
    let confirmation = Confirmation {
        confirmation_id: engine.parts.ids.confirmation_id(now),
        binding,
        forecast,
        shown: Hash::of(request.text.as_bytes()),
        channel,
        confirmed_at: now,
    };
    if request.whole_plan
        && let Err(error) = record_yes(scope, &confirmation).await
    {
        return Input::Declined { reason: format!("the yes cannot be recorded: {error}") };
    }
    scope.confirmed(&confirmation.confirmation_id);
    Input::Confirmed(confirmation)
}

/// Writing `run.json` waits for the disk, which must not hold up the calls of other runs.
async fn record_yes(scope: &RunScope, confirmation: &Confirmation) -> Result<(), String> {
    let (journal, confirmation) = (scope.journal().clone(), confirmation.clone());
    let written = tokio::task::spawn_blocking(move || journal.confirm(&confirmation)).await;
    match written {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
