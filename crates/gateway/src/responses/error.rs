//! What is wrong with a request, or went wrong with an answer: the error that all faces share.

pub use crate::api_error::{ApiError, ErrorType};
