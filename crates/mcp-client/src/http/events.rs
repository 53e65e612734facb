//! Server-sent events of a response body, each bounded while it is read. rmcp bounds events only in its own HTTP client.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

/// Stream of events.
pub(super) type SseEvents = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;

#[derive(Debug, thiserror::Error)]
enum EventStreamError {
    #[error("the stream broke off: {0}")]
    Body(#[from] hyper::Error),
    #[error("an event is longer than {0} bytes")]
    TooLong(usize),
}

/// Returns the events of a body. An event longer than `longest` ends the stream with an error.
pub(super) fn events(body: Incoming, longest: usize) -> SseEvents {
    Box::pin(SseStream::from_bytes_stream(LimitedEvents {
        body: BodyDataStream::new(body),
        longest,
        since: 0,
        line_is_empty: true,
        ended: false,
    }))
}

struct LimitedEvents {
    body: BodyDataStream<Incoming>,
    longest: usize,
    /// Bytes since the last empty line, which ends an event.
    since: usize,
    line_is_empty: bool,
    ended: bool,
}

impl LimitedEvents {
    fn count(&mut self, bytes: &[u8]) -> Result<(), EventStreamError> {
        for byte in bytes {
            match byte {
                b'\n' if self.line_is_empty => self.since = 0,
                b'\n' => self.line_is_empty = true,
                b'\r' => {}
                _ => self.line_is_empty = false,
            }
            self.since += 1;
        }
        // Checked once per chunk: a chunk was read at once and is in memory anyway.
        if self.since > self.longest { Err(EventStreamError::TooLong(self.longest)) } else { Ok(()) }
    }
}

impl Stream for LimitedEvents {
    type Item = Result<Bytes, EventStreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let chunk = match ready!(Pin::new(&mut self.body).poll_next(cx)) {
            Some(Ok(bytes)) => self.count(&bytes).map(|()| bytes),
            Some(Err(error)) => Err(error.into()),
            None => return Poll::Ready(None),
        };
        self.ended = chunk.is_err();
        Poll::Ready(Some(chunk))
    }
}
