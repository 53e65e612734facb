//! `POST /v1/responses/compact`: compacts a conversation into one item.

use std::sync::Arc;

use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use serde_json::json;

use super::json_response;
use crate::answer::Responder;
use crate::error::ApiError;
use http_edge::{BODY_LIMIT, error_response, read_body};

pub(super) async fn compact(State(responder): State<Arc<Responder>>, http: HttpRequest) -> Response {
    match compacted(&responder, http).await {
        Ok(response) => response,
        Err(error) => error_response(&error),
    }
}

async fn compacted(responder: &Responder, http: HttpRequest) -> Result<Response, ApiError> {
    let body = read_body(http.into_body(), BODY_LIMIT).await?;
    let request = responder.parse(&body)?;
    let object = responder.compact(&request)?;
    Ok(json_response(json!(object).to_string()))
}
