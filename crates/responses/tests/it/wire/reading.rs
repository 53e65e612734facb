//! Helpers for tests of requests.

use responses::error::ApiError;
use responses::request::{self, Request, SchemaCache};
use serde_json::{Value, json};

/// A request that has what every request must have, with some fields more.
pub(crate) fn with(fields: Value) -> Value {
    let mut body = json!({ "model": "m", "input": "hi" });
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    for (key, value) in fields {
        body[key] = value;
    }
    body
}

/// The only place that reads a request which must be good.
#[track_caller]
pub(crate) fn read(body: &Value) -> Request {
    match request::parse(body.to_string().as_bytes(), &SchemaCache::default()) {
        Ok(request) => *request,
        Err(error) => panic!("refused: {error:?}"),
    }
}

/// The only place that reads a request which must be bad.
#[track_caller]
pub(crate) fn refused(body: &Value) -> String {
    match request::parse(body.to_string().as_bytes(), &SchemaCache::default()) {
        Ok(request) => panic!("accepted: {request:?}"),
        Err(error) => in_words(&error),
    }
}

/// An error on one line.
pub(crate) fn in_words(error: &ApiError) -> String {
    assert_eq!((error.status, error.kind.as_str()), (400, "invalid_request_error"));
    format!("{} {}: {}\n", error.code, error.param.as_deref().unwrap_or("-"), error.message)
}

/// Returns the errors of some requests, one line each.
#[track_caller]
pub(crate) fn all_refused(bodies: &[Value]) -> String {
    bodies.iter().map(refused).collect()
}
