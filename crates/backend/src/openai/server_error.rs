//! Maps errors of the model's server to ours.

use envelope::is_invisible;
use http::StatusCode;
use serde::Deserialize;

use super::api_key::ApiKey;
use crate::{BackendError, BackendErrorKind};

/// Limit of the server's own text in a message.
const MOST_CHARS: usize = 400;

/// Both spellings that are common: an object with a message, or a text.
#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorMember,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorMember {
    Object(ErrorObject),
    Text(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorObject {
    pub(super) code: Option<serde_json::Value>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) message: Option<String>,
}

pub(super) fn from_status(status: StatusCode, body: &[u8], key: &ApiKey) -> BackendError {
    if matches!(status.as_u16(), 401 | 403) {
        return unauthorized(&format!("answered {}", status.as_u16()));
    }
    let said = match serde_json::from_slice::<ErrorBody>(body) {
        Ok(ErrorBody { error: ErrorMember::Object(object) }) => object,
        Ok(ErrorBody { error: ErrorMember::Text(message) }) => {
            ErrorObject { message: Some(message), ..ErrorObject::default() }
        }
        Err(_) => ErrorObject::default(),
    };
    let kind = match status.as_u16() {
        _ if said.is_about_context() => BackendErrorKind::ContextTooLong,
        404 => BackendErrorKind::UnknownModel,
        408 | 504 => BackendErrorKind::Timeout,
        429 => BackendErrorKind::RateLimited,
        503 | 529 => BackendErrorKind::Overloaded,
        400..=499 => BackendErrorKind::BadRequest,
        _ => BackendErrorKind::Upstream,
    };
    let words = said.message(&format!("the model's server answered {}", status.as_u16()), key);
    BackendError::new(kind, words)
}

/// Never with the server's text: servers quote the key, whole or in part.
fn unauthorized(what: &str) -> BackendError {
    let message = format!(
        "the model's server {what}; look at the key that tollgate was started with, and at its permissions"
    );
    BackendError::new(BackendErrorKind::Unauthorized, message)
}

impl ErrorObject {
    /// An error inside of a stream.
    pub(super) fn into_error(self, key: &ApiKey) -> BackendError {
        let code = self
            .code
            .as_ref()
            .and_then(serde_json::Value::as_str)
            .or(self.kind.as_deref())
            .unwrap_or_default();
        let kind = match code {
            "invalid_api_key" | "authentication_error" | "permission_error" => {
                return unauthorized("refused its key in the middle of its answer");
            }
            _ if self.is_about_context() => BackendErrorKind::ContextTooLong,
            "rate_limit_exceeded" | "rate_limit_error" => BackendErrorKind::RateLimited,
            "server_overloaded" | "overloaded_error" => BackendErrorKind::Overloaded,
            "invalid_request_error" => BackendErrorKind::BadRequest,
            _ => BackendErrorKind::Upstream,
        };
        BackendError::new(kind, self.message("the model's server failed in the middle of its answer", key))
    }

    fn is_about_context(&self) -> bool {
        let code = self.code.as_ref().and_then(serde_json::Value::as_str);
        code == Some("context_length_exceeded")
            || self.message.as_deref().is_some_and(|message| message.contains("context length"))
    }

    /// Returns the server's text on one line and without the key, or `otherwise` if it holds an address.
    fn message(&self, otherwise: &str, key: &ApiKey) -> String {
        match &self.message {
            Some(message) if !message.trim().is_empty() && !message.contains("://") => {
                // The key is removed before the text is cut, or half of it could stay.
                let line: String = key
                    .redact(message)
                    .chars()
                    .map(|c| if is_invisible(c) { ' ' } else { c })
                    .take(MOST_CHARS)
                    .collect();
                format!("{otherwise}: {}", line.trim())
            }
            Some(_) | None => otherwise.to_owned(),
        }
    }
}
