//! Why a request or a connection is turned away before any face sees it. The list is closed.

use crate::api_error::{ApiError, ErrorType};

use super::settings::Limits;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A line of the head that does not end with CR LF, or has one of the two inside.
    LineEnding,
    /// A header line that is none.
    HeaderLine,
    /// The end of the body can be found in two ways, or in none.
    Framing,
    HeadTooLarge,
    HeadTooSlow,
    /// Not HTTP/1.1.
    Version,
    /// No Host header, or more than one.
    HostCount,
    HostForeign,
    /// A request target that is no path of this server.
    Target,
    OriginForeign,
    TokenMissing,
    TokenWrong,
    ContentType,
    ContentEncoding,
    TooManyConnections,
}

impl Refusal {
    /// Stable: clients and dashboards compare it.
    pub(super) fn code(self) -> &'static str {
        match self {
            Refusal::LineEnding => "bad_line_ending",
            Refusal::HeaderLine => "bad_header_line",
            Refusal::Framing => "ambiguous_length",
            Refusal::HeadTooLarge => "headers_too_large",
            Refusal::HeadTooSlow => "headers_too_slow",
            Refusal::Version => "http_version_not_supported",
            Refusal::HostCount => "host_required",
            Refusal::HostForeign => "host_not_allowed",
            Refusal::Target => "bad_request_target",
            Refusal::OriginForeign => "origin_not_allowed",
            Refusal::TokenMissing => "missing_api_key",
            Refusal::TokenWrong => "invalid_api_key",
            Refusal::ContentType => "unsupported_content_type",
            Refusal::ContentEncoding => "unsupported_content_encoding",
            Refusal::TooManyConnections => "too_many_connections",
        }
    }

    /// Whether the rest of what the connection sends can still be told apart.
    pub(super) fn ends_connection(self) -> bool {
        match self {
            Refusal::LineEnding
            | Refusal::HeaderLine
            | Refusal::Framing
            | Refusal::HeadTooLarge
            | Refusal::HeadTooSlow
            | Refusal::Version
            | Refusal::HostCount
            | Refusal::TooManyConnections => true,
            Refusal::HostForeign
            | Refusal::Target
            | Refusal::OriginForeign
            | Refusal::TokenMissing
            | Refusal::TokenWrong
            | Refusal::ContentType
            | Refusal::ContentEncoding => false,
        }
    }

    fn status(self) -> u16 {
        match self {
            Refusal::LineEnding
            | Refusal::HeaderLine
            | Refusal::Framing
            | Refusal::HostCount
            | Refusal::Target => 400,
            Refusal::TokenMissing | Refusal::TokenWrong => 401,
            Refusal::HostForeign | Refusal::OriginForeign => 403,
            Refusal::HeadTooSlow => 408,
            Refusal::ContentType | Refusal::ContentEncoding => 415,
            Refusal::HeadTooLarge => 431,
            Refusal::TooManyConnections => 503,
            Refusal::Version => 505,
        }
    }

    fn kind(self) -> ErrorType {
        match self {
            Refusal::TokenMissing | Refusal::TokenWrong => ErrorType::Authentication,
            Refusal::HostForeign | Refusal::OriginForeign => ErrorType::Permission,
            Refusal::TooManyConnections => ErrorType::Server,
            Refusal::LineEnding
            | Refusal::HeaderLine
            | Refusal::Framing
            | Refusal::HeadTooLarge
            | Refusal::HeadTooSlow
            | Refusal::Version
            | Refusal::HostCount
            | Refusal::Target
            | Refusal::ContentType
            | Refusal::ContentEncoding => ErrorType::InvalidRequest,
        }
    }

    /// Says the way out. Repeats nothing of the request: it may be somebody else's secret.
    fn message(self, limits: &Limits) -> String {
        let text = match self {
            Refusal::LineEnding => "Every line of a request's head must end with CR LF.",
            Refusal::HeaderLine => "Every header must be one line of the form `Name: value`.",
            Refusal::Framing => {
                "The length of the body is not clear: send one Content-Length, or `Transfer-Encoding: chunked`, \
                 and not both."
            }
            Refusal::HeadTooLarge => {
                return format!(
                    "The request's head is too large: at most {} bytes and {} headers.",
                    limits.head_bytes, limits.headers
                );
            }
            Refusal::HeadTooSlow => {
                return format!(
                    "The request's head was not complete after {} seconds.",
                    limits.head.as_secs()
                );
            }
            Refusal::Version => "Only HTTP/1.1 is spoken here.",
            Refusal::HostCount => "Send exactly one Host header, with the address that you called.",
            Refusal::HostForeign => {
                "The server does not answer to this Host: call it by the address that it printed when it started, \
                 or add the name to its settings."
            }
            Refusal::Target => "The request's target must be a path of this server, such as `/v1/models`.",
            Refusal::OriginForeign => {
                "Pages of this origin may not call the server: add the origin to its settings if you trust the \
                 page, or call from a program instead of a page."
            }
            Refusal::TokenMissing => {
                "The token is missing: send `Authorization: Bearer <token>` with the token from the file that the \
                 server named when it started."
            }
            Refusal::TokenWrong => {
                "The token is not the one of this server: use the one from the file that the server named when it \
                 started."
            }
            Refusal::ContentType => "A body must be JSON: send `Content-Type: application/json`.",
            Refusal::ContentEncoding => "A body must not be compressed: leave out Content-Encoding.",
            Refusal::TooManyConnections => {
                "The server has as many connections as it can hold: close some and try again."
            }
        };
        text.to_owned()
    }

    pub(super) fn error(self, limits: &Limits) -> ApiError {
        ApiError {
            status: self.status(),
            kind: self.kind(),
            code: self.code(),
            message: self.message(limits),
            param: None,
        }
    }
}
