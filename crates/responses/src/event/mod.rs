//! The events of a streamed answer, as bytes.
//!
//! Each event is one line of JSON. In an event stream a line with its name precedes it and an empty line ends it; over a
//! WebSocket it is a message by itself.

mod encoder;
mod event_type;
mod serializer;

use bytes::Bytes;

use super::error::ApiError;

pub use self::encoder::EventFraming;
pub(crate) use self::encoder::{ContentPart, EventEncoder, EventPosition};
pub use self::event_type::ResponseEventType;
pub(crate) use self::serializer::json_line;

/// Returns an `error` event by itself, for an error outside of a response: a WebSocket message that is not a request.
pub fn error_event(framing: EventFraming, error: &ApiError) -> Bytes {
    let mut encoder = EventEncoder::new(framing);
    encoder.error(error);
    encoder.take()
}

/// The end of an event stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// A comment, which readers skip. It shows the client and any proxy that the connection lives.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
