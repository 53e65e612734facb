//! Reasons to refuse a request or a connection before any handler sees it. The list is closed.

use crate::api_error::{ApiError, ErrorType};

use crate::settings::ConnectionLimits;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusalReason {
    /// A line of the head does not end with CR LF, or contains one of the two.
    LineEnding,
    /// A header line is malformed.
    HeaderLine,
    /// The length of the body is ambiguous.
    Framing,
    HeadTooLarge,
    HeadTooSlow,
    /// Not HTTP/1.1.
    Version,
    /// No Host header, or more than one.
    HostCount,
    HostForeign,
    /// The request target is not a path of this server.
    Target,
    OriginForeign,
    TokenMissing,
    TokenWrong,
    ContentType,
    ContentEncoding,
    TooManyConnections,
}

impl RefusalReason {
    /// Returns the stable code that clients and dashboards compare.
    pub(super) fn code(self) -> &'static str {
        match self {
            RefusalReason::LineEnding => "bad_line_ending",
            RefusalReason::HeaderLine => "bad_header_line",
            RefusalReason::Framing => "ambiguous_length",
            RefusalReason::HeadTooLarge => "headers_too_large",
            RefusalReason::HeadTooSlow => "headers_too_slow",
            RefusalReason::Version => "http_version_not_supported",
            RefusalReason::HostCount => "host_required",
            RefusalReason::HostForeign => "host_not_allowed",
            RefusalReason::Target => "bad_request_target",
            RefusalReason::OriginForeign => "origin_not_allowed",
            RefusalReason::TokenMissing => "missing_api_key",
            RefusalReason::TokenWrong => "invalid_api_key",
            RefusalReason::ContentType => "unsupported_content_type",
            RefusalReason::ContentEncoding => "unsupported_content_encoding",
            RefusalReason::TooManyConnections => "too_many_connections",
        }
    }

    /// Whether the connection is closed: the start of the next request is unknown, or no request is taken.
    pub(super) fn ends_connection(self) -> bool {
        match self {
            RefusalReason::LineEnding
            | RefusalReason::HeaderLine
            | RefusalReason::Framing
            | RefusalReason::HeadTooLarge
            | RefusalReason::HeadTooSlow
            | RefusalReason::Version
            | RefusalReason::HostCount
            | RefusalReason::TooManyConnections => true,
            RefusalReason::HostForeign
            | RefusalReason::Target
            | RefusalReason::OriginForeign
            | RefusalReason::TokenMissing
            | RefusalReason::TokenWrong
            | RefusalReason::ContentType
            | RefusalReason::ContentEncoding => false,
        }
    }

    fn status(self) -> u16 {
        match self {
            RefusalReason::LineEnding
            | RefusalReason::HeaderLine
            | RefusalReason::Framing
            | RefusalReason::HostCount
            | RefusalReason::Target => 400,
            RefusalReason::TokenMissing | RefusalReason::TokenWrong => 401,
            RefusalReason::HostForeign | RefusalReason::OriginForeign => 403,
            RefusalReason::HeadTooSlow => 408,
            RefusalReason::ContentType | RefusalReason::ContentEncoding => 415,
            RefusalReason::HeadTooLarge => 431,
            RefusalReason::TooManyConnections => 503,
            RefusalReason::Version => 505,
        }
    }

    fn kind(self) -> ErrorType {
        match self {
            RefusalReason::TokenMissing | RefusalReason::TokenWrong => ErrorType::Authentication,
            RefusalReason::HostForeign | RefusalReason::OriginForeign => ErrorType::Permission,
            RefusalReason::TooManyConnections => ErrorType::Server,
            RefusalReason::LineEnding
            | RefusalReason::HeaderLine
            | RefusalReason::Framing
            | RefusalReason::HeadTooLarge
            | RefusalReason::HeadTooSlow
            | RefusalReason::Version
            | RefusalReason::HostCount
            | RefusalReason::Target
            | RefusalReason::ContentType
            | RefusalReason::ContentEncoding => ErrorType::InvalidRequest,
        }
    }

    /// Returns what to do about it. Repeats nothing of the request: it may contain another server's secret.
    fn message(self, limits: &ConnectionLimits) -> String {
        let text = match self {
            RefusalReason::LineEnding => "Every line of a request's head must end with CR LF.",
            RefusalReason::HeaderLine => "Every header must be one line of the form `Name: value`.",
            RefusalReason::Framing => {
                "The length of the body is not clear: send one Content-Length, or `Transfer-Encoding: chunked`, \
                 and not both."
            }
            RefusalReason::HeadTooLarge => {
                return format!(
                    "The request's head is too large: at most {} bytes and {} headers.",
                    limits.head_bytes, limits.headers
                );
            }
            RefusalReason::HeadTooSlow => {
                return format!(
                    "The request's head was not complete after {} seconds.",
                    limits.head.as_secs()
                );
            }
            RefusalReason::Version => "Only HTTP/1.1 is supported.",
            RefusalReason::HostCount => "Send exactly one Host header, with the address that you called.",
            RefusalReason::HostForeign => {
                "The server does not answer to this Host: call it by the address that it printed when it started, \
                 or add the name to its settings."
            }
            RefusalReason::Target => {
                "The request's target must be a path of this server, such as `/v1/models`."
            }
            RefusalReason::OriginForeign => {
                "Pages of this origin may not call the server: add the origin to its settings if you trust the \
                 page, or call from a program instead of a page."
            }
            RefusalReason::TokenMissing => {
                "The token is missing: send `Authorization: Bearer <token>` with the token from the file that the \
                 server named when it started."
            }
            RefusalReason::TokenWrong => {
                "The token is not the one of this server: use the one from the file that the server named when it \
                 started."
            }
            RefusalReason::ContentType => "A body must be JSON: send `Content-Type: application/json`.",
            RefusalReason::ContentEncoding => "A body must not be compressed: leave out Content-Encoding.",
            RefusalReason::TooManyConnections => {
                "The server has as many connections as it can hold: close some and try again."
            }
        };
        text.to_owned()
    }

    pub(super) fn error(self, limits: &ConnectionLimits) -> ApiError {
        ApiError {
            status: self.status(),
            kind: self.kind(),
            code: self.code(),
            message: self.message(limits),
            param: None,
            retry_after: None,
        }
    }
}
