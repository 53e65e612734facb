//! What is wrong with a request, or went wrong with an answer, in the shape that clients of the API expect.

use backend::{BackendError, ErrorKind};
use serde_json::{Value, json};

/// One error object. The same one is the body of an HTTP error, the `error` of a failed response and the
/// payload of an `error` event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    pub status: u16,
    /// `invalid_request_error`, `authentication_error`, `server_error`, ...
    pub kind: ErrorType,
    /// Stable, for programs.
    pub code: &'static str,
    /// Names the field and says what was expected.
    pub message: String,
    /// The field, as a path into the request: `tools[1].parameters`.
    pub param: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorType {
    InvalidRequest,
    Authentication,
    Permission,
    NotFound,
    RateLimit,
    Server,
}

impl ErrorType {
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorType::InvalidRequest => "invalid_request_error",
            ErrorType::Authentication => "authentication_error",
            ErrorType::Permission => "permission_error",
            ErrorType::NotFound => "not_found_error",
            ErrorType::RateLimit => "rate_limit_error",
            ErrorType::Server => "server_error",
        }
    }
}

impl ApiError {
    /// A field that is wrong.
    #[cold]
    pub fn invalid(param: impl Into<String>, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError {
            status: 400,
            kind: ErrorType::InvalidRequest,
            code,
            message: message.into(),
            param: Some(param.into()),
        }
    }

    #[cold]
    pub fn not_found(code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { status: 404, kind: ErrorType::NotFound, code, message: message.into(), param: None }
    }

    /// The model's fault or ours, not the client's.
    #[cold]
    pub fn server(status: u16, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { status, kind: ErrorType::Server, code, message: message.into(), param: None }
    }

    /// The body of an HTTP error.
    pub fn body(&self) -> Value {
        json!({ "error": {
            "message": self.message, "type": self.kind.as_str(), "param": self.param, "code": self.code,
        }})
    }

    /// The `error` of a failed response.
    pub fn in_response(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }
}

impl From<BackendError> for ApiError {
    fn from(error: BackendError) -> ApiError {
        let (status, kind, code) = match error.kind {
            ErrorKind::Unavailable => (503, ErrorType::Server, "backend_unavailable"),
            ErrorKind::Overloaded => (503, ErrorType::Server, "server_overloaded"),
            ErrorKind::RateLimited => (429, ErrorType::RateLimit, "rate_limit_exceeded"),
            ErrorKind::ContextTooLong => (400, ErrorType::InvalidRequest, "context_length_exceeded"),
            ErrorKind::BadRequest => (400, ErrorType::InvalidRequest, "backend_refused"),
            ErrorKind::UnknownModel => (404, ErrorType::NotFound, "model_not_found"),
            ErrorKind::Unauthorized => (502, ErrorType::Server, "backend_unauthorized"),
            ErrorKind::Timeout => (504, ErrorType::Server, "backend_timeout"),
            ErrorKind::Died => (502, ErrorType::Server, "backend_died"),
            ErrorKind::Protocol => (502, ErrorType::Server, "backend_protocol"),
            ErrorKind::Upstream => (502, ErrorType::Server, "server_error"),
        };
        ApiError { status, kind, code, message: error.message, param: None }
    }
}
