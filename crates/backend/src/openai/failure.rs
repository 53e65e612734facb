//! What an error of the model's server means.

use envelope::is_invisible;
use http::StatusCode;
use serde::Deserialize;

use super::secret::Secret;
use crate::{BackendError, ErrorKind};

/// How much of a server's own words is handed on.
const MOST_CHARS: usize = 400;

/// Both spellings that are common: an object with a message, or a text.
#[derive(Deserialize)]
struct Body {
    error: Said,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
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

pub(super) fn of_status(status: StatusCode, body: &[u8], secret: &Secret) -> BackendError {
    if matches!(status.as_u16(), 401 | 403) {
        return not_let_in(&format!("answered {}", status.as_u16()));
    }
    let said = match serde_json::from_slice::<Body>(body) {
        Ok(Body { error: Said::Object(object) }) => object,
        Ok(Body { error: Said::Text(message) }) => {
            ErrorObject { message: Some(message), ..ErrorObject::default() }
        }
        Err(_) => ErrorObject::default(),
    };
    let kind = match status.as_u16() {
        _ if said.is_about_context() => ErrorKind::ContextTooLong,
        404 => ErrorKind::UnknownModel,
        408 | 504 => ErrorKind::Timeout,
        429 => ErrorKind::RateLimited,
        503 | 529 => ErrorKind::Overloaded,
        400..=499 => ErrorKind::BadRequest,
        _ => ErrorKind::Upstream,
    };
    let words = said.words(&format!("the model's server answered {}", status.as_u16()), secret);
    BackendError::new(kind, words)
}

/// Never in the server's words: they like to quote the key, whole or in part.
fn not_let_in(what: &str) -> BackendError {
    let message = format!(
        "the model's server {what}; look at the key that tollgate was started with, and at its rights"
    );
    BackendError::new(ErrorKind::Unauthorized, message)
}

impl ErrorObject {
    /// An error inside of a stream.
    pub(super) fn into_error(self, secret: &Secret) -> BackendError {
        let code = self
            .code
            .as_ref()
            .and_then(serde_json::Value::as_str)
            .or(self.kind.as_deref())
            .unwrap_or_default();
        let kind = match code {
            "invalid_api_key" | "authentication_error" | "permission_error" => {
                return not_let_in("refused its key in the middle of its answer");
            }
            _ if self.is_about_context() => ErrorKind::ContextTooLong,
            "rate_limit_exceeded" | "rate_limit_error" => ErrorKind::RateLimited,
            "server_overloaded" | "overloaded_error" => ErrorKind::Overloaded,
            "invalid_request_error" => ErrorKind::BadRequest,
            _ => ErrorKind::Upstream,
        };
        BackendError::new(kind, self.words("the model's server failed in the middle of its answer", secret))
    }

    fn is_about_context(&self) -> bool {
        let code = self.code.as_ref().and_then(serde_json::Value::as_str);
        code == Some("context_length_exceeded")
            || self.message.as_deref().is_some_and(|message| message.contains("context length"))
    }

    /// The server's words if they are fit to be handed on: on one line, without an address and without the
    /// key.
    fn words(&self, otherwise: &str, secret: &Secret) -> String {
        match &self.message {
            Some(message) if !message.trim().is_empty() && !message.contains("://") => {
                // The key goes before the words are cut, or a half of it could stay.
                let line: String = secret
                    .hide(message)
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
