//! Where the bytes of an answer go, one write at a time.
//!
//! An answer and whoever sends it on are polled by the same task. The place between them holds one write, so an
//! answer never runs ahead of its reader, and a stream that says nothing takes no room for what it may say.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::edge::Again;

/// The answer's end.
pub struct Out {
    shared: Option<Shared>,
    again: Option<Again>,
}

/// The reader's end.
pub struct Outlet(Shared);

#[derive(Clone)]
struct Shared(Arc<Mutex<Between>>);

#[derive(Default)]
struct Between {
    bytes: Option<Bytes>,
    /// One of the two ends is gone.
    closed: bool,
    /// Whoever waits for the other end.
    waiting: Option<Waker>,
}

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone;

pub fn outlet() -> (Out, Outlet) {
    let shared = Shared(Arc::default());
    (Out { shared: Some(shared.clone()), again: None }, Outlet(shared))
}

impl Out {
    /// For an answer that is sent as one object.
    pub fn nobody() -> Out {
        Out { shared: None, again: None }
    }

    /// For a reader that polls the answer, and can be asked to do that again without being woken.
    pub fn polled_by(mut self, again: Option<Again>) -> Out {
        self.again = again;
        self
    }

    pub(super) async fn send(&self, bytes: Bytes) -> Result<(), Gone> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if bytes.is_empty() {
            return Ok(());
        }
        let mut bytes = Some(bytes);
        std::future::poll_fn(|cx| {
            let mut between = shared.lock();
            if between.closed {
                return Poll::Ready(Err(Gone));
            }
            if between.bytes.is_some() {
                between.wait(cx);
                return Poll::Pending;
            }
            between.bytes = bytes.take();
            between.wake();
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Waits until what was written is on its way. A reader collects for as long as there is more at once, so there is
    /// nothing more for it, once, after it took the last write.
    pub(super) async fn let_out(&self) {
        let Some(shared) = &self.shared else { return };
        let mut paused = false;
        std::future::poll_fn(|cx| {
            let mut between = shared.lock();
            if between.bytes.is_some() && !between.closed {
                between.wait(cx);
                return Poll::Pending;
            }
            if std::mem::replace(&mut paused, true) {
                return Poll::Ready(());
            }
            match &self.again {
                Some(again) => again.ask(),
                None => cx.waker().wake_by_ref(),
            }
            Poll::Pending
        })
        .await;
    }
}

impl Outlet {
    pub async fn next(&mut self) -> Option<Bytes> {
        std::future::poll_fn(|cx| {
            let mut between = self.0.lock();
            match between.bytes.take() {
                Some(bytes) => {
                    between.wake();
                    Poll::Ready(Some(bytes))
                }
                None if between.closed => Poll::Ready(None),
                None => {
                    between.wait(cx);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// What is there. For a reader that polls the answer itself whenever nothing is: nobody is woken, since to wake the
    /// task that runs already would have it run a second time.
    pub fn take(&mut self) -> Option<Bytes> {
        self.0.lock().bytes.take()
    }
}

impl Between {
    fn wait(&mut self, cx: &Context<'_>) {
        match &mut self.waiting {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waiting = Some(cx.waker().clone()),
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Between> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut between = self.lock();
        between.closed = true;
        between.wake();
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.close();
        }
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use bytes::Bytes;

    use super::{Gone, outlet};

    #[tokio::test]
    async fn writes_arrive_in_order_and_none_is_lost_when_the_answer_ends() {
        let (out, mut reader) = outlet();
        let answer = tokio::spawn(async move {
            for word in ["one", "", "two", "three"] {
                out.send(Bytes::from(word)).await.unwrap();
            }
        });
        let mut read = Vec::new();
        while let Some(bytes) = reader.next().await {
            read.push(bytes);
        }
        answer.await.unwrap();
        assert_eq!(read, ["one", "two", "three"]);
    }

    #[tokio::test]
    async fn a_reader_finds_nothing_once_after_a_write_that_is_let_out() {
        let (out, mut reader) = outlet();
        let mut answer = std::pin::pin!(async {
            out.send(Bytes::from("first")).await.unwrap();
            out.let_out().await;
            out.send(Bytes::from("rest")).await.unwrap();
        });
        let mut seen = Vec::new();
        std::future::poll_fn(|cx| {
            loop {
                let over = answer.as_mut().poll(cx).is_ready();
                let taken = reader.take();
                let nothing = taken.is_none();
                seen.push(taken);
                if over || nothing {
                    return if over { Poll::Ready(()) } else { Poll::Pending };
                }
            }
        })
        .await;
        assert_eq!(seen, [Some(Bytes::from("first")), None, Some(Bytes::from("rest"))]);
    }

    #[tokio::test]
    async fn an_answer_waits_for_its_reader_and_learns_that_it_is_gone() {
        let (out, mut reader) = outlet();
        out.send(Bytes::from("one")).await.unwrap();
        let second = tokio::spawn(async move {
            out.send(Bytes::from("two")).await.unwrap();
            out.send(Bytes::from("three")).await
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished(), "one write is under way at a time");
        assert_eq!(reader.next().await.unwrap(), "one");
        tokio::task::yield_now().await;
        drop(reader);
        assert_eq!(second.await.unwrap(), Err(Gone));
    }
}
