//! The request that clients send over a WebSocket before they have a question: it is answered, with nothing.

use bytes::Bytes;

use super::{Responder, resolve};
use crate::responses::emitter::{Emitter, response_id};
use crate::responses::event::{Framing, error_event};
use crate::responses::request::Request;
use crate::responses::store::{Store, Stored};

impl Responder {
    /// The events of an empty answer, which `own` remembers so that it can be continued.
    pub async fn warm_up(&self, request: &Request, own: &Store) -> Bytes {
        let unique = (self.parts.unique)();
        let input = match resolve::earlier(request, &self.parts.store, Some(own)).and_then(|_earlier| {
            resolve::resolved(Vec::new(), request.input.clone(), &self.parts.store, Some(own))
        }) {
            Ok(input) => input,
            Err(error) => return error_event(Framing::Lines, &error),
        };
        let mut emitter = Emitter::new(request, &unique, self.seconds(), Framing::Lines);
        emitter.start();
        let first = emitter.take();
        let ended = emitter.complete(None, self.seconds());
        let stored = Stored {
            id: response_id(&unique),
            previous: request.previous_response_id.clone(),
            input,
            output: Vec::new(),
            object: String::from_utf8_lossy(&ended.object_json()).into_owned(),
        };
        if let Err(error) = own.keep(stored).await {
            tracing::error!(%error, "a response could not be kept");
        }
        [first, ended.bytes].concat().into()
    }
}
