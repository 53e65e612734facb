//! A body that wants what it gave to be sent before it says more.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use bytes::Bytes;
use futures_core::Stream;
use gateway::edge::{Again, Faces};
use http::Method;

use crate::rig::Rig;

/// Nobody wakes the task of this one.
struct Pausing {
    again: Again,
    polls: usize,
}

impl Stream for Pausing {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.polls += 1;
        match self.polls {
            1 => Poll::Ready(Some(Ok(Bytes::from_static(b"first")))),
            2 => {
                self.again.ask();
                Poll::Pending
            }
            3 => Poll::Ready(Some(Ok(Bytes::from_static(b"rest")))),
            _ => Poll::Ready(None),
        }
    }
}

#[tokio::test]
async fn a_body_that_asks_for_it_is_polled_again_without_being_woken() {
    let pausing = |again| Body::from_stream(Pausing { again, polls: 0 });
    let routed = move |Extension(again): Extension<Again>| async move { pausing(again) };
    let faces = Faces::from(Router::new().route("/routed", get(routed)));
    let faces = faces.straight(Method::GET, "/straight", move |_, arrival| {
        let again = arrival.again();
        Box::pin(async move { Response::new(pausing(again)) })
    });
    let rig = Rig::start(faces, |_| {}).await;
    for line in ["GET /routed", "GET /straight"] {
        let request = rig.request(line, "connection: close\r\n", "");
        let answer = tokio::time::timeout(Duration::from_secs(60), rig.exchange(request)).await;
        let answer = answer.expect("it was never polled again");
        assert!(answer.ends_with("\r\n\r\n5\r\nfirst\r\n4\r\nrest\r\n0\r\n\r\n"), "{answer}");
    }
    rig.stop().await;
}
