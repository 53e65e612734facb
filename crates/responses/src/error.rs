//! Errors of requests and answers, in the shape that all HTTP front ends share.

pub use http_edge::api_error::{ApiError, ErrorType};
