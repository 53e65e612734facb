//! The list of models.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use backend::ModelInfo;
use serde_json::{Value, json};

use super::json_response;
use crate::answer::Responder;
use crate::error::ApiError;
use http_edge::error_response;

pub(super) async fn list(State(responder): State<Arc<Responder>>) -> Response {
    match list_models(&responder).await {
        Ok(models) => {
            let data: Vec<Value> = models.iter().map(model_json).collect();
            json_response(json!({ "object": "list", "data": data }).to_string())
        }
        Err(error) => error_response(&error),
    }
}

pub(super) async fn retrieve(State(responder): State<Arc<Responder>>, Path(id): Path<String>) -> Response {
    match list_models(&responder).await {
        Ok(models) => match models.iter().find(|model| model.id == id) {
            Some(model) => json_response(model_json(model).to_string()),
            None => error_response(&ApiError::not_found(
                "model_not_found",
                format!("no model `{id}` is known here; `GET /v1/models` lists those that are"),
            )),
        },
        Err(error) => error_response(&error),
    }
}

/// Returns the models of the backend. Fails if it does not answer in time.
async fn list_models(responder: &Responder) -> Result<Vec<ModelInfo>, ApiError> {
    let limit = responder.parts.settings.start_limit;
    match tokio::time::timeout(limit, responder.model().models()).await {
        Ok(models) => Ok(models?),
        Err(_elapsed) => Err(ApiError::server(
            504,
            "backend_timeout",
            format!(
                "the model's server did not list its models within {} seconds; try again",
                limit.as_secs()
            ),
        )),
    }
}

fn model_json(model: &ModelInfo) -> Value {
    json!({ "id": model.id, "object": "model", "created": 0, "owned_by": model.owned_by })
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;

    use axum::extract::{Path, State};
    use backend::{BackendError, BoxFuture, Capabilities, ModelInfo, ModelTurn, TextModel, TurnStream};
    use engine::ManualClock;
    use http_body_util::BodyExt;
    use serde_json::{Value, json};

    use super::{list, retrieve};
    use crate::answer::{AnswerSettings, Responder, ResponderParts};
    use crate::store::{ResponseStore, StoreLimits};
    use http_edge::metrics::Metrics;

    struct SilentModel;

    impl TextModel for SilentModel {
        fn describe(&self) -> String {
            "mute".to_owned()
        }

        fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>> {
            Box::pin(pending())
        }

        fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>> {
            Box::pin(pending())
        }

        fn start(&self, _turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
            Box::pin(pending())
        }

        fn shut_down(&self) -> BoxFuture<'_, ()> {
            Box::pin(pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_list_its_models_is_not_waited_for() {
        let responder = Arc::new(Responder::new(ResponderParts {
            model: Arc::new(SilentModel),
            store: Arc::new(ResponseStore::in_memory(StoreLimits::default())),
            metrics: Arc::new(Metrics::new()),
            clock: Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap())),
            unique: Arc::new(|| "u1".to_owned()),
            settings: AnswerSettings::default(),
            toolbox: None,
        }));
        let all = list(State(responder.clone())).await;
        let one = retrieve(State(responder), Path("m".to_owned())).await;
        for response in [all, one] {
            assert_eq!(response.status(), 504);
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["error"]["code"], json!("backend_timeout"), "{body}");
        }
    }
}
