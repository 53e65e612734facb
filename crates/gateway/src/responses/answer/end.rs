//! The end of an answer: it is kept, the last word is said, and what happened is counted.

use std::sync::Arc;

use backend::Usage;

use super::Answered;
use super::ear::Heard;
use super::listen::BYTES_A_TOKEN;
use super::tools::Tools;
use super::write::{Cut, Writer};
use crate::metrics::{Seen, TurnEnd};
use crate::responses::emitter::{Ended, response_id};
use crate::responses::item::Item;
use crate::responses::object::Reason;
use crate::responses::request::Request;
use crate::responses::store::{Store, Stored};

impl Writer<'_> {
    pub(super) fn add_up(&mut self, heard: &Heard) {
        self.calls += heard.client_calls;
        if let Some(usage) = heard.usage {
            let sum = self.usage.get_or_insert_default();
            sum.input_tokens += usage.input_tokens;
            sum.cached_input_tokens += usage.cached_input_tokens;
            sum.output_tokens += usage.output_tokens;
            sum.reasoning_tokens += usage.reasoning_tokens;
        }
        let (sum, counts) = (&mut self.counts, heard.counts);
        sum.calls += counts.calls;
        sum.repairs += counts.repairs;
        sum.object_arguments += counts.object_arguments;
        sum.malformed += counts.malformed;
        sum.unknown_names += counts.unknown_names;
        sum.soft_mismatches += counts.soft_mismatches;
        sum.strict_failures += counts.strict_failures;
        sum.quoted += counts.quoted;
    }

    /// Nothing when nobody is there to hear the end.
    pub(super) async fn end(mut self: Box<Self>, cut: Option<Cut>, also: Option<&Store>) -> Option<Answered> {
        self.count(cut.as_ref());
        self.watch.ended();
        let now = self.responder.seconds();
        // When the backend does not say, it is estimated.
        let said = Usage { output_tokens: self.said_bytes / BYTES_A_TOKEN, ..Usage::default() };
        let usage = Some(self.usage.unwrap_or(said));
        let error = match &cut {
            Some(Cut::Failed(error)) => Some(error.clone()),
            Some(Cut::Cancelled | Cut::Incomplete(_) | Cut::Gone) | None => None,
        };
        let Writer {
            emitter,
            out,
            request,
            mut conversation,
            added,
            unique,
            responder,
            mut trail,
            trailed,
            tools,
            ..
        } = *self;
        let ended = match cut {
            None => emitter.complete(usage, now),
            Some(Cut::Incomplete(reason)) => emitter.incomplete(reason, usage),
            Some(Cut::Cancelled) => emitter.incomplete(Reason::Cancelled, usage),
            Some(Cut::Failed(error)) => emitter.fail(error, usage),
            Some(Cut::Gone) => return None,
        };
        let kept = if request.store { Some(&*responder.parts.store) } else { also };
        if let Some(store) = kept
            && error.is_none()
        {
            trail.extend(ended.output[trailed..].iter().map(|sent| Item::from(sent.item.clone())));
            let input = conversation.split_off(conversation.len() - added);
            keep(store, &request, &unique, input, std::mem::take(&mut trail), &ended).await;
        }
        // The last thing that can go wrong is that nobody is there to hear it.
        let _unheard = out.send(ended.bytes.clone()).await;
        let spent = Spent { _request: request, _conversation: conversation, _trail: trail, _tools: tools };
        Some(Answered { ended, error, _spent: spent })
    }

    fn count(&self, cut: Option<&Cut>) {
        let metrics = &self.responder.parts.metrics;
        let end = match cut {
            None => TurnEnd::Completed,
            Some(Cut::Incomplete(_)) => TurnEnd::Incomplete,
            Some(Cut::Failed(_)) => TurnEnd::Failed,
            Some(Cut::Cancelled | Cut::Gone) => TurnEnd::Interrupted,
        };
        metrics.turn_ended(end, self.usage.unwrap_or_default());
        let counts = self.counts;
        for (what, times) in [
            (Seen::Call, counts.calls),
            (Seen::Repair, counts.repairs),
            (Seen::ParseFailure, counts.malformed),
            (Seen::UnknownName, counts.unknown_names),
            (Seen::Echo, self.echoed),
        ] {
            (0..times).for_each(|_| metrics.seen(what));
        }
        let names: Vec<&str> = self.request.tools.iter().map(|tool| tool.name.as_str()).collect();
        tracing::info!(
            response = %response_id(&self.unique),
            stream = self.request.stream,
            end = ?end,
            code = match cut { Some(Cut::Failed(error)) => error.code, _ => "" },
            turns = self.turns,
            calls = counts.calls,
            parse_failures = counts.malformed,
            strict_failures = counts.strict_failures,
            unknown_names = counts.unknown_names,
            repaired_arguments = counts.repairs,
            soft_mismatches = counts.soft_mismatches,
            quoted = counts.quoted,
            echoed_calls = self.echoed,
            asked_again = self.asked_again,
            millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            tools = ?names,
            "answered"
        );
    }
}

/// What an answer was made of. To give it back takes a while, so whoever sends the answer can do that first.
pub(super) struct Spent {
    _request: Box<Request>,
    _conversation: Vec<Item>,
    _trail: Vec<Item>,
    _tools: Arc<Tools>,
}

async fn keep(
    store: &Store,
    request: &Request,
    unique: &str,
    input: Vec<Item>,
    output: Vec<Item>,
    ended: &Ended,
) {
    let mut number = 0_u32;
    let mut name = || {
        number += 1;
        format!("in_{unique}_{number:03}")
    };
    let input = input.into_iter().map(|item| item.identified(&mut name)).collect();
    let stored = Stored {
        id: response_id(unique),
        previous: request.previous_response_id.clone(),
        input,
        output,
        object: String::from_utf8_lossy(&ended.object_json()).into_owned(),
    };
    // An answer that cannot be kept is still an answer; whoever continues it is told that it is not there.
    if let Err(error) = store.keep(stored).await {
        tracing::error!(%error, "a response could not be kept");
    }
}
