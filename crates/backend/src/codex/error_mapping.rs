//! Maps errors of the app-server to ours.
//!
//! Its texts name the address of the model's service, and some are a whole HTTP body. A client gets a sentence of ours,
//! or the service's text without addresses.

use serde_json::Value;

use super::notification::TurnError;
use super::protocol::RpcError;
use crate::{BackendError, BackendErrorKind, FinishReason};

/// Limit of foreign text in a message, in bytes.
const MAX_WORDS: usize = 600;

/// How a failed turn ends: some failures are only a model that was cut short.
pub(super) fn outcome_of(error: &TurnError) -> Result<FinishReason, BackendError> {
    if let Some(reason) = error.message.split("Incomplete response returned, reason: ").nth(1) {
        return if reason.trim() == "content_filter" {
            Ok(FinishReason::ContentFilter)
        } else {
            Ok(FinishReason::Length)
        };
    }
    let (word, status) = info(&error.codex_error_info);
    let failed = |kind, message: &str| Err(BackendError::new(kind, message));
    match word {
        "contextWindowExceeded" => {
            failed(BackendErrorKind::ContextTooLong, "the history is longer than the model can take")
        }
        "rateLimitExceeded" => {
            failed(BackendErrorKind::RateLimited, "the model's service limits the rate of requests")
        }
        "usageLimitExceeded" | "sessionBudgetExceeded" => {
            failed(BackendErrorKind::RateLimited, "the allowance of the codex account is used up")
        }
        "serverOverloaded" | "flexUnavailable" | "policyCapacityUnavailable" => {
            failed(BackendErrorKind::Overloaded, "the model's service has too much to do; try again later")
        }
        "modelNotFound" => {
            failed(BackendErrorKind::UnknownModel, "the model's service does not know this model")
        }
        "unauthorized" => failed(BackendErrorKind::Unauthorized, "codex is not logged in; run `codex login`"),
        "cyberPolicy" | "misalignmentPolicyViolation" => Ok(FinishReason::ContentFilter),
        "internalServerError" => failed(BackendErrorKind::Upstream, "the model's service failed"),
        "badRequest" => Err(BackendError::new(BackendErrorKind::BadRequest, sanitized(&error.message))),
        _ => Err(match status {
            Some(status) => by_status(status),
            None if word == "httpConnectionFailed" || word == "responseStreamConnectionFailed" => {
                BackendError::new(BackendErrorKind::Unavailable, "the model's service cannot be reached")
            }
            None => by_text(&error.message),
        }),
    }
}

/// The answer to a request of ours was an error.
pub(super) fn refused(method: &str, error: &RpcError) -> BackendError {
    let words = sanitized(&error.message);
    match error.code {
        RpcError::OVERLOADED => BackendError::new(
            BackendErrorKind::Overloaded,
            "the codex app-server has too much to do; try again later",
        ),
        -32600 | -32602 => {
            BackendError::new(BackendErrorKind::BadRequest, format!("codex refuses `{method}`: {words}"))
        }
        _ => BackendError::new(BackendErrorKind::Upstream, format!("codex cannot do `{method}`: {words}")),
    }
}

/// The word of an error, and the status of HTTP that came with it.
fn info(info: &Value) -> (&str, Option<u64>) {
    match info {
        Value::String(word) => (word, None),
        Value::Object(members) => match members.iter().next() {
            Some((word, detail)) => (word, detail.get("httpStatusCode").and_then(Value::as_u64)),
            None => ("", None),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => ("", None),
    }
}

fn by_status(status: u64) -> BackendError {
    let (kind, what) = match status {
        401 | 403 => (BackendErrorKind::Unauthorized, "does not accept codex's credentials"),
        404 => {
            (BackendErrorKind::UnknownModel, "does not know this model, or is not at the configured address")
        }
        408 | 504 => (BackendErrorKind::Timeout, "took too long"),
        413 => (BackendErrorKind::ContextTooLong, "finds the request too large"),
        429 => (BackendErrorKind::RateLimited, "limits the rate of requests"),
        400..=499 => (BackendErrorKind::BadRequest, "refuses the request"),
        503 | 529 => (BackendErrorKind::Overloaded, "has too much to do"),
        _ => (BackendErrorKind::Upstream, "failed"),
    };
    BackendError::new(kind, format!("the model's service {what} (HTTP status {status})"))
}

/// A text that is all we have. A refusal of the service is its body as it came.
fn by_text(message: &str) -> BackendError {
    let Ok(body) = serde_json::from_str::<Value>(message) else {
        return BackendError::new(BackendErrorKind::Upstream, sanitized(message));
    };
    let error = body.get("error").unwrap_or(&body);
    let kind = match error.get("code").and_then(Value::as_str) {
        Some("context_length_exceeded") => BackendErrorKind::ContextTooLong,
        Some("model_not_found") => BackendErrorKind::UnknownModel,
        Some("invalid_api_key") => BackendErrorKind::Unauthorized,
        Some(_) | None => BackendErrorKind::BadRequest,
    };
    let said = error.get("message").or_else(|| body.get("detail")).and_then(Value::as_str);
    let said = said.map_or_else(|| "the model's service refuses the request".to_owned(), sanitized);
    BackendError::new(kind, said)
}

/// Returns foreign text on one line, without addresses, and cut to the limit.
fn sanitized(text: &str) -> String {
    let mut words = String::with_capacity(text.len().min(MAX_WORDS));
    for word in text.split(|letter: char| letter.is_whitespace() || letter.is_control()) {
        if word.is_empty() {
            continue;
        }
        let word = if word.contains("://") { "(an address)" } else { word };
        if words.len() + word.len() > MAX_WORDS {
            words.push_str(" …");
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    if words.is_empty() { "the model's service failed".to_owned() } else { words }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{MAX_WORDS, outcome_of, refused, sanitized};
    use crate::codex::notification::TurnError;
    use crate::codex::protocol::RpcError;

    #[track_caller]
    fn check(cases: &[(Value, &str)], expect: Expect) {
        let shown: Vec<String> = cases
            .iter()
            .map(|(info, message)| {
                let error = TurnError { message: (*message).to_owned(), codex_error_info: info.clone() };
                match outcome_of(&error) {
                    Ok(finish) => format!("{finish:?}"),
                    Err(error) => format!("{}: {error}", error.kind),
                }
            })
            .collect();
        expect.assert_eq(&shown.join("\n"));
    }

    #[test]
    fn every_recorded_failure_has_a_kind_and_no_address() {
        let url = "unexpected status 401 Unauthorized: fake 401, url: http://127.0.0.1:9911/v1/responses";
        let body = r#"{"error": {"message": "fake 400", "type": "invalid_request_error", "code": "fake_code", "param": null}}"#;
        check(
            &[
                (json!("other"), "stream disconnected before completion: the server failed"),
                (json!("rateLimitExceeded"), "rate limit exceeded: slow down"),
                (json!("contextWindowExceeded"), "Codex ran out of room in the model's context window."),
                (json!("other"), "Incomplete response returned, reason: max_output_tokens"),
                (json!("other"), "Incomplete response returned, reason: content_filter"),
                (json!("other"), body),
                (json!({"httpConnectionFailed": {"httpStatusCode": 401}}), url),
                (json!({"httpConnectionFailed": {"httpStatusCode": 404}}), url),
                (json!({"httpConnectionFailed": {"httpStatusCode": 503}}), url),
                (json!({"httpConnectionFailed": {"httpStatusCode": null}}), url),
                (json!({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}), "exceeded retry limit"),
                (json!("internalServerError"), "We're currently experiencing high demand"),
                (json!("unheardOf"), "see https://example.org/help\n\n  for more"),
                (json!(null), ""),
            ],
            expect![[r#"
                upstream: stream disconnected before completion: the server failed
                rate_limited: the model's service limits the rate of requests
                context_too_long: the history is longer than the model can take
                Length
                ContentFilter
                bad_request: fake 400
                unauthorized: the model's service does not accept codex's credentials (HTTP status 401)
                unknown_model: the model's service does not know this model, or is not at the configured address (HTTP status 404)
                overloaded: the model's service has too much to do (HTTP status 503)
                unavailable: the model's service cannot be reached
                rate_limited: the model's service limits the rate of requests (HTTP status 429)
                upstream: the model's service failed
                upstream: see (an address) for more
                upstream: the model's service failed"#]],
        );
    }

    #[test]
    fn a_refused_request_says_which() {
        let error = |code, message: &str| RpcError { code, message: message.to_owned() };
        let shown = [
            refused("thread/start", &error(-32600, "dynamic tool name is reserved: mcp")),
            refused("thread/start", &error(-32001, "Server overloaded; retry later.")),
            refused("turn/start", &error(-32603, "internal")),
        ]
        .map(|error| format!("{}: {error}", error.kind));
        expect![[r#"
            bad_request: codex refuses `thread/start`: dynamic tool name is reserved: mcp
            overloaded: the codex app-server has too much to do; try again later
            upstream: codex cannot do `turn/start`: internal"#]]
        .assert_eq(&shown.join("\n"));
    }

    proptest! {
        #[test]
        fn no_address_and_no_flood_reaches_a_client(text in "([a-z ,:\n]|https?://[a-z./:]{1,9}){0,400}") {
            let words = sanitized(&text);
            prop_assert!(!words.contains("://") && !words.contains('\n'), "{words}");
            prop_assert!(words.len() <= MAX_WORDS + 8);
        }
    }
}
