//! The answer of a server as the events of a turn.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use http_body::Body;

use super::line::LineBody;
use super::secret::Secret;
use super::sse::Frames;
use super::{Wire, chat, responses};
use crate::{BackendError, ErrorKind, TurnEvent};

/// Dropping it closes the connection, which is how a server learns that nobody listens.
pub(super) struct Reply {
    body: LineBody,
    frames: Frames,
    reader: Reader,
    /// Read and not yet taken.
    events: VecDeque<Result<TurnEvent, BackendError>>,
    over: bool,
}

enum Reader {
    Responses(responses::Reader),
    Chat(chat::Reader),
}

impl Reply {
    pub(super) fn new(body: LineBody, wire: Wire, secret: Secret) -> Reply {
        let reader = match wire {
            Wire::Responses => Reader::Responses(responses::Reader::new(secret)),
            Wire::Chat => Reader::Chat(chat::Reader::new(secret)),
        };
        Reply { body, frames: Frames::default(), reader, events: VecDeque::new(), over: false }
    }

    /// Reads the events that came.
    fn read(&mut self, bytes: &[u8]) {
        let Reply { frames, reader, events, .. } = self;
        let cut = frames.cut(bytes, |data| match reader {
            Reader::Responses(reader) => reader.read(data, events),
            Reader::Chat(reader) => reader.read(data, events),
        });
        self.over = match cut {
            Ok(over) => over,
            Err(error) => {
                events.push_back(Err(error));
                true
            }
        };
    }

    /// Nothing that matters follows, but a connection whose answer was read to its end can be used again. What is not
    /// there yet is not waited for.
    fn read_to_end(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(Ok(_))) = Pin::new(&mut self.body).poll_frame(cx) {}
    }

    fn broke_off(&mut self) -> Option<Result<TurnEvent, BackendError>> {
        self.over = true;
        // Some servers of the older wire say no last word.
        let end = match &mut self.reader {
            Reader::Responses(_) => None,
            Reader::Chat(reader) => reader.end(),
        };
        Some(end.map(Ok).unwrap_or_else(|| {
            Err(BackendError::new(ErrorKind::Died, "the model's server broke off its answer"))
        }))
    }
}

impl Stream for Reply {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Poll::Ready(Some(event));
            }
            if self.over {
                return Poll::Ready(None);
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.read(data);
                    }
                    if self.over {
                        self.read_to_end(cx);
                    }
                }
                Some(Err(_)) | None => return Poll::Ready(self.broke_off()),
            }
        }
    }
}
