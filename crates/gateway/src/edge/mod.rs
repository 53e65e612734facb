//! The edge of the server: what stands between a socket and a face, whatever the face is.
//!
//! ```text
//! accept -> stream (time limits, one strict head at a time) -> hyper -> guard (host, origin, token, content)
//!        -> the faces -> finish (headers, counts) -> the client
//! ```
//!
//! It knows no route. HTTP/1.1 only, on loopback unless the settings say otherwise; no cookie, no compression,
//! no second place for the token. A request that the guard turns away has had none of its body read.

mod answer;
mod body;
mod catch;
mod client_file;
mod client_tokens;
mod connection;
mod count;
mod descriptors;
mod drain;
mod faces;
mod guard;
mod head;
mod hosts;
mod inbox;
mod listeners;
mod named;
mod origins;
mod private_file;
mod refusal;
mod server;
mod settings;
mod stream;
mod token;
mod token_file;
mod visit;

pub use answer::error_response;
pub use body::{BODY_LIMIT, read_body};
pub use client_file::{ClientFile, ClientRecord};
pub use client_tokens::{Admission, ClientTokens};
pub use drain::Drain;
pub use faces::{Arrival, Faces};
pub use server::{BindError, Edge};
pub use settings::{EdgeSettings, Limits};
pub use token::Token;
pub use token_file::TokenError;
pub use visit::Again;
