//! `GET /v1/responses` as a WebSocket: requests one after the other on one connection, each event a message.
//!
//! A connection remembers its own answers, also those that are not to be kept, so that a client can continue with
//! `previous_response_id` and `store: false`. A continuation that fails makes it forget the answer that it
//! continued, since nobody can say any more what the client has seen of it.

mod ears;
#[cfg(test)]
mod tests;

use std::pin::pin;
use std::sync::Arc;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::response::Response;
use serde_json::Value;

use self::ears::{Ears, Heard, Over, Patience};
use crate::edge::{Admission, BODY_LIMIT, Drain, error_response};
use crate::responses::answer::{Out, Responder, outlet};
use crate::responses::error::{ApiError, ErrorType};
use crate::responses::event::{Framing, error_event};
use crate::responses::request::{self, Purpose, Request};
use crate::responses::store::{Store, StoreLimits};

/// What a connection remembers for itself.
const OWN: StoreLimits = StoreLimits { responses: 64, bytes: 16 << 20 };

pub(super) async fn upgrade(
    State(responder): State<Arc<Responder>>,
    drain: Option<Extension<Drain>>,
    admission: Option<Extension<Admission>>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let Ok(socket) = socket else { return error_response(&not_a_socket()) };
    let drain = drain.map(|Extension(drain)| drain);
    let admission = admission.map(|Extension(admission)| admission);
    socket
        .max_message_size(BODY_LIMIT)
        .max_frame_size(BODY_LIMIT)
        .on_upgrade(move |socket| Connection::new(responder, admission, socket, Patience::USUAL).serve(drain))
}

struct Connection {
    responder: Arc<Responder>,
    /// Who opened it, and whether they still may use it.
    admission: Option<Admission>,
    ears: Ears,
    own: Store,
}

impl Connection {
    fn new(
        responder: Arc<Responder>,
        admission: Option<Admission>,
        socket: WebSocket,
        patience: Patience,
    ) -> Connection {
        Connection { responder, admission, ears: Ears::new(socket, patience), own: Store::in_memory(OWN) }
    }

    async fn serve(mut self, drain: Option<Drain>) {
        let mut stopping = pin!(async {
            match drain {
                Some(mut drain) => drain.started().await,
                None => std::future::pending().await,
            }
        });
        let over = loop {
            let heard = match self.ears.take_waiting() {
                Some(text) => Ok(Heard::Text(text)),
                None => tokio::select! {
                    heard = self.ears.hear() => heard,
                    () = &mut stopping => {
                        Err(Over::because(close_code::RESTART, "the server is stopping; connect again"))
                    }
                },
            };
            if self.admission.as_ref().is_some_and(|admission| !admission.holds()) {
                break Over::because(close_code::POLICY, "the token of this client has been revoked");
            }
            let answered = match heard {
                Ok(Heard::Text(text)) => self.answer(&text).await,
                Ok(Heard::Binary) => self.refuse(&not_text()).await,
                Err(over) => break over,
            };
            if let Err(over) = answered {
                break over;
            }
            self.ears.rest();
        };
        self.ears.say_goodbye(over).await;
    }

    /// Answers one message. A request that makes no sense is answered with an error and ends nothing.
    async fn answer(&mut self, text: &str) -> Result<(), Over> {
        let mut request = match read(text) {
            Ok(request) => request,
            Err(error) => return self.refuse(&error).await,
        };
        request.client = self.admission.as_ref().map(|admission| admission.client().clone());
        let previous = request.previous_response_id.clone();
        let failed = match request.purpose {
            Purpose::WarmUp => {
                let bytes = self.responder.warm_up(&request, &self.own).await;
                self.ears.send(&bytes).await?;
                None
            }
            Purpose::Answer => self.generate(request).await?,
        };
        if let Some(error) = failed {
            if let Some(previous) = previous {
                // It only lives in memory, so it cannot fail to go.
                let _forgotten = self.own.remove(&previous).await;
            }
            if let Failed::Unanswered(error) = error {
                return self.refuse(&error).await;
            }
        }
        Ok(())
    }

    /// A client that leaves, before the turn has begun or while it runs, drops it, which interrupts it.
    async fn generate(&mut self, request: Box<Request>) -> Result<Option<Failed>, Over> {
        let Connection { responder, ears, own, .. } = self;
        let preparing = Box::pin(responder.prepare(request, Some(own)));
        let prepared = match ears.hear_during(preparing).await? {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Some(Failed::Unanswered(error))),
        };
        let (out, mut events) = outlet();
        let mut answer = pin!(write(responder, prepared, out, own));
        let mut answered = None;
        loop {
            tokio::select! {
                biased;
                bytes = events.next() => match bytes {
                    Some(bytes) => ears.send(&bytes).await?,
                    None => break,
                },
                done = &mut answer, if answered.is_none() => answered = Some(done),
                kept = ears.keep_next() => kept?,
            }
        }
        Ok(answered.unwrap_or(true).then_some(Failed::Answered))
    }

    async fn refuse(&mut self, error: &ApiError) -> Result<(), Over> {
        self.ears.send(&error_event(Framing::Lines, error)).await
    }
}

/// Why a request came to nothing.
enum Failed {
    /// Nothing was said yet.
    Unanswered(ApiError),
    /// The events say so.
    Answered,
}

/// Whether it failed.
async fn write(
    responder: &Responder,
    prepared: Box<crate::responses::answer::Prepared>,
    out: Out,
    own: &Store,
) -> bool {
    let answered = responder.write(prepared, Framing::Lines, out, Some(own)).await;
    answered.is_none_or(|answered| answered.error.is_some())
}

fn read(text: &str) -> Result<Box<Request>, ApiError> {
    let mut value = request::read_json(text.as_bytes())?;
    match value.get("type").and_then(Value::as_str) {
        Some("response.create") => {}
        Some(_) | None => {
            return Err(ApiError::invalid(
                "type",
                "unknown_message",
                "a message has the `type` `response.create` and the fields of a request beside it",
            ));
        }
    }
    // Some clients put the request into a field of its own.
    if let Some(inner) = value.get_mut("response").filter(|inner| inner.is_object()) {
        value = inner.take();
    }
    request::parse_value(value)
}

fn not_a_socket() -> ApiError {
    ApiError {
        status: 426,
        kind: ErrorType::InvalidRequest,
        code: "upgrade_required",
        message:
            "GET opens a WebSocket here; send a request with POST, or name a response: /v1/responses/{id}"
                .to_owned(),
        param: None,
    }
}

fn not_text() -> ApiError {
    let mut error = ApiError::invalid("", "not_text", "messages are JSON texts; binary ones are not read");
    error.param = None;
    error
}
