//! `POST /v1/responses`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use envelope::ClientId;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use super::{json_response, set_ignored_header};
use crate::answer::{FinishedAnswer, PreparedAnswer, Responder, event_channel, event_stream};
use crate::error::ApiError;
use crate::event::EventFraming;
use crate::request::RequestPurpose;
use http_edge::{BODY_LIMIT, RequestId, error_response, read_body};

/// Asks proxies not to buffer the stream.
const NO_BUFFERING: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

pub(super) async fn create(State(responder): State<Arc<Responder>>, http: HttpRequest) -> Response {
    match answer(responder, http).await {
        Ok(response) => response,
        Err(error) => error_response(&error),
    }
}

async fn answer(responder: Arc<Responder>, http: HttpRequest) -> Result<Response, ApiError> {
    let client = http.extensions().get::<ClientId>().cloned();
    let request_id = http.extensions().get::<RequestId>().cloned();
    let mut request = responder.parse(&read_body(http.into_body(), BODY_LIMIT).await?)?;
    request.client = client;
    request.request_id = request_id;
    if request.purpose == RequestPurpose::WarmUp {
        return Err(ApiError::invalid(
            "generate",
            "unsupported_value",
            "`generate: false` warms up a WebSocket and means nothing here; leave it out",
        ));
    }
    let stream = request.stream;
    let prepared = Box::pin(responder.prepare(request, None)).await?;
    let ignored = prepared.ignored().to_vec();
    let mut response =
        if stream { streamed(responder, prepared) } else { complete(&responder, prepared).await? };
    set_ignored_header(&mut response, &ignored);
    Ok(response)
}

fn streamed(responder: Arc<Responder>, prepared: Box<PreparedAnswer>) -> Response {
    let (out, events) = event_channel();
    let answer = async move {
        // The events contain its outcome.
        responder.write(prepared, EventFraming::Stream, out, None).await;
    };
    let mut response = Response::new(Body::from_stream(event_stream(answer, events)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(NO_BUFFERING.0, NO_BUFFERING.1);
    response
}

async fn complete(responder: &Responder, prepared: Box<PreparedAnswer>) -> Result<Response, ApiError> {
    match responder.write(prepared, EventFraming::Nothing, None, None).await {
        // Clients take a 200 with the status "failed" for a broken answer.
        Some(FinishedAnswer { error: Some(error), .. }) => Err(error),
        Some(answered) => Ok(json_response(answered.response.object_json())),
        None => Err(ApiError::server(500, "internal_error", "the answer was lost")),
    }
}
