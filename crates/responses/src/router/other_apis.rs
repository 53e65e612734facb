//! Paths of other model APIs, which clients call by their default settings. The answer names the setting to change.

use axum::response::Response;

use crate::error::ApiError;
use http_edge::error_response;

/// The Chat Completions API.
pub(super) async fn chat_completions() -> Response {
    hint(
        "Chat Completions",
        "with the openai SDKs call `client.responses.create`, with the AI SDK `openai.responses(model)`, and in other \
         programs choose the Responses API of OpenAI",
    )
}

/// The Messages API of Anthropic.
pub(super) async fn messages() -> Response {
    hint("Messages", "choose OpenAI with the Responses API in your program")
}

fn hint(api: &str, fix: &str) -> Response {
    error_response(&ApiError::not_found(
        "unsupported_api",
        format!("This server speaks the Responses API (`POST /v1/responses`) and not the {api} API: {fix}."),
    ))
}
