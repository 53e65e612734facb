//! The confirmation of a run: the question to the approver, and its answer recorded before anything else.

use std::sync::Arc;

use envelope::{ApprovalChannel, Confirmation, DataRef, Hash};
use plan::{CheckedPlan, MachineInput};

use crate::Engine;
use crate::approval::{ConfirmAnswer, ConfirmRequest};
use crate::forecast::{Forecast, Forecaster, forecast_plan};
use crate::panic_guard::catch_panic;
use crate::question::forecast_question;
use crate::run_scope::RunScope;

/// How often a plan is asked about again because its forecast has changed meanwhile.
const MAX_QUESTIONS: u32 = 3;

/// A plan with its forecaster, and the forecast that was made last.
pub(super) struct ForecastPlan {
    pub(super) plan: Arc<CheckedPlan>,
    pub(super) forecaster: Arc<dyn Forecaster>,
    pub(super) first: Option<Forecast>,
}

/// A question of a run, ready to be asked: about the plan, or about a foreach that is larger than the policy lets
/// pass.
pub struct PlanQuestion {
    engine: Engine,
    scope: Arc<RunScope>,
    request: ConfirmRequest,
    forecast: Option<ForecastPlan>,
}

/// An approval of exactly one text.
struct GivenApproval {
    channel: ApprovalChannel,
    binding: Hash,
    /// The stored forecast that the approval covers.
    forecast: Option<DataRef>,
}

impl PlanQuestion {
    pub(super) fn new(
        engine: &Engine,
        scope: &Arc<RunScope>,
        request: ConfirmRequest,
        forecast: Option<ForecastPlan>,
    ) -> PlanQuestion {
        PlanQuestion { engine: engine.clone(), scope: scope.clone(), request, forecast }
    }

    /// Asks the engine's approver and records an approval. Returns [`MachineInput::Confirmed`] or
    /// [`MachineInput::Declined`].
    pub async fn ask(mut self) -> MachineInput {
        let answered = match self.forecast.take() {
            Some(forecast) => self.ask_with_forecast(forecast).await,
            None => self.ask_without_forecast().await,
        };
        answered.unwrap_or_else(|reason| MachineInput::Declined { reason })
    }

    async fn ask_without_forecast(&self) -> Result<MachineInput, String> {
        let channel = self.ask_approver().await?;
        self.confirm(GivenApproval { channel, binding: self.request.binding, forecast: None }).await
    }

    /// Asks with the forecast in the question. The plan is forecast again when the approval comes: if the result
    /// differs, the approval does not cover it, so the differences are shown and the question is asked again. An
    /// approval binds every call of the run to the forecast. A plan that is certain to fail is declined without a question
    /// if the forecaster refuses it.
    async fn ask_with_forecast(&mut self, about: ForecastPlan) -> Result<MachineInput, String> {
        let details = std::mem::take(&mut self.request.text);
        let ForecastPlan { plan, forecaster, first } = about;
        let mut shown = match first {
            Some(first) => first,
            None => forecast_plan(&*forecaster, &plan).await,
        };
        for _ in 0..MAX_QUESTIONS {
            if let Some(refusal) = shown.refusal {
                return Err(refusal.message);
            }
            self.request.text = forecast_question(&details, &shown);
            self.request.binding = self.engine.binding(&plan, Some(&shown.fingerprint));
            let channel = self.ask_approver().await?;
            let current = forecast_plan(&*forecaster, &plan).await;
            if current.fingerprint == shown.fingerprint {
                return self.bind(&plan, channel, current).await;
            }
            shown = current;
        }
        Err("what the plan would do changed again and again while it was being asked about".to_owned())
    }

    /// Stores the forecast beside the record, so that a resumed run is held to it too, and confirms.
    async fn bind(
        &self,
        plan: &CheckedPlan,
        channel: ApprovalChannel,
        forecast: Forecast,
    ) -> Result<MachineInput, String> {
        let Some(calls) = forecast.calls else {
            // The forecast has no single calls to compare, so the record binds the approval to the plan; the text that was
            // shown, with the forecast in it, is bound by its own hash.
            let binding = self.engine.binding(plan, None);
            return self.confirm(GivenApproval { channel, binding, forecast: None }).await;
        };
        let bytes = serde_json::to_vec(&calls).unwrap_or_default();
        let journal = self.scope.journal().clone();
        let storing = tokio::task::spawn_blocking(move || {
            journal.put_object(&bytes).map_err(|error| error.to_string())
        });
        let stored = match storing.await.map_err(|error| error.to_string()) {
            Ok(Ok(stored)) => stored,
            Ok(Err(error)) | Err(error) => return Err(format!("the forecast cannot be recorded: {error}")),
        };
        self.scope.approve(calls);
        let binding = self.engine.binding(plan, Some(&stored.hash));
        self.confirm(GivenApproval { channel, binding, forecast: Some(stored) }).await
    }

    /// Returns the channel of an approval, or the reason for its absence.
    async fn ask_approver(&self) -> Result<ApprovalChannel, String> {
        let answer = catch_panic(self.engine.inner.approver.confirm(&self.request)).await;
        match answer
            .unwrap_or_else(|panic| ConfirmAnswer::Unavailable { why: format!("asking crashed: {panic}") })
        {
            ConfirmAnswer::Approved { channel } => Ok(channel),
            ConfirmAnswer::Declined { reason } => Err(reason),
            ConfirmAnswer::Unavailable { why } => Err(format!("no one is available to approve this: {why}")),
        }
    }

    async fn confirm(&self, given: GivenApproval) -> Result<MachineInput, String> {
        let now = self.engine.inner.clock.now();
        let confirmation = Confirmation {
            confirmation_id: self.engine.inner.ids.confirmation_id(now),
            binding: given.binding,
            forecast: given.forecast,
            shown: Hash::of(self.request.text.as_bytes()),
            channel: given.channel,
            confirmed_at: now,
        };
        if self.request.whole_plan
            && let Err(error) = self.record(&confirmation).await
        {
            return Err(format!("the approval cannot be recorded: {error}"));
        }
        self.scope.add_confirmation(&confirmation.confirmation_id);
        Ok(MachineInput::Confirmed(confirmation))
    }

    /// Writing `run.json` waits for the disk, which must not hold up the calls of other runs.
    async fn record(&self, confirmation: &Confirmation) -> Result<(), String> {
        let (journal, confirmation) = (self.scope.journal().clone(), confirmation.clone());
        match tokio::task::spawn_blocking(move || journal.confirm(&confirmation)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}
