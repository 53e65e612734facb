//! Bodies of answers that a test feeds, and that report when they are dropped.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use futures_core::Stream;
use tokio::sync::{mpsc, oneshot};

/// A stream of an answer.
pub(crate) struct Fed {
    source: Source,
    _alive: Option<oneshot::Sender<()>>,
}

enum Source {
    Silence,
    Flood,
    Channel(mpsc::Receiver<Bytes>),
}

/// The test's end of a stream.
pub(crate) struct Watch(oneshot::Receiver<()>);

impl Fed {
    fn watched(source: Source) -> (Watch, Fed) {
        let (alive, gone) = oneshot::channel();
        (Watch(gone), Fed { source, _alive: Some(alive) })
    }

    /// Says nothing and does not end.
    pub(crate) fn silent() -> (Watch, Fed) {
        Fed::watched(Source::Silence)
    }

    /// Has always more to say.
    pub(crate) fn endless() -> (Watch, Fed) {
        Fed::watched(Source::Flood)
    }

    /// A test_router with this stream, which can be asked for once, at `/events`.
    pub(crate) fn test_router(self) -> Router {
        let once = Arc::new(Mutex::new(Some(self)));
        let take = move || once.lock().unwrap().take().unwrap();
        Router::new()
            .route("/well", get(|| async { "well" }))
            .route("/events", get(|| async move { Body::from_stream(take()) }))
    }
}

impl From<mpsc::Receiver<Bytes>> for Fed {
    fn from(events: mpsc::Receiver<Bytes>) -> Fed {
        Fed { source: Source::Channel(events), _alive: None }
    }
}

impl Watch {
    /// Comes back when the server has let the stream go.
    pub(crate) async fn dropped(self) {
        self.0.await.unwrap_err();
    }
}

impl Stream for Fed {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut self.source {
            Source::Silence => Poll::Pending,
            Source::Flood => Poll::Ready(Some(Ok(Bytes::from_static(&[b'.'; 16 * 1024])))),
            Source::Channel(events) => events.poll_recv(cx).map(|event| event.map(Ok)),
        }
    }
}
