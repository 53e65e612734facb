//! The paths of the Responses face.

mod compact;
mod create;
mod driven;
mod kept;
mod models;
mod websocket;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::{get, post};
use http::Method;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use super::answer::Responder;
use crate::edge::Faces;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Names what was asked for and cannot be honoured.
const IGNORED: HeaderName = HeaderName::from_static("x-tollgate-ignored");

/// Adds everything below `/v1`.
pub fn mount(faces: impl Into<Faces>, responder: Arc<Responder>) -> Faces {
    let routes = router(responder.clone());
    faces.into().merge(routes).straight(Method::POST, "/v1/responses", move |http, arrival| {
        Box::pin(create::create_for(responder.clone(), http, Some(arrival.again())))
    })
}

fn router(responder: Arc<Responder>) -> Router {
    Router::new()
        .route("/v1/responses", post(create::create).get(websocket::upgrade))
        .route("/v1/responses/compact", post(compact::compact))
        .route("/v1/responses/{id}", get(kept::retrieve).delete(kept::delete))
        .route("/v1/responses/{id}/cancel", post(kept::cancel))
        .route("/v1/responses/{id}/input_items", get(kept::input_items))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{id}", get(models::retrieve))
        .with_state(responder)
}

fn json_response(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

fn name_ignored(response: &mut Response, ignored: &[String]) {
    if ignored.is_empty() {
        return;
    }
    if let Ok(names) = HeaderValue::from_str(&ignored.join(", ")) {
        response.headers_mut().insert(IGNORED, names);
    }
}
