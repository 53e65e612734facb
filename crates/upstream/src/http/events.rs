//! Server-sent events out of a body, each bounded while it is read.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body;
use hyper::body::Incoming;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

/// Events as they arrive.
pub(super) type Events = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;

#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("the stream broke off: {0}")]
    Body(#[from] hyper::Error),
    #[error("an event is longer than {0} bytes")]
    TooLong(usize),
}

/// The events of a body. One that is longer than `longest` ends them.
pub(super) fn events(body: Incoming, longest: usize) -> Events {
    Box::pin(SseStream::from_bytes_stream(Bounded {
        body,
        longest,
        since: 0,
        line_is_empty: true,
        ended: false,
    }))
}

struct Bounded {
    body: Incoming,
    longest: usize,
    /// Bytes since the last empty line, which ends an event.
    since: usize,
    line_is_empty: bool,
    ended: bool,
}

impl Bounded {
    fn count(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        for byte in bytes {
            match byte {
                b'\n' if self.line_is_empty => self.since = 0,
                b'\n' => self.line_is_empty = true,
                b'\r' => {}
                _ => self.line_is_empty = false,
            }
            self.since += 1;
        }
        // Checked once a piece: a piece is what was read at once, and is in memory anyway.
        if self.since > self.longest { Err(Broken::TooLong(self.longest)) } else { Ok(()) }
    }
}

impl Stream for Bounded {
    type Item = Result<Bytes, Broken>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    let Ok(bytes) = frame.into_data() else { continue };
                    let counted = self.count(&bytes);
                    self.ended = counted.is_err();
                    return Poll::Ready(Some(counted.map(|()| bytes)));
                }
                Some(Err(error)) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error.into())));
                }
                None => return Poll::Ready(None),
            }
        }
    }
}
