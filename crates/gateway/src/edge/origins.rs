//! Which pages may call, and what a browser must be told so that it lets them.
//!
//! An origin is compared as a whole with a list that is empty unless somebody fills it. No answer ever names an
//! origin that is not in the list, and none says `*`.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap,
    HeaderName, HeaderValue, ORIGIN, VARY,
};
use http::{Method, StatusCode};

use super::refusal::Refusal;

const REQUEST_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// The pages that may call.
#[derive(Debug, Clone)]
pub(super) struct Origins(Vec<HeaderValue>);

impl Origins {
    /// The first text that is no origin is the error.
    pub(super) fn new(names: &[String]) -> Result<Origins, String> {
        let mut origins = Vec::with_capacity(names.len());
        for name in names {
            let value = HeaderValue::from_str(name).ok().filter(|_| is_origin(name));
            origins.push(value.ok_or_else(|| name.clone())?);
        }
        Ok(Origins(origins))
    }

    /// The page that calls; `None` if no page does. Browsers name it, programs do not.
    pub(super) fn calling(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, Refusal> {
        let mut named = headers.get_all(ORIGIN).iter();
        match (named.next(), named.next()) {
            (None, _) => Ok(None),
            (Some(origin), None) if self.0.contains(origin) => Ok(Some(origin.clone())),
            (Some(_), _) => Err(Refusal::OriginForeign),
        }
    }
}

/// `scheme://name`, perhaps with a port: what a browser sends. Neither `*` nor `null` stands for one page.
fn is_origin(name: &str) -> bool {
    let Some((scheme, host)) = name.split_once("://") else { return false };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !scheme.is_empty()
        && scheme.bytes().all(|byte| plain(byte) || b"+-.".contains(&byte))
        && !host.is_empty()
        && host.bytes().all(|byte| plain(byte) || b".-:[]_".contains(&byte))
}

/// Whether a browser asks for leave before it sends the request itself.
pub(super) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The leave that a preflight of an allowed page gets.
pub(super) fn grant(asked: &HeaderMap) -> (StatusCode, HeaderMap) {
    let mut headers = HeaderMap::new();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST, DELETE"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    // Libraries send headers of their own, and `*` would leave out Authorization. The page is one that may send
    // whatever it likes, so what it asks for is granted.
    if let Some(names) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    if asked.contains_key(REQUEST_PRIVATE_NETWORK) {
        headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    (StatusCode::NO_CONTENT, headers)
}

/// Names the page that may read the answer, and nobody whom a handler may have named instead.
pub(super) fn mark(headers: &mut HeaderMap, origin: Option<&HeaderValue>) {
    headers.remove(ACCESS_CONTROL_ALLOW_ORIGIN);
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    headers.append(VARY, HeaderValue::from_static("origin"));
}
