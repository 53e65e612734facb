//! The events of a streamed answer, as bytes.
//!
//! Each event is one line of JSON. In an event stream it follows its own name on the line before and an empty line
//! ends it; over a WebSocket it is a message by itself. Deltas are written straight into the buffer, without a value
//! in between, since there is one for every few characters of an answer.

mod encoder;
mod escape;
mod kind;

use bytes::Bytes;

use super::error::ApiError;

pub use self::encoder::Framing;
pub(in crate::responses) use self::encoder::{Encoder, Part, Place, push_field, push_number, push_string};
pub(in crate::responses) use self::escape::json_line;
pub use self::kind::EventType;

/// An `error` event by itself, for errors that belong to no response: a message on a WebSocket that is not a request.
pub fn error_event(framing: Framing, error: &ApiError) -> Bytes {
    let mut encoder = Encoder::new(framing);
    encoder.error(error);
    encoder.take()
}

/// The end of an event stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// Says to a waiting client, and to whatever stands in between, that the connection lives. Readers skip comments.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
