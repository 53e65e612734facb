//! The routes of the Responses API.

mod compact;
mod create;
mod other_apis;
mod stored_responses;
mod models;
mod websocket;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::{any, get, post};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use super::answer::Responder;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Names the options that cannot be honoured.
const IGNORED: HeaderName = HeaderName::from_static("x-tollgate-ignored");

/// Returns the router of everything below `/v1`.
pub fn router(responder: Arc<Responder>) -> Router {
    Router::new()
        .route("/v1/responses", post(create::create).get(websocket::upgrade))
        .route("/v1/responses/compact", post(compact::compact))
        .route("/v1/responses/{id}", get(stored_responses::retrieve).delete(stored_responses::delete))
        .route("/v1/responses/{id}/cancel", post(stored_responses::cancel))
        .route("/v1/responses/{id}/input_items", get(stored_responses::input_items))
        .route("/v1/chat/completions", any(other_apis::chat_completions))
        .route("/v1/completions", any(other_apis::chat_completions))
        .route("/v1/messages", any(other_apis::messages))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{id}", get(models::retrieve))
        .with_state(responder)
}

fn json_response(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

fn set_ignored_header(response: &mut Response, ignored: &[String]) {
    if ignored.is_empty() {
        return;
    }
    if let Ok(names) = HeaderValue::from_str(&ignored.join(", ")) {
        response.headers_mut().insert(IGNORED, names);
    }
}
