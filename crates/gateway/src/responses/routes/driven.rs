//! A body that is written by an answer as it is read.
//!
//! Whoever sends the body polls the answer: no task in between, nothing runs ahead of the reader, and a client that
//! goes away takes its answer with it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};

use crate::responses::answer::Outlet;

pub(super) struct Driven {
    /// Gone once it has ended.
    answer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    outlet: Outlet,
}

impl Driven {
    pub(super) fn new(answer: impl Future<Output = ()> + Send + 'static, outlet: Outlet) -> Driven {
        Driven { answer: Some(Box::pin(answer)), outlet }
    }
}

impl Body for Driven {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(bytes) = self.outlet.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if let Some(answer) = &mut self.answer
            && answer.as_mut().poll(cx).is_ready()
        {
            self.answer = None;
        }
        match self.outlet.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None if self.answer.is_none() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}
