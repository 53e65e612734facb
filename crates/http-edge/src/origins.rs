//! Cross-origin requests: which pages may call, and the CORS headers for them.
//!
//! An origin is compared as a whole with a list, which is empty by default. No answer names an origin that is not in the
//! list, and none says `*`.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap,
    HeaderName, HeaderValue, ORIGIN, VARY,
};
use http::{Method, StatusCode};

use crate::refusal::RefusalReason;

const REQUEST_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// The pages that may call.
#[derive(Debug, Clone)]
pub(super) struct AllowedOrigins(Vec<HeaderValue>);

impl AllowedOrigins {
    /// Fails with the first text that is not an origin.
    pub(super) fn new(names: &[String]) -> Result<AllowedOrigins, String> {
        let mut origins = Vec::with_capacity(names.len());
        for name in names {
            let value = HeaderValue::from_str(name).ok().filter(|_| is_origin(name));
            origins.push(value.ok_or_else(|| name.clone())?);
        }
        Ok(AllowedOrigins(origins))
    }

    /// Returns the origin of the calling page; `None` for a program, which sends none. Fails if it is not allowed.
    pub(super) fn calling(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, RefusalReason> {
        let mut named = headers.get_all(ORIGIN).iter();
        match (named.next(), named.next()) {
            (None, _) => Ok(None),
            (Some(origin), None) if self.0.contains(origin) => Ok(Some(origin.clone())),
            (Some(_), _) => Err(RefusalReason::OriginForeign),
        }
    }
}

/// Whether this is `scheme://name`, with or without a port, as a browser sends it. Neither `*` nor `null` names a page.
fn is_origin(name: &str) -> bool {
    let Some((scheme, host)) = name.split_once("://") else { return false };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !scheme.is_empty()
        && scheme.bytes().all(|byte| plain(byte) || b"+-.".contains(&byte))
        && !host.is_empty()
        && host.bytes().all(|byte| plain(byte) || b".-:[]_".contains(&byte))
}

/// Whether this is a preflight: a browser asks whether the page may send a request.
pub(super) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns the answer to a preflight of an allowed page.
pub(super) fn grant_preflight(asked: &HeaderMap) -> (StatusCode, HeaderMap) {
    let mut headers = HeaderMap::new();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST, DELETE"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    // Libraries send headers of their own, and `*` would not include Authorization. The page is trusted, so every
    // header that it asks for is granted.
    if let Some(names) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    if asked.contains_key(REQUEST_PRIVATE_NETWORK) {
        headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    (StatusCode::NO_CONTENT, headers)
}

/// Names the page that may read the answer. Replaces what a handler may have set.
pub(super) fn set_allowed_origin(headers: &mut HeaderMap, origin: Option<&HeaderValue>) {
    headers.remove(ACCESS_CONTROL_ALLOW_ORIGIN);
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    headers.append(VARY, HeaderValue::from_static("origin"));
}
