//! The events of `/v1/responses`, as far as a text model has them.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::Deserialize;

use super::delta::{self, Flat};
use super::failure::ErrorObject;
use super::refrain::Refrain;
use super::secret::Secret;
use super::usage::{Details, counted};
use crate::{BackendError, ErrorKind, Finish, TurnEvent};

type Events = VecDeque<Result<TurnEvent, BackendError>>;

#[derive(Default)]
pub(super) struct Reader {
    /// The message that text belongs to.
    message: Option<u64>,
    said: bool,
    secret: Secret,
    /// The last delta, and what its words are: the next one is likely to differ in nothing else.
    refrain: Option<(Refrain, Place)>,
}

/// Where words belong.
#[derive(Debug, Clone, Copy)]
struct Place {
    voice: Voice,
    output_index: Option<u64>,
    summary_index: Option<u32>,
    content_index: Option<u32>,
}

/// As what a model says something.
#[derive(Debug, Clone, Copy)]
enum Voice {
    Text,
    Summary,
    /// What models say that show their thoughts themselves, not a summary of them.
    Thoughts,
    Refusal,
    /// Of something that no text model has.
    Other,
}

impl Voice {
    fn of(kind: &str) -> Voice {
        match kind {
            "response.output_text.delta" => Voice::Text,
            "response.reasoning_summary_text.delta" => Voice::Summary,
            "response.reasoning_text.delta" => Voice::Thoughts,
            "response.refusal.delta" => Voice::Refusal,
            _ => Voice::Other,
        }
    }
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<Cow<'a, str>>,
    #[serde(default)]
    output_index: Option<u64>,
    #[serde(default)]
    summary_index: Option<u32>,
    #[serde(default)]
    content_index: Option<u32>,
    #[serde(default)]
    item: Option<ItemBody>,
    #[serde(default)]
    response: Option<ResponseBody>,
    #[serde(default)]
    error: Option<ErrorObject>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
struct ItemBody {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    encrypted_content: Option<String>,
}

#[derive(Deserialize)]
struct ResponseBody {
    #[serde(default)]
    error: Option<ErrorObject>,
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
    #[serde(default)]
    usage: Option<UsageBody>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: Option<String>,
}

/// Servers that do not count say `null`, which must not cost a finished answer.
#[derive(Default, Deserialize)]
#[serde(default)]
struct UsageBody {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<Details>,
    output_tokens_details: Option<Details>,
}

impl Reader {
    pub(super) fn new(secret: Secret) -> Reader {
        Reader { secret, ..Reader::default() }
    }

    /// Reads one event; says whether it is the last.
    pub(super) fn read(&mut self, data: &[u8], events: &mut Events) -> bool {
        if data == b"[DONE]" {
            events.push_back(Err(BackendError::new(
                ErrorKind::Protocol,
                "the model's server ended its answer without saying how",
            )));
            return true;
        }
        if let Some((refrain, place)) = &self.refrain
            && let Some(words) = refrain.words(data)
        {
            self.said(*place, Cow::Borrowed(words), events);
            return false;
        }
        if let Some(flat) = delta::read(data).filter(|flat| flat.kind.ends_with(".delta")) {
            let Flat { kind, delta, output_index, summary_index, content_index } = flat;
            let place = Place { voice: Voice::of(kind), output_index, summary_index, content_index };
            self.refrain = Refrain::of(data).map(|refrain| (refrain, place));
            self.said(place, delta, events);
            return false;
        }
        let event: Event<'_> = match serde_json::from_slice(data) {
            Ok(event) => event,
            Err(_) => {
                let message = "the model's server sent an event in no form that is known";
                events.push_back(Err(BackendError::new(ErrorKind::Protocol, message)));
                return true;
            }
        };
        match &*event.kind {
            "response.output_item.done" => {
                let sealed = event
                    .item
                    .filter(|item| item.kind.as_deref() == Some("reasoning"))
                    .and_then(|item| item.encrypted_content);
                events.extend(sealed.map(|sealed| Ok(TurnEvent::SealedReasoning(sealed))));
            }
            "response.completed" | "response.incomplete" => {
                events.extend(last(event.response));
                return true;
            }
            "response.failed" => {
                let error = event.response.and_then(|response| response.error).unwrap_or_default();
                events.push_back(Err(error.into_error(&self.secret)));
                return true;
            }
            "error" => {
                let flat = ErrorObject { message: event.message, ..ErrorObject::default() };
                events.push_back(Err(event.error.unwrap_or(flat).into_error(&self.secret)));
                return true;
            }
            kind => {
                let Event { output_index, summary_index, content_index, .. } = event;
                let place = Place { voice: Voice::of(kind), output_index, summary_index, content_index };
                if let Some(delta) = event.delta {
                    self.said(place, delta, events);
                }
            }
        }
        false
    }

    /// Takes what was said, if anything.
    fn said(&mut self, place: Place, words: Cow<'_, str>, events: &mut Events) {
        if words.is_empty() || matches!(place.voice, Voice::Other) {
            return;
        }
        let text = words.into_owned();
        match place.voice {
            Voice::Text => {
                if self.message != place.output_index && std::mem::replace(&mut self.said, true) {
                    events.push_back(Ok(TurnEvent::NextMessage));
                }
                self.message = place.output_index;
                events.push_back(Ok(TurnEvent::Text(text)));
            }
            Voice::Summary => {
                let part = place.summary_index.unwrap_or(0);
                events.push_back(Ok(TurnEvent::Reasoning { part, text }));
            }
            Voice::Thoughts => {
                let part = place.content_index.unwrap_or(0);
                events.push_back(Ok(TurnEvent::Reasoning { part, text }));
            }
            Voice::Refusal => events.push_back(Ok(TurnEvent::Refusal(text))),
            Voice::Other => {}
        }
    }
}

fn last(response: Option<ResponseBody>) -> Vec<Result<TurnEvent, BackendError>> {
    let (usage, incomplete) =
        response.map_or((None, None), |response| (response.usage, response.incomplete_details));
    let usage = usage.map(|usage| {
        Ok(TurnEvent::Usage(counted(
            (usage.input_tokens, usage.input_tokens_details),
            (usage.output_tokens, usage.output_tokens_details),
        )))
    });
    let finish = match incomplete.as_ref().map(|incomplete| incomplete.reason.as_deref().unwrap_or_default())
    {
        None => Finish::Stop,
        Some("content_filter") => Finish::ContentFilter,
        Some(_) => Finish::Length,
    };
    usage.into_iter().chain([Ok(TurnEvent::Done(finish))]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
    use serde_json::json;

    use super::Reader;

    fn deltas() -> impl Strategy<Value = String> {
        let kind = prop_oneof![
            4 => Just("response.output_text.delta"),
            1 => Just("response.reasoning_summary_text.delta"),
            1 => Just("response.refusal.delta"),
            1 => Just("response.custom.delta"),
        ];
        let words = prop_oneof![3 => "[a-z ]{0,9}", 1 => any::<String>()];
        (kind, words, 0_u64..2, any::<u32>()).prop_map(|(kind, words, index, number)| {
            json!({ "type": kind, "sequence_number": number, "output_index": index, "delta": words })
                .to_string()
        })
    }

    proptest! {
        #[test]
        fn what_a_delta_says_does_not_depend_on_the_one_before(deltas in prop::collection::vec(deltas(), 0..12)) {
            let (mut heard, mut expected) = (VecDeque::new(), VecDeque::new());
            let (mut reader, mut forgetful) = (Reader::default(), Reader::default());
            for delta in &deltas {
                reader.read(delta.as_bytes(), &mut heard);
                forgetful.refrain = None;
                forgetful.read(delta.as_bytes(), &mut expected);
            }
            prop_assert_eq!(format!("{heard:?}"), format!("{expected:?}"));
        }
    }
}
