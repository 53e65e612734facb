//! Stored responses: retrieve, list input items, delete; and cancel one that is being written.

use std::sync::Arc;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::json_response;
use crate::answer::{Responder, unknown_response};
use crate::error::ApiError;
use crate::item::ConversationItem;
use http_edge::error_response;

/// The most items in a list.
const MOST_ITEMS: usize = 100;
/// The default number of items in a list.
const DEFAULT_ITEMS: usize = 20;

/// The id in the path, or why it cannot be parsed.
type PathId = Result<Path<String>, PathRejection>;

/// The query of a stored response.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RetrieveQuery {
    stream: Option<String>,
}

pub(super) async fn retrieve(
    State(responder): State<Arc<Responder>>,
    id: PathId,
    asked: Result<Query<RetrieveQuery>, QueryRejection>,
) -> Response {
    let Ok(Path(id)) = id else { return error_response(&bad_id()) };
    // A client that gets an object where it waits for events would wait for ever.
    if !matches!(
        asked.map(|Query(asked)| asked.stream).as_ref().map(Option::as_deref),
        Ok(None | Some("false"))
    ) {
        return error_response(&ApiError::invalid(
            "stream",
            "unsupported_value",
            "a stored response is one object and is not streamed again; leave `stream` out",
        ));
    }
    match responder.store().get(&id) {
        Some(stored) => json_response(stored.object.clone()),
        None => error_response(&unknown_response(&id)),
    }
}

pub(super) async fn delete(State(responder): State<Arc<Responder>>, id: PathId) -> Response {
    let Ok(Path(id)) = id else { return error_response(&bad_id()) };
    match responder.store().remove(&id).await {
        Ok(true) => {
            json_response(json!({ "id": id, "object": "response.deleted", "deleted": true }).to_string())
        }
        Ok(false) => error_response(&unknown_response(&id)),
        Err(error) => {
            tracing::error!(%error, "a response could not be deleted");
            error_response(&ApiError::server(
                500,
                "store_failed",
                "the response is forgotten, but its file could not be removed; look at the server's log",
            ))
        }
    }
}

pub(super) async fn cancel(State(responder): State<Arc<Responder>>, id: PathId) -> Response {
    let Ok(Path(id)) = id else { return error_response(&bad_id()) };
    match responder.cancel(&id).await {
        Ok(object) => json_response(object),
        Err(error) => error_response(&error),
    }
}

/// The query of a list.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ListQuery {
    limit: Option<String>,
    order: Option<String>,
    after: Option<String>,
}

pub(super) async fn input_items(
    State(responder): State<Arc<Responder>>,
    id: PathId,
    asked: Result<Query<ListQuery>, QueryRejection>,
) -> Response {
    let Ok(Path(id)) = id else { return error_response(&bad_id()) };
    let Ok(Query(asked)) = asked else { return error_response(&bad_query()) };
    let Some(stored) = responder.store().get(&id) else { return error_response(&unknown_response(&id)) };
    match page(&stored.input, &asked) {
        Ok(page) => json_response(page.to_string()),
        Err(error) => error_response(&error),
    }
}

fn page(input: &[ConversationItem], asked: &ListQuery) -> Result<Value, ApiError> {
    let limit = match asked.limit.as_deref().map(str::parse::<usize>) {
        None => DEFAULT_ITEMS,
        Some(Ok(limit)) if (1..=MOST_ITEMS).contains(&limit) => limit,
        Some(_) => {
            return Err(ApiError::invalid(
                "limit",
                "invalid_value",
                format!("`limit` is a number from 1 to {MOST_ITEMS}"),
            ));
        }
    };
    let mut items: Vec<&ConversationItem> = input.iter().collect();
    match asked.order.as_deref() {
        None | Some("desc") => items.reverse(),
        Some("asc") => {}
        Some(_) => {
            return Err(ApiError::invalid("order", "invalid_value", "`order` is `asc` or `desc`"));
        }
    }
    if let Some(after) = &asked.after {
        let at = items.iter().position(|item| item.id() == Some(after)).ok_or_else(|| {
            ApiError::invalid("after", "item_not_found", format!("no item `{after}` is in this list"))
        })?;
        items.drain(..=at);
    }
    let more = items.len() > limit;
    items.truncate(limit);
    let id = |item: Option<&&ConversationItem>| item.and_then(|item| item.id()).map(str::to_owned);
    Ok(json!({
        "object": "list",
        "data": items.iter().map(|item| item.to_wire()).collect::<Vec<_>>(),
        "first_id": id(items.first()),
        "last_id": id(items.last()),
        "has_more": more,
    }))
}

fn bad_id() -> ApiError {
    ApiError::invalid(
        "response_id",
        "invalid_value",
        "the id in the path is not UTF-8 once its percent-escapes are read; use the `id` of a response as it is",
    )
}

fn bad_query() -> ApiError {
    let mut error = ApiError::invalid(
        "",
        "invalid_query",
        "the query cannot be read; give `limit`, `order` and `after` at most once each",
    );
    error.param = None;
    error
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::Body;
    use backend::scripted::{Script, ScriptedModel};
    use engine::ManualClock;
    use expect_test::expect;
    use http::Request;
    use http_body_util::BodyExt;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    use super::{ListQuery, page};
    use crate::answer::{AnswerSettings, Responder, ResponderParts};
    use crate::item::{ConversationItem, ItemContent, ItemRole};
    use crate::router::router;
    use crate::store::{ResponseStore, StoreLimits};
    use http_edge::metrics::Metrics;

    fn items() -> Vec<ConversationItem> {
        (1..=3)
            .map(|number| ConversationItem::Message {
                id: Some(format!("in_{number}")),
                role: ItemRole::User,
                content: vec![ItemContent::Text(number.to_string())],
                phase: None,
            })
            .collect()
    }

    fn listed(limit: Option<&str>, order: Option<&str>, after: Option<&str>) -> Result<String, String> {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let asked = ListQuery { limit: own(limit), order: own(order), after: own(after) };
        let page = page(&items(), &asked).map_err(|error| error.message)?;
        let ids: Vec<&str> =
            page["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
        Ok(format!("{} {}", ids.join(" "), page["has_more"]))
    }

    #[test]
    fn items_are_listed_newest_first_in_pages() {
        assert_eq!(listed(None, None, None).unwrap(), "in_3 in_2 in_1 false");
        assert_eq!(listed(Some("2"), Some("asc"), None).unwrap(), "in_1 in_2 true");
        assert_eq!(listed(Some("2"), Some("asc"), Some("in_2")).unwrap(), "in_3 false");
        assert_eq!(listed(Some("0"), None, None).unwrap_err(), "`limit` is a number from 1 to 100");
        assert_eq!(listed(None, Some("up"), None).unwrap_err(), "`order` is `asc` or `desc`");
        assert_eq!(listed(None, None, Some("in_9")).unwrap_err(), "no item `in_9` is in this list");
    }

    async fn asked(method: &str, path: &str) -> String {
        let responder = Responder::new(ResponderParts {
            model: Arc::new(ScriptedModel::new("a test", Script::parse(r#"{"text": "unheard"}"#).unwrap())),
            store: Arc::new(ResponseStore::in_memory(StoreLimits::default())),
            metrics: Arc::new(Metrics::new()),
            clock: Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap())),
            unique: Arc::new(|| "u1".to_owned()),
            settings: AnswerSettings::default(),
            toolbox: None,
        });
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let answer = TowerToHyperService::new(router(Arc::new(responder))).call(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        format!("{status} {}\n", String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_client_of_another_api_learns_what_to_change() {
        let mut said = asked("POST", "/v1/chat/completions").await;
        said += &asked("POST", "/v1/messages").await;
        expect![[r#"
            404 {"error":{"message":"This server speaks the Responses API (`POST /v1/responses`) and not the Chat Completions API: with the openai SDKs call `client.responses.create`, with the AI SDK `openai.responses(model)`, and in other programs choose the Responses API of OpenAI.","type":"not_found_error","param":null,"code":"unsupported_api"}}
            404 {"error":{"message":"This server speaks the Responses API (`POST /v1/responses`) and not the Messages API: choose OpenAI with the Responses API in your program.","type":"not_found_error","param":null,"code":"unsupported_api"}}
        "#]].assert_eq(&said);
    }

    #[tokio::test]
    async fn what_cannot_be_read_in_an_address_is_an_error_like_any_other() {
        let mut said = asked("GET", "/v1/responses/resp_1/input_items?limit=1&limit=2").await;
        said += &asked("GET", "/v1/responses/%ff/input_items").await;
        said += &asked("GET", "/v1/responses/%ff").await;
        said += &asked("GET", "/v1/responses/resp_1?stream=true").await;
        said += &asked("GET", "/v1/responses/resp_1?stream=false").await;
        said += &asked("DELETE", "/v1/responses/%ff").await;
        said += &asked("POST", "/v1/responses/%ff/cancel").await;
        expect![[r#"
            400 {"error":{"message":"the query cannot be read; give `limit`, `order` and `after` at most once each","type":"invalid_request_error","param":null,"code":"invalid_query"}}
            400 {"error":{"message":"the id in the path is not UTF-8 once its percent-escapes are read; use the `id` of a response as it is","type":"invalid_request_error","param":"response_id","code":"invalid_value"}}
            400 {"error":{"message":"the id in the path is not UTF-8 once its percent-escapes are read; use the `id` of a response as it is","type":"invalid_request_error","param":"response_id","code":"invalid_value"}}
            400 {"error":{"message":"a stored response is one object and is not streamed again; leave `stream` out","type":"invalid_request_error","param":"stream","code":"unsupported_value"}}
            404 {"error":{"message":"no response `resp_1` is kept; it was deleted, is too old, or was made with `store: false`","type":"not_found_error","param":null,"code":"response_not_found"}}
            400 {"error":{"message":"the id in the path is not UTF-8 once its percent-escapes are read; use the `id` of a response as it is","type":"invalid_request_error","param":"response_id","code":"invalid_value"}}
            400 {"error":{"message":"the id in the path is not UTF-8 once its percent-escapes are read; use the `id` of a response as it is","type":"invalid_request_error","param":"response_id","code":"invalid_value"}}
        "#]].assert_eq(&said);
    }
}
