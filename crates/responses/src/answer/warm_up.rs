//! Warm-up requests: clients send them over a WebSocket before they have a question, and get an empty answer.

use bytes::Bytes;

use super::{Responder, resolve};
use crate::emitter::{AnswerEmitter, response_id};
use crate::event::{EventFraming, error_event};
use crate::request::Request;
use crate::store::{ResponseStore, StoredResponse};

impl Responder {
    /// Returns the events of an empty answer, which is stored in `own` so that it can be continued.
    pub async fn warm_up(&self, request: &Request, own: &ResponseStore) -> Bytes {
        let unique = (self.parts.unique)();
        let input =
            match resolve::earlier_conversation(request, &self.parts.store, Some(own)).and_then(|_earlier| {
                resolve::resolve_references(Vec::new(), request.input.clone(), &self.parts.store, Some(own))
            }) {
                Ok(input) => input,
                Err(error) => return error_event(EventFraming::Lines, &error),
            };
        let mut emitter = AnswerEmitter::new(request, &unique, self.seconds(), EventFraming::Lines);
        emitter.start();
        let first = emitter.take();
        let mut response = emitter.complete(None, self.seconds());
        let stored = StoredResponse {
            id: response_id(&unique),
            previous: request.previous_response_id.clone(),
            session: resolve::earlier_session(request, &self.parts.store, Some(own)),
            input,
            output: Vec::new(),
            object: response.object_json(),
        };
        if let Err(error) = own.insert(stored).await {
            tracing::error!(%error, "a response could not be stored");
            response.set_not_stored();
        }
        [first, response.last_events()].concat().into()
    }
}
