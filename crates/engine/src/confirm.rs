//! The one question of a run: put to the person, and its yes recorded before anything else.

use envelope::{Channel, Confirmation, Hash};
use plan::Input;

use crate::Engine;
use crate::approval::{Answer, ConfirmRequest};
use crate::call::RunScope;
use crate::catch::catch_panic;
use crate::foresight::{Foresight, outlook, with_outlook};

/// How often the same plan is asked about because what it would do has changed meanwhile.
const MAX_ASKED: u32 = 3;

/// [`confirm`] with what is foreseen in the question. A yes to something that has changed by the time it comes
/// is a yes to something else: what differs is told, and the question is asked again.
pub(crate) async fn confirm_foreseen(
    engine: &Engine,
    scope: &RunScope,
    mut request: ConfirmRequest,
    foresight: &dyn Foresight,
) -> Input {
    let question = std::mem::take(&mut request.text);
    let mut shown = outlook(foresight).await;
    for _ in 0..MAX_ASKED {
        request.text = with_outlook(&question, &shown);
        let channel = match ask(engine, &request).await {
            Ok(channel) => channel,
            Err(declined) => return declined,
        };
        let now = outlook(foresight).await;
        if now.fingerprint == shown.fingerprint {
            return confirmed(engine, scope, &request, channel).await;
        }
        shown = now;
    }
    let reason = "what the plan would do changed again and again while it was being asked about";
    Input::Declined { reason: reason.to_owned() }
}

/// Puts the question to the person and turns the answer into an input.
pub(crate) async fn confirm(engine: &Engine, scope: &RunScope, request: &ConfirmRequest) -> Input {
    match ask(engine, request).await {
        Ok(channel) => confirmed(engine, scope, request, channel).await,
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

async fn confirmed(engine: &Engine, scope: &RunScope, request: &ConfirmRequest, channel: Channel) -> Input {
    let now = engine.parts.clock.now();
    let confirmation = Confirmation {
        confirmation_id: engine.parts.ids.confirmation_id(now),
        binding: request.binding,
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
