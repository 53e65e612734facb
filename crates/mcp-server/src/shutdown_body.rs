//! Response body of an event stream that ends at shutdown. Without it, shutdown would wait for a stream that has no
//! other end.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::Frame;
use toolkit::{BoxFuture, CancelToken};

pub(super) struct ShutdownBody {
    body: Body,
    stopped: BoxFuture<'static, ()>,
}

impl ShutdownBody {
    pub(super) fn new(body: Body, stopping: CancelToken) -> ShutdownBody {
        let stopped = async move {
            stopping.cancelled().await;
        };
        ShutdownBody { body, stopped: Box::pin(stopped) }
    }
}

impl http_body::Body for ShutdownBody {
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
