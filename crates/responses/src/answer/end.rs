//! The end of an answer: it is stored, the last events are sent, and metrics are counted.

use std::sync::Arc;

use backend::TokenUsage;
use envelope::SessionId;
use tokio::time::Instant;

use super::FinishedAnswer;
use super::cancellation::StopCause;
use super::event_stream::send;
use super::writer::{AnswerWriter, EndReason};
use crate::emitter::{FinishedResponse, response_id};
use crate::item::ConversationItem;
use crate::object::IncompleteReason;
use crate::request::Request;
use crate::store::{ResponseStore, StoreError, StoredResponse};
use http_edge::RequestId;
use http_edge::metrics::{Metrics, OutputEvent, TurnEnd};

impl AnswerWriter<'_> {
    /// Ends the answer; returns `None` if its reader was dropped.
    pub(super) async fn end(
        mut self: Box<Self>,
        cut: Option<EndReason>,
        also: Option<&ResponseStore>,
    ) -> Option<FinishedAnswer> {
        self.count(cut.as_ref());
        self.interruption.disarm();
        let now = self.responder.seconds();
        let usage = Some(self.totals.usage_or_estimate());
        let error = match &cut {
            Some(EndReason::Failed(error)) => Some(error.clone()),
            Some(EndReason::Stopped(_) | EndReason::Incomplete(_) | EndReason::Gone) | None => None,
        };
        let AnswerWriter { emitter, out, request, mut conversation, unique, responder, session, .. } = *self;
        let mut response = match cut {
            None => emitter.complete(usage, now),
            Some(EndReason::Incomplete(reason)) => emitter.incomplete(reason, usage),
            Some(EndReason::Stopped(StopCause::Cancelled)) => {
                emitter.incomplete(IncompleteReason::Cancelled, usage)
            }
            Some(EndReason::Stopped(StopCause::ServerStopping)) => {
                emitter.incomplete(IncompleteReason::ServerStopping, usage)
            }
            Some(EndReason::Failed(error)) => emitter.fail(error, usage),
            Some(EndReason::Gone) => return None,
        };
        let store = if request.store { Some(&*responder.parts.store) } else { also };
        if let Some(store) = store
            && error.is_none()
        {
            conversation.add_sent(&response.output);
            let (input, output) = conversation.into_request_and_added();
            let stored = store_answer(store, &request, (&unique, session), input, output, &response).await;
            if stored.is_err() && request.store {
                response.set_not_stored();
            }
        }
        // The answer is complete even if its reader is gone by now.
        let _reader_gone = send(&out, response.last_events()).await;
        Some(FinishedAnswer { response, error })
    }

    fn count(&self, cut: Option<&EndReason>) {
        let metrics = &self.responder.parts.metrics;
        let end = match cut {
            None => TurnEnd::Completed,
            Some(EndReason::Incomplete(_)) => TurnEnd::Incomplete,
            Some(EndReason::Failed(_)) => TurnEnd::Failed,
            Some(EndReason::Stopped(_) | EndReason::Gone) => TurnEnd::Interrupted,
        };
        metrics.turn_ended(end, self.totals.usage.unwrap_or_default());
        let counts = self.totals.counts;
        for (event, times) in [
            (OutputEvent::Call, counts.calls),
            (OutputEvent::Repair, counts.repairs),
            (OutputEvent::ParseFailure, counts.malformed),
            (OutputEvent::UnknownName, counts.unknown_names),
            (OutputEvent::Echo, self.conversation.echoed_calls),
        ] {
            metrics.model_output(event, times);
        }
        let names: Vec<&str> = self.request.tools.iter().map(|tool| tool.name.as_str()).collect();
        tracing::info!(
            response = %response_id(&self.unique),
            request = self.request.request_id.as_ref().map_or("", RequestId::as_str),
            stream = self.request.stream,
            end = ?end,
            code = match cut { Some(EndReason::Failed(error)) => error.code, _ => "" },
            turns = self.totals.turns,
            calls = counts.calls,
            parse_failures = counts.malformed,
            strict_failures = counts.strict_failures,
            unknown_names = counts.unknown_names,
            repaired_arguments = counts.repairs,
            soft_mismatches = counts.soft_mismatches,
            quoted = counts.quoted,
            echoed_calls = self.conversation.echoed_calls,
            asked_again = self.repaired,
            millis = self.deadlines.millis(),
            tools = ?names,
            "answered"
        );
    }
}

async fn store_answer(
    store: &ResponseStore,
    request: &Request,
    (unique, session): (&str, Option<SessionId>),
    input: Vec<ConversationItem>,
    output: Vec<ConversationItem>,
    response: &FinishedResponse,
) -> Result<(), StoreError> {
    let mut number = 0_u32;
    let mut next_id = || {
        number += 1;
        format!("in_{unique}_{number:03}")
    };
    let input = input.into_iter().map(|item| item.with_id(&mut next_id)).collect();
    let stored = StoredResponse {
        id: response_id(unique),
        previous: request.previous_response_id.clone(),
        session,
        input,
        output,
        object: response.object_json(),
    };
    store.insert(stored).await.inspect_err(|error| {
        // The answer itself is fine. It says that it is not stored; a request that continues it gets an error.
        tracing::error!(%error, response = %response_id(unique), "a response could not be stored");
    })
}

/// Counts an answer as interrupted if it is dropped before its end, because its client disconnected.
pub(super) struct InterruptionGuard {
    metrics: Arc<Metrics>,
    started: Instant,
    armed: bool,
}

impl InterruptionGuard {
    pub(super) fn new(metrics: Arc<Metrics>, started: Instant) -> InterruptionGuard {
        InterruptionGuard { metrics, started, armed: true }
    }

    fn disarm(&mut self) {
        self.armed = false;
    }
}

impl Drop for InterruptionGuard {
    fn drop(&mut self) {
        if self.armed {
            self.metrics.turn_ended(TurnEnd::Interrupted, TokenUsage::default());
            let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(millis, "interrupted: the client went away");
        }
    }
}
