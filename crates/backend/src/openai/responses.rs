//! The events of `/v1/responses`, as far as a text model has them.

use std::borrow::Cow;

use serde::Deserialize;

use super::delta::{self, Flat};
use super::failure::ErrorObject;
use super::heard::Heard;
use super::idle_talk::is_idle_talk;
use super::refrain::Refrain;
use super::secret::Secret;
use super::usage::{Details, counted};
use crate::{BackendError, ErrorKind, Finish, TurnEvent};

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

    /// Reads the event that a text begins with if it is like the last delta; says how long it is.
    pub(super) fn read_again(&mut self, text: &[u8], heard: &mut Heard) -> Option<usize> {
        let (refrain, place) = self.refrain.as_ref()?;
        let (words, length) = refrain.again(text)?;
        self.said(*place, words, heard);
        Some(length)
    }

    /// Reads one event; says whether it is the last. `lead` is what stood before its data.
    pub(super) fn read(&mut self, lead: &[u8], data: &[u8], heard: &mut Heard) -> bool {
        if data == b"[DONE]" {
            heard.error(BackendError::new(
                ErrorKind::Protocol,
                "the model's server ended its answer without saying how",
            ));
            return true;
        }
        if let Some((refrain, place)) = &mut self.refrain
            && let Some(words) = refrain.words(data)
        {
            if refrain.knows_less_than(lead)
                && let Some(more) = Refrain::of(lead, data)
            {
                *refrain = more;
            }
            let place = *place;
            self.said(place, words, heard);
            return false;
        }
        if is_idle_talk(data) {
            return false;
        }
        if let Some(flat) = delta::read(data).filter(|flat| flat.kind.ends_with(".delta")) {
            let Flat { kind, delta, output_index, summary_index, content_index } = flat;
            let place = Place { voice: Voice::of(kind), output_index, summary_index, content_index };
            if let Some(refrain) = Refrain::of(lead, data) {
                self.refrain = Some((refrain, place));
            }
            self.said(place, delta, heard);
            return false;
        }
        self.read_any(data, heard)
    }

    /// Apart: few events need a general reader, and it needs a lot of room.
    #[inline(never)]
    fn read_any(&mut self, data: &[u8], heard: &mut Heard) -> bool {
        let event: Event<'_> = match serde_json::from_slice(data) {
            Ok(event) => event,
            Err(_) => {
                let message = "the model's server sent an event in no form that is known";
                heard.error(BackendError::new(ErrorKind::Protocol, message));
                return true;
            }
        };
        match &*event.kind {
            "response.output_item.done" => {
                let sealed = event
                    .item
                    .filter(|item| item.kind.as_deref() == Some("reasoning"))
                    .and_then(|item| item.encrypted_content);
                if let Some(sealed) = sealed {
                    heard.event(TurnEvent::SealedReasoning(sealed));
                }
            }
            "response.completed" | "response.incomplete" => {
                last(event.response, heard);
                return true;
            }
            "response.failed" => {
                let error = event.response.and_then(|response| response.error).unwrap_or_default();
                heard.error(error.into_error(&self.secret));
                return true;
            }
            "error" => {
                let flat = ErrorObject { message: event.message, ..ErrorObject::default() };
                heard.error(event.error.unwrap_or(flat).into_error(&self.secret));
                return true;
            }
            kind => {
                let Event { output_index, summary_index, content_index, .. } = event;
                let place = Place { voice: Voice::of(kind), output_index, summary_index, content_index };
                if let Some(delta) = event.delta {
                    self.said(place, delta, heard);
                }
            }
        }
        false
    }

    /// Takes what was said, if anything.
    fn said(&mut self, place: Place, words: Cow<'_, str>, heard: &mut Heard) {
        match place.voice {
            Voice::Text if words.is_empty() => {}
            Voice::Text => {
                if self.message != place.output_index && std::mem::replace(&mut self.said, true) {
                    heard.event(TurnEvent::NextMessage);
                }
                self.message = place.output_index;
                heard.text(words);
            }
            Voice::Summary => heard.reasoning(place.summary_index.unwrap_or(0), words),
            Voice::Thoughts => heard.reasoning(place.content_index.unwrap_or(0), words),
            Voice::Refusal => heard.refusal(words),
            Voice::Other => {}
        }
    }
}

fn last(response: Option<ResponseBody>, heard: &mut Heard) {
    let (usage, incomplete) =
        response.map_or((None, None), |response| (response.usage, response.incomplete_details));
    if let Some(usage) = usage {
        heard.event(TurnEvent::Usage(counted(
            (usage.input_tokens, usage.input_tokens_details),
            (usage.output_tokens, usage.output_tokens_details),
        )));
    }
    heard.event(TurnEvent::Done(match incomplete.map(|incomplete| incomplete.reason.unwrap_or_default()) {
        None => Finish::Stop,
        Some(reason) if reason == "content_filter" => Finish::ContentFilter,
        Some(_) => Finish::Length,
    }));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
    use serde_json::json;

    use super::{Heard, Reader};

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
            let (mut heard, mut expected) = (Heard::default(), Heard::default());
            let (mut reader, mut forgetful) = (Reader::default(), Reader::default());
            for delta in &deltas {
                let event = format!("event: a\ndata: {delta}\n\n");
                match reader.read_again(event.as_bytes(), &mut heard) {
                    Some(length) => prop_assert_eq!(length, event.len()),
                    None => prop_assert!(!reader.read(b"event: a\ndata: ", delta.as_bytes(), &mut heard)),
                }
                forgetful.refrain = None;
                forgetful.read(b"", delta.as_bytes(), &mut expected);
            }
            prop_assert_eq!(format!("{heard:?}"), format!("{expected:?}"));
        }
    }
}
