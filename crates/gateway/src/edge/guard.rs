//! Who comes in: the checks on every request, whatever its route, before anything of its body is read.

use std::sync::Arc;

use envelope::ClientId;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Version};

use super::client_tokens::ClientTokens;
use super::hosts::Hosts;
use super::origins::{Origins, is_preflight};
use super::refusal::Refusal;

#[derive(Debug)]
pub(super) struct Guard {
    pub(super) hosts: Hosts,
    pub(super) origins: Origins,
    pub(super) open_paths: Vec<String>,
    pub(super) tokens: Arc<ClientTokens>,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// From this client; from nobody in particular on a path that needs no token.
    Pass(Option<ClientId>),
    /// A browser only asks whether it may.
    Preflight,
    Refused(Refusal),
}

impl Guard {
    /// The verdict, and the page that may read the answer even if it is a refusal.
    pub(super) fn judge(&self, request: &Parts, has_body: bool) -> (Option<HeaderValue>, Verdict) {
        if let Err(refusal) = self.addressed_to_us(request) {
            return (None, Verdict::Refused(refusal));
        }
        let origin = match self.origins.calling(&request.headers) {
            Ok(origin) => origin,
            Err(refusal) => return (None, Verdict::Refused(refusal)),
        };
        if origin.is_some() && is_preflight(&request.method, &request.headers) {
            return (origin, Verdict::Preflight);
        }
        let admitted = self.admitted(request);
        let verdict = match admitted.and_then(|client| readable(&request.headers, has_body).map(|()| client))
        {
            Ok(client) => Verdict::Pass(client),
            Err(refusal) => Verdict::Refused(refusal),
        };
        (origin, verdict)
    }

    fn addressed_to_us(&self, request: &Parts) -> Result<(), Refusal> {
        if request.version != Version::HTTP_11 {
            return Err(Refusal::Version);
        }
        let host = the_one(&request.headers, &HOST).map_err(|_count| Refusal::HostCount)?;
        if !self.hosts.allow(host.as_bytes()) {
            return Err(Refusal::HostForeign);
        }
        // A target may repeat the server's name; then it must be the same name.
        let same = request.uri.authority().is_none_or(|named| named.as_str().as_bytes() == host.as_bytes());
        let is_path = request.uri.path().starts_with('/') && request.method != Method::CONNECT;
        if same && is_path { Ok(()) } else { Err(Refusal::Target) }
    }

    /// The client that sent a request, by its token.
    fn admitted(&self, request: &Parts) -> Result<Option<ClientId>, Refusal> {
        if self.open_paths.iter().any(|open| open == request.uri.path()) {
            return Ok(None);
        }
        let given = match the_one(&request.headers, &AUTHORIZATION) {
            Ok(given) => given,
            Err(Count::None) => return Err(Refusal::TokenMissing),
            Err(Count::Several) => return Err(Refusal::TokenWrong),
        };
        let given = bearer(given.as_bytes()).ok_or(Refusal::TokenWrong)?;
        self.tokens.identify(given).map(Some).ok_or(Refusal::TokenWrong)
    }
}

/// What follows `Bearer `, the name of the scheme in any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}

/// Whether a body, if there is one, is JSON as it stands.
fn readable(headers: &HeaderMap, has_body: bool) -> Result<(), Refusal> {
    let encoded = headers.get_all(CONTENT_ENCODING).iter().any(|value| value != "identity");
    if encoded {
        return Err(Refusal::ContentEncoding);
    }
    match the_one(headers, &CONTENT_TYPE) {
        Ok(value) if is_json(value) => Ok(()),
        Err(Count::None) if !has_body => Ok(()),
        Ok(_) | Err(Count::None | Count::Several) => Err(Refusal::ContentType),
    }
}

/// `application/json`, perhaps with the charset that JSON has anyway. A browser sends no page's request of this
/// type without asking first.
fn is_json(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    let mut parts = text.split(';').map(str::trim);
    parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
        && parts.all(|param| {
            param.eq_ignore_ascii_case("charset=utf-8") || param.eq_ignore_ascii_case("charset=\"utf-8\"")
        })
}

enum Count {
    None,
    Several,
}

/// The value of a header that must be there once: of two, one reader takes the first and one the last.
fn the_one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a HeaderValue, Count> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Err(Count::None),
        (Some(value), None) => Ok(value),
        (Some(_), Some(_)) => Err(Count::Several),
    }
}
