//! The channel between an answer and the reader of its events.
//!
//! The reader polls the answer: no task runs in between. The channel holds one write, so an answer never runs ahead of its
//! reader, and dropping the stream drops the answer.

use std::convert::Infallible;
use std::task::Poll;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::FutureExt;
use futures_util::stream::poll_fn;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Where the events of an answer go; `None` for an answer that is sent as one object.
pub type EventSender = Option<Sender<Bytes>>;

/// The reader of the events was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceiverGone;

/// Returns the two ends of a channel for events.
pub fn event_channel() -> (EventSender, Receiver<Bytes>) {
    let (sender, receiver) = channel(1);
    (Some(sender), receiver)
}

/// Waits until the reader can take the bytes. Fails if it was dropped.
pub(super) async fn send(sender: &EventSender, bytes: Bytes) -> Result<(), ReceiverGone> {
    match sender {
        Some(sender) if !bytes.is_empty() => sender.send(bytes).await.map_err(|_| ReceiverGone),
        Some(_) | None => Ok(()),
    }
}

/// Returns the events of an answer as a stream that polls the answer. `events` must be the other end of the channel that
/// the answer sends to.
pub fn event_stream(
    answer: impl Future<Output = ()> + Send + 'static,
    mut events: Receiver<Bytes>,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let mut answer = Box::pin(answer.fuse());
    poll_fn(move |cx| {
        if let Ok(bytes) = events.try_recv() {
            return Poll::Ready(Some(Ok(bytes)));
        }
        let ended = answer.as_mut().poll(cx).is_ready();
        // Only the answer sends, so there is nothing else to wait for.
        match events.try_recv() {
            Ok(bytes) => Poll::Ready(Some(Ok(bytes))),
            Err(TryRecvError::Empty) if !ended => Poll::Pending,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Poll::Ready(None),
        }
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::StreamExt;

    use super::{ReceiverGone, event_channel, event_stream, send};

    #[tokio::test]
    async fn writes_arrive_in_order_and_none_is_lost_when_the_answer_ends() {
        let (out, events) = event_channel();
        let answer = async move {
            for word in ["one", "", "two", "three"] {
                send(&out, Bytes::from(word)).await.unwrap();
            }
        };
        let read: Vec<Bytes> = event_stream(answer, events).map(Result::unwrap).collect().await;
        assert_eq!(read, ["one", "two", "three"]);
    }

    #[tokio::test]
    async fn an_answer_waits_for_its_reader_and_learns_that_it_is_gone() {
        let (out, mut events) = event_channel();
        send(&out, Bytes::from("one")).await.unwrap();
        let second = tokio::spawn(async move {
            send(&out, Bytes::from("two")).await.unwrap();
            send(&out, Bytes::from("three")).await
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished(), "one write is under way at a time");
        assert_eq!(events.recv().await.unwrap(), "one");
        tokio::task::yield_now().await;
        drop(events);
        assert_eq!(second.await.unwrap(), Err(ReceiverGone));
    }
}
