//! The models that can be asked.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use backend::ModelInfo;
use serde_json::{Value, json};

use super::json_response;
use crate::edge::error_response;
use crate::responses::answer::Responder;
use crate::responses::error::ApiError;

pub(super) async fn list(State(responder): State<Arc<Responder>>) -> Response {
    match responder.model().models().await {
        Ok(models) => {
            let data: Vec<Value> = models.iter().map(model_json).collect();
            json_response(json!({ "object": "list", "data": data }).to_string())
        }
        Err(error) => error_response(&error.into()),
    }
}

pub(super) async fn retrieve(State(responder): State<Arc<Responder>>, Path(id): Path<String>) -> Response {
    match responder.model().models().await {
        Ok(models) => match models.iter().find(|model| model.id == id) {
            Some(model) => json_response(model_json(model).to_string()),
            None => error_response(&ApiError::not_found(
                "model_not_found",
                format!("no model `{id}` is known here; `GET /v1/models` lists those that are"),
            )),
        },
        Err(error) => error_response(&error.into()),
    }
}

fn model_json(model: &ModelInfo) -> Value {
    json!({ "id": model.id, "object": "model", "created": 0, "owned_by": model.owned_by })
}
