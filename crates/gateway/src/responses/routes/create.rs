//! `POST /v1/responses`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use envelope::ClientId;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use super::driven::Driven;
use super::{json_response, name_ignored};
use crate::edge::{Again, BODY_LIMIT, error_response, read_body};
use crate::responses::answer::{Answered, Out, Prepared, Responder, outlet};
use crate::responses::error::ApiError;
use crate::responses::event::Framing;
use crate::responses::request::{self, Purpose};

/// Tells whatever stands in between not to collect the stream first.
const NO_BUFFERING: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

pub(super) async fn create(State(responder): State<Arc<Responder>>, http: HttpRequest) -> Response {
    let again = http.extensions().get::<Again>().cloned();
    create_for(responder, http, again).await
}

pub(super) async fn create_for(
    responder: Arc<Responder>,
    http: HttpRequest,
    again: Option<Again>,
) -> Response {
    match answer(responder, http, again).await {
        Ok(response) => response,
        Err(error) => error_response(&error),
    }
}

async fn answer(
    responder: Arc<Responder>,
    http: HttpRequest,
    again: Option<Again>,
) -> Result<Response, ApiError> {
    let client = http.extensions().get::<ClientId>().cloned();
    let mut request = request::parse(&read_body(http.into_body(), BODY_LIMIT).await?)?;
    request.client = client;
    if request.purpose == Purpose::WarmUp {
        return Err(ApiError::invalid(
            "generate",
            "unsupported_value",
            "`generate: false` warms up a WebSocket and means nothing here; leave it out",
        ));
    }
    let stream = request.stream;
    let prepared = Box::pin(responder.prepare(request, None)).await?;
    if stream { Ok(streamed(responder, prepared, again)) } else { whole(&responder, prepared, again).await }
}

fn streamed(responder: Arc<Responder>, prepared: Box<Prepared>, again: Option<Again>) -> Response {
    let ignored = prepared.ignored().to_vec();
    let (out, reader) = outlet();
    let out = out.polled_by(again.clone());
    let answer = async move {
        // What came of it is in the stream.
        let answered = responder.write(prepared, Framing::Stream, out, None).await;
        if let Some(connection) = again {
            connection.drop_later(answered);
        }
    };
    let mut response = Response::new(Body::new(Driven::new(answer, reader)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(NO_BUFFERING.0, NO_BUFFERING.1);
    name_ignored(&mut response, &ignored);
    response
}

async fn whole(
    responder: &Responder,
    prepared: Box<Prepared>,
    again: Option<Again>,
) -> Result<Response, ApiError> {
    let ignored = prepared.ignored().to_vec();
    let answered = responder.write(prepared, Framing::Nothing, Out::nobody(), None).await;
    match answered {
        // Clients take a 200 that says "failed" for a broken answer.
        Some(Answered { error: Some(error), .. }) => Err(error),
        Some(answered) => {
            let mut response = json_response(answered.ended.object_json());
            name_ignored(&mut response, &ignored);
            if let Some(connection) = again {
                connection.drop_later(answered);
            }
            Ok(response)
        }
        None => Err(ApiError::server(500, "internal_error", "the answer was lost")),
    }
}
