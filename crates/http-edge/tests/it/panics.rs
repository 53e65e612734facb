//! Handlers that panic.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use futures_core::Stream;
use tokio::io::AsyncWriteExt;

use crate::http_test_server::{CLOSE, HttpTestServer, parted, read_to_close, read_until, verdict};

/// Says one thing and panics.
struct Breaking(bool);

impl Stream for Breaking {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        assert!(!self.0, "in the middle of an answer");
        self.0 = true;
        Poll::Ready(Some(Ok(Bytes::from_static(b"so far so good"))))
    }
}

fn test_router() -> Router {
    Router::new()
        .route("/well", get(|| async { "well" }))
        .route("/break", get(|| async { if true { panic!("with a secret") } else { "" } }))
        .route("/break-later", get(|| async { Body::from_stream(Breaking(false)) }))
}

#[tokio::test]
async fn a_panic_ends_its_own_connection_and_nothing_else() {
    let test_server = HttpTestServer::start(test_router(), |_| {}).await;
    let mut bystander = test_server.connect().await;
    bystander.write_all(test_server.request("GET /well", "", "").as_bytes()).await.unwrap();
    read_until(&mut bystander, "well").await;

    let answer = test_server.exchange(test_server.request("GET /break", "", "")).await;
    assert_eq!(verdict(&answer), "500 internal_error");
    assert!(!answer.contains("secret"), "{answer}");

    let answer = test_server.exchange(test_server.request("GET /break-later", "", "")).await;
    let whole = answer.ends_with("0\r\n\r\n");
    assert!(!whole, "a client can tell that the answer is not complete: {answer}");

    bystander.write_all(test_server.request("GET /well", CLOSE, "").as_bytes()).await.unwrap();
    assert_eq!(parted(&read_to_close(&mut bystander).await), (200, "well"));
    test_server.stop().await;
}
