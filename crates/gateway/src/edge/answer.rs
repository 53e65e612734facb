//! What every answer has, whoever wrote it.

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    REFERRER_POLICY, SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http_body::Body as _;

use crate::api_error::{ApiError, ErrorType};

/// Held by every answer unless its handler says otherwise.
const ALWAYS: [(HeaderName, HeaderValue); 3] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// An error as a whole answer.
pub fn error_response(error: &ApiError) -> Response {
    let mut response = Response::new(Body::from(error.body().to_string()));
    *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if error.status == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tollgate\""));
    }
    response
}

/// A route that there is not, or not with this method, in the same shape as every other error.
pub(super) fn in_our_shape(response: Response) -> Response {
    let error = match response.status() {
        StatusCode::NOT_FOUND if is_silent(&response) => {
            ApiError::not_found("unknown_route", "There is nothing at this path; look at the path again.")
        }
        StatusCode::METHOD_NOT_ALLOWED if is_silent(&response) => ApiError {
            status: 405,
            kind: ErrorType::InvalidRequest,
            code: "method_not_allowed",
            message: "This path does not know the method; the Allow header lists those that it knows."
                .to_owned(),
            param: None,
        },
        _ => return response,
    };
    let (mut parts, _empty) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let (ours, body) = error_response(&error).into_parts();
    parts.headers.extend(ours.headers);
    Response::from_parts(parts, body)
}

/// A handler that answers 404 says why; the router says nothing.
fn is_silent(response: &Response) -> bool {
    let headers = response.headers();
    !headers.contains_key(CONTENT_TYPE)
        && headers.get(CONTENT_LENGTH).is_none_or(|length| length == "0")
        && response.body().size_hint().exact() == Some(0)
}

/// The headers that hold for every answer. There are no cookies: a browser would send them for any page.
pub(super) fn finish(headers: &mut HeaderMap, last: bool) {
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(value);
    }
    headers.remove(SET_COOKIE);
    if last {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}
