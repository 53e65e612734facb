//! The HTTP edge: everything between a socket and the router of an application.
//!
//! ```text
//! accept -> stream (timeouts, one strict head at a time) -> hyper -> guard (host, origin, token, content)
//!        -> router -> middleware (headers, metrics) -> the client
//! ```
//!
//! It knows no route. HTTP/1.1 only, on loopback unless the settings allow more; no cookies, no compression, and the
//! token is accepted in one place only. No byte of the body is read of a request that the guard refuses.

pub mod api_error;
mod auth;
mod body;
mod connection;
mod connection_state;
mod descriptors;
mod guard;
mod head;
mod host_header;
mod listeners;
pub mod metrics;
mod middleware;
mod origins;
mod read_buffer;
mod refusal;
mod request_id;
mod request_record;
mod server;
mod settings;
mod shutdown;
mod stream;

pub use api_error::error_response;
pub use auth::{Admission, ClientFile, ClientRecord, ClientTokens, Token, TokenError};
pub use body::{BODY_LIMIT, read_body};
pub use request_id::RequestId;
pub use server::{BindError, HttpListener};
pub use settings::{ConnectionLimits, EdgeSettings};
pub use shutdown::ShutdownSignal;
