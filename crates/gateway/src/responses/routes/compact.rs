//! `POST /v1/responses/compact`: a long conversation as one small item.

use std::sync::Arc;

use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use serde_json::json;

use super::json_response;
use crate::edge::{BODY_LIMIT, error_response, read_body};
use crate::responses::answer::Responder;
use crate::responses::error::ApiError;
use crate::responses::request;

pub(super) async fn compact(State(responder): State<Arc<Responder>>, http: HttpRequest) -> Response {
    match shortened(&responder, http).await {
        Ok(response) => response,
        Err(error) => error_response(&error),
    }
}

async fn shortened(responder: &Responder, http: HttpRequest) -> Result<Response, ApiError> {
    let body = read_body(http.into_body(), BODY_LIMIT).await?;
    let request = request::parse(&body)?;
    let object = responder.compact(&request)?;
    Ok(json_response(json!(object).to_string()))
}
