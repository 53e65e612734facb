//! A stream of news that ends with the server. Nothing else would end it, and a server that stops would wait for its
//! reader as long as it waits for anyone.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::Frame;
use toolkit::{BoxFuture, CancelToken};

pub(super) struct UntilStop {
    body: Body,
    stopped: BoxFuture<'static, ()>,
}

impl UntilStop {
    pub(super) fn new(body: Body, stopping: CancelToken) -> UntilStop {
        let stopped = async move {
            stopping.cancelled().await;
        };
        UntilStop { body, stopped: Box::pin(stopped) }
    }
}

impl http_body::Body for UntilStop {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.stopped.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }
}
