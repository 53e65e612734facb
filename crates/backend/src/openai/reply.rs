//! The answer of a server as the events of a turn.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::answer::Answer;
use super::secret::Secret;
use super::sse::Frames;
use super::{Wire, chat, responses};
use crate::{BackendError, ErrorKind, TurnEvent};

/// Room for so many events stays with a stream that waits.
const EVENTS_KEPT: usize = 4;

/// Dropping it closes the connection, which is how a server learns that nobody listens.
pub(super) struct Reply {
    answer: Answer,
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
    pub(super) fn new(answer: Answer, wire: Wire, secret: Secret) -> Reply {
        let reader = match wire {
            Wire::Responses => Reader::Responses(responses::Reader::new(secret)),
            Wire::Chat => Reader::Chat(chat::Reader::new(secret)),
        };
        Reply { answer, frames: Frames::default(), reader, events: VecDeque::new(), over: false }
    }

    /// Reads the events that came; nothing when the answer is over.
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let Reply { answer, frames, reader, events, over } = self;
        let more = answer.poll_more(cx, |bytes| {
            // What follows the last event is no part of the turn.
            if *over {
                return;
            }
            let cut = frames.cut(bytes, |data| match reader {
                Reader::Responses(reader) => reader.read(data, events),
                Reader::Chat(reader) => reader.read(data, events),
            });
            *over = cut.unwrap_or_else(|error| {
                events.push_back(Err(error));
                true
            });
        });
        more.map(|more| matches!(more, Ok(true)).then_some(()))
    }

    /// Nothing that matters follows, but a connection whose answer was read to its end can be used again. What is not
    /// there yet is not waited for.
    fn read_to_end(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Ok(true)) = self.answer.poll_more(cx, |_| ()) {}
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
            match self.poll_events(cx) {
                Poll::Ready(Some(())) => {}
                Poll::Ready(None) => return Poll::Ready(self.broke_off()),
                Poll::Pending => {
                    // Room for what came at once is not kept while nothing comes.
                    if self.events.capacity() > EVENTS_KEPT {
                        self.events = VecDeque::new();
                    }
                    return Poll::Pending;
                }
            }
            if self.over {
                self.read_to_end(cx);
            }
        }
    }
}
