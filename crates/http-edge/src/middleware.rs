//! Middleware around the router: the matched route for metrics, error bodies for unknown routes, security headers.

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::StatusCode;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use http_body::Body as _;

use crate::api_error::{ApiError, ErrorType, error_response};
use crate::metrics::RoutePattern;

/// Set on every answer unless its handler sets them.
const DEFAULT_HEADERS: [(HeaderName, HeaderValue); 3] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Returns the router with the middleware that [`matched_route`] needs.
pub(super) fn with_matched_route(router: Router) -> Router {
    router.layer(from_fn(copy_matched_path))
}

/// The router names the matched route in the request only; metrics need it with the answer.
async fn copy_matched_path(path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if let Some(path) = path {
        response.extensions_mut().insert(path);
    }
    response
}

/// The route that the router answered on, if any.
pub(super) fn matched_route(response: &Response) -> Option<RoutePattern> {
    response.extensions().get::<MatchedPath>().map(|path| RoutePattern::from(path.as_str()))
}

/// Gives an unknown route or method an error body of the same shape as every other error.
pub(super) fn with_error_body(response: Response) -> Response {
    let error = match response.status() {
        StatusCode::NOT_FOUND if is_router_answer(&response) => {
            ApiError::not_found("unknown_route", "There is nothing at this path; look at the path again.")
        }
        StatusCode::METHOD_NOT_ALLOWED if is_router_answer(&response) => ApiError {
            status: 405,
            kind: ErrorType::InvalidRequest,
            code: "method_not_allowed",
            message: "This path does not know the method; the Allow header lists those that it knows."
                .to_owned(),
            param: None,
            retry_after: None,
        },
        _ => return response,
    };
    let (mut parts, _empty) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let (ours, body) = error_response(&error).into_parts();
    parts.headers.extend(ours.headers);
    Response::from_parts(parts, body)
}

/// Whether the router made this answer: it sends no body, while a handler that answers 404 says why.
fn is_router_answer(response: &Response) -> bool {
    let headers = response.headers();
    !headers.contains_key(CONTENT_TYPE)
        && headers.get(CONTENT_LENGTH).is_none_or(|length| length == "0")
        && response.body().size_hint().exact() == Some(0)
}

/// Sets the headers of every answer. Removes cookies: a browser would send them for any page.
pub(super) fn set_headers(headers: &mut HeaderMap, closes_connection: bool) {
    for (name, value) in DEFAULT_HEADERS {
        headers.entry(name).or_insert(value);
    }
    headers.remove(SET_COOKIE);
    if closes_connection {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// The answer to an allowed preflight request.
pub(super) fn preflight_response((status, headers): (StatusCode, HeaderMap)) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
