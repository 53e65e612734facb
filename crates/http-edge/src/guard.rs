//! The request guard: checks on every request, whatever its route, before its body is read.

use std::sync::Arc;

use envelope::ClientId;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Version};

use crate::auth::ClientTokens;
use crate::host_header::AllowedHosts;
use crate::origins::{AllowedOrigins, is_preflight};
use crate::refusal::RefusalReason;

#[derive(Debug)]
pub(super) struct RequestGuard {
    pub(super) hosts: AllowedHosts,
    pub(super) origins: AllowedOrigins,
    pub(super) open_paths: Vec<String>,
    pub(super) tokens: Arc<ClientTokens>,
}

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GuardVerdict {
    /// The request comes from this client; `None` on a path that needs no token.
    Pass(Option<ClientId>),
    /// A browser asks whether a page may send a request.
    Preflight,
    Refused(RefusalReason),
}

impl RequestGuard {
    /// Returns the verdict, and the origin that may read the answer, even a refusal.
    pub(super) fn judge(&self, request: &Parts, has_body: bool) -> (Option<HeaderValue>, GuardVerdict) {
        if let Err(refusal) = self.check_target(request) {
            return (None, GuardVerdict::Refused(refusal));
        }
        let origin = match self.origins.calling(&request.headers) {
            Ok(origin) => origin,
            Err(refusal) => return (None, GuardVerdict::Refused(refusal)),
        };
        if origin.is_some() && is_preflight(&request.method, &request.headers) {
            return (origin, GuardVerdict::Preflight);
        }
        let client = self.authenticate(request);
        let verdict =
            match client.and_then(|client| check_content(&request.headers, has_body).map(|()| client)) {
                Ok(client) => GuardVerdict::Pass(client),
                Err(refusal) => GuardVerdict::Refused(refusal),
            };
        (origin, verdict)
    }

    /// Checks version, Host and target.
    fn check_target(&self, request: &Parts) -> Result<(), RefusalReason> {
        if request.version != Version::HTTP_11 {
            return Err(RefusalReason::Version);
        }
        let host = single_header(&request.headers, &HOST).map_err(|_count| RefusalReason::HostCount)?;
        if !self.hosts.allow(host.as_bytes()) {
            return Err(RefusalReason::HostForeign);
        }
        // A target may repeat the server's name; then it must be the same name.
        let same = request.uri.authority().is_none_or(|named| named.as_str().as_bytes() == host.as_bytes());
        let is_path = request.uri.path().starts_with('/') && request.method != Method::CONNECT;
        if same && is_path { Ok(()) } else { Err(RefusalReason::Target) }
    }

    /// Returns the client that the token belongs to; `None` on a path that needs no token.
    fn authenticate(&self, request: &Parts) -> Result<Option<ClientId>, RefusalReason> {
        if self.open_paths.iter().any(|open| open == request.uri.path()) {
            return Ok(None);
        }
        let given = match single_header(&request.headers, &AUTHORIZATION) {
            Ok(given) => given,
            Err(HeaderCount::None) => return Err(RefusalReason::TokenMissing),
            Err(HeaderCount::Several) => return Err(RefusalReason::TokenWrong),
        };
        let given = bearer(given.as_bytes()).ok_or(RefusalReason::TokenWrong)?;
        self.tokens.identify(given).map(Some).ok_or(RefusalReason::TokenWrong)
    }
}

/// Returns the credentials after `Bearer `; the scheme may be in any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}

/// Checks that a body, if there is one, is uncompressed JSON.
fn check_content(headers: &HeaderMap, has_body: bool) -> Result<(), RefusalReason> {
    let encoded = headers.get_all(CONTENT_ENCODING).iter().any(|value| value != "identity");
    if encoded {
        return Err(RefusalReason::ContentEncoding);
    }
    match single_header(headers, &CONTENT_TYPE) {
        Ok(value) if is_json(value) => Ok(()),
        Err(HeaderCount::None) if !has_body => Ok(()),
        Ok(_) | Err(HeaderCount::None | HeaderCount::Several) => Err(RefusalReason::ContentType),
    }
}

/// Whether this is `application/json`, with or without the charset UTF-8. A browser sends a page's request of this type
/// only after a preflight.
fn is_json(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    let mut parts = text.split(';').map(str::trim);
    parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
        && parts.all(|param| {
            param.eq_ignore_ascii_case("charset=utf-8") || param.eq_ignore_ascii_case("charset=\"utf-8\"")
        })
}

enum HeaderCount {
    None,
    Several,
}

/// Returns the value of a header that must occur once. Of two, one reader would take the first and another the last.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a HeaderValue, HeaderCount> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Err(HeaderCount::None),
        (Some(value), None) => Ok(value),
        (Some(_), Some(_)) => Err(HeaderCount::Several),
    }
}
