//! Errors of requests and answers, in the shape that clients of the API expect.

use axum::body::Body;
use axum::response::Response;
use backend::{BackendError, BackendErrorKind};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::{Value, json};

/// An error object: the body of an HTTP error, the `error` of a failed response and the payload of an `error` event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    pub status: u16,
    /// `invalid_request_error`, `authentication_error`, `server_error`, ...
    pub kind: ErrorType,
    /// Stable, for programs.
    pub code: &'static str,
    /// Names the field and what was expected.
    pub message: String,
    /// The field, as a path into the request: `tools[1].parameters`.
    pub param: Option<String>,
    /// How long the client should wait before it tries again, in seconds.
    pub retry_after: Option<u64>,
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
    /// An error about a field of the request.
    pub fn invalid(param: impl Into<String>, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError {
            status: 400,
            kind: ErrorType::InvalidRequest,
            code,
            message: message.into(),
            param: Some(param.into()),
            retry_after: None,
        }
    }

    pub fn not_found(code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { kind: ErrorType::NotFound, ..ApiError::server(404, code, message) }
    }

    /// An error of the model or the server, not of the client.
    pub fn server(status: u16, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError {
            status,
            kind: ErrorType::Server,
            code,
            message: message.into(),
            param: None,
            retry_after: None,
        }
    }

    /// Returns the body of an HTTP error.
    pub fn body(&self) -> Value {
        json!({ "error": {
            "message": self.message, "type": self.kind.as_str(), "param": self.param, "code": self.code,
        }})
    }

    /// Returns the `error` of a failed response.
    pub fn in_response(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }
}

/// Returns the error as a complete answer.
pub fn error_response(error: &ApiError) -> Response {
    let mut response = Response::new(Body::from(error.body().to_string()));
    *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = error.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if error.status == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tollgate\""));
    }
    response
}

impl From<BackendError> for ApiError {
    fn from(error: BackendError) -> ApiError {
        let (status, kind, code) = match error.kind {
            BackendErrorKind::Unavailable => (503, ErrorType::Server, "backend_unavailable"),
            BackendErrorKind::Overloaded => (503, ErrorType::Server, "server_overloaded"),
            BackendErrorKind::RateLimited => (429, ErrorType::RateLimit, "rate_limit_exceeded"),
            BackendErrorKind::ContextTooLong => (400, ErrorType::InvalidRequest, "context_length_exceeded"),
            BackendErrorKind::BadRequest => (400, ErrorType::InvalidRequest, "backend_refused"),
            BackendErrorKind::UnknownModel => (404, ErrorType::NotFound, "model_not_found"),
            BackendErrorKind::Unauthorized => (502, ErrorType::Server, "backend_unauthorized"),
            BackendErrorKind::Timeout => (504, ErrorType::Server, "backend_timeout"),
            BackendErrorKind::Died => (502, ErrorType::Server, "backend_died"),
            BackendErrorKind::Protocol => (502, ErrorType::Server, "backend_protocol"),
            BackendErrorKind::Upstream => (502, ErrorType::Server, "server_error"),
        };
        let retry_after = error.retry_after.map(|wait| wait.as_secs());
        ApiError { status, kind, code, message: error.message, param: None, retry_after }
    }
}
