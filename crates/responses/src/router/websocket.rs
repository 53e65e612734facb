//! `GET /v1/responses` as a WebSocket: requests one after the other on one connection, each event a message.
//!
//! A connection stores its own answers, also those with `store: false`, so that a client can continue them with
//! `previous_response_id`. A continuation that fails removes the answer that it continued, since it is unknown how much
//! of it the client has seen.

mod message_reader;
#[cfg(test)]
mod tests;

use std::pin::pin;
use std::sync::Arc;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::response::Response;
use serde_json::Value;

use self::message_reader::{ClientMessage, ConnectionClosed, MessageLimits, MessageReader};
use crate::answer::{EventSender, PreparedAnswer, Responder, event_channel};
use crate::error::{ApiError, ErrorType};
use crate::event::{EventFraming, error_event};
use crate::request::{self, Request, RequestPurpose};
use crate::store::{ResponseStore, StoreLimits};
use http_edge::{Admission, BODY_LIMIT, ShutdownSignal, error_response};

/// The limits of a connection's own store.
const OWN_STORE: StoreLimits = StoreLimits { responses: 64, bytes: 16 << 20 };

pub(super) async fn upgrade(
    State(responder): State<Arc<Responder>>,
    shutdown: Option<Extension<ShutdownSignal>>,
    admission: Option<Extension<Admission>>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let Ok(socket) = socket else { return error_response(&upgrade_required()) };
    let shutdown = shutdown.map(|Extension(shutdown)| shutdown);
    let admission = admission.map(|Extension(admission)| admission);
    socket.max_message_size(BODY_LIMIT).max_frame_size(BODY_LIMIT).on_upgrade(move |socket| {
        ResponsesSocket::new(responder, admission, socket, MessageLimits::DEFAULT).serve(shutdown)
    })
}

/// One WebSocket connection.
struct ResponsesSocket {
    responder: Arc<Responder>,
    /// The client that opened it, and whether its token is still valid.
    admission: Option<Admission>,
    message_reader: MessageReader,
    own: ResponseStore,
}

impl ResponsesSocket {
    fn new(
        responder: Arc<Responder>,
        admission: Option<Admission>,
        socket: WebSocket,
        limits: MessageLimits,
    ) -> ResponsesSocket {
        ResponsesSocket {
            responder,
            admission,
            message_reader: MessageReader::new(socket, limits),
            own: ResponseStore::in_memory(OWN_STORE),
        }
    }

    async fn serve(mut self, shutdown: Option<ShutdownSignal>) {
        let mut stopping = pin!(async {
            match shutdown {
                Some(mut shutdown) => shutdown.started().await,
                None => std::future::pending().await,
            }
        });
        let closed = loop {
            let message = match self.message_reader.take_waiting() {
                Some(text) => Ok(ClientMessage::Text(text)),
                None => tokio::select! {
                    message = self.message_reader.next() => message,
                    () = &mut stopping => {
                        Err(ConnectionClosed::because(close_code::RESTART, "the server is stopping; connect again"))
                    }
                },
            };
            if self.admission.as_ref().is_some_and(|admission| !admission.is_valid()) {
                break ConnectionClosed::because(
                    close_code::POLICY,
                    "the token of this client has been revoked",
                );
            }
            let answered = match message {
                Ok(ClientMessage::Text(text)) => self.answer(&text).await,
                Ok(ClientMessage::Binary) => self.refuse(&binary_message()).await,
                Err(closed) => break closed,
            };
            if let Err(closed) = answered {
                break closed;
            }
            self.message_reader.restart_idle_timer();
        };
        self.message_reader.close(closed).await;
    }

    /// Answers one message. An invalid request gets an error and does not end the connection.
    async fn answer(&mut self, text: &str) -> Result<(), ConnectionClosed> {
        let mut request = match read(&self.responder, text) {
            Ok(request) => request,
            Err(error) => return self.refuse(&error).await,
        };
        request.client = self.admission.as_ref().map(|admission| admission.client().clone());
        let previous = request.previous_response_id.clone();
        let failed = match request.purpose {
            RequestPurpose::WarmUp => {
                let bytes = self.responder.warm_up(&request, &self.own).await;
                self.message_reader.send(&bytes).await?;
                None
            }
            RequestPurpose::Answer => self.generate(request).await?,
        };
        if let Some(error) = failed {
            if let Some(previous) = previous {
                // The store is in memory, so this cannot fail.
                let _removed = self.own.remove(&previous).await;
            }
            if let RequestFailure::Unanswered(error) = error {
                return self.refuse(&error).await;
            }
        }
        Ok(())
    }

    /// Answers a request. A client that disconnects drops the answer, which interrupts the turn.
    async fn generate(&mut self, request: Box<Request>) -> Result<Option<RequestFailure>, ConnectionClosed> {
        let ResponsesSocket { responder, message_reader, own, .. } = self;
        let preparing = Box::pin(responder.prepare(request, Some(own)));
        let prepared = match message_reader.read_during(preparing).await? {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Some(RequestFailure::Unanswered(error))),
        };
        let (out, mut events) = event_channel();
        let mut answer = pin!(write(responder, prepared, out, own));
        let mut answered = None;
        loop {
            tokio::select! {
                biased;
                bytes = events.recv() => match bytes {
                    Some(bytes) => message_reader.send(&bytes).await?,
                    None => break,
                },
                done = &mut answer, if answered.is_none() => answered = Some(done),
                queued = message_reader.queue_next() => queued?,
            }
        }
        Ok(answered.unwrap_or(true).then_some(RequestFailure::Answered))
    }

    async fn refuse(&mut self, error: &ApiError) -> Result<(), ConnectionClosed> {
        self.message_reader.send(&error_event(EventFraming::Lines, error)).await
    }
}

/// Why a request failed.
enum RequestFailure {
    /// No event was sent.
    Unanswered(ApiError),
    /// The events contain the error.
    Answered,
}

/// Returns whether the answer failed.
async fn write(
    responder: &Responder,
    prepared: Box<PreparedAnswer>,
    out: EventSender,
    own: &ResponseStore,
) -> bool {
    let answered = responder.write(prepared, EventFraming::Lines, out, Some(own)).await;
    answered.is_none_or(|answered| answered.error.is_some())
}

fn read(responder: &Responder, text: &str) -> Result<Box<Request>, ApiError> {
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
    responder.parse_value(value)
}

fn upgrade_required() -> ApiError {
    ApiError {
        status: 426,
        kind: ErrorType::InvalidRequest,
        code: "upgrade_required",
        message:
            "GET opens a WebSocket here; send a request with POST, or name a response: /v1/responses/{id}"
                .to_owned(),
        param: None,
        retry_after: None,
    }
}

fn binary_message() -> ApiError {
    let mut error = ApiError::invalid("", "not_text", "messages are JSON texts; binary ones are not read");
    error.param = None;
    error
}
