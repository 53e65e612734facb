//! One connection to a server, on hyper's client for HTTP/1.1.
//!
//! The task that reads an answer polls the connection, too: no other task runs between them, and dropping the answer
//! closes the connection.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};

use super::connector::Transport;

/// Limit of a response head, and of hyper's read buffer.
const HEAD_LIMIT: usize = 64 * 1024;

const MAX_HEADERS: usize = 100;

/// Details for the log only: they name the address.
pub(super) type ConnectionError = Box<dyn std::error::Error + Send + Sync>;

pub(super) type HttpRequest = Request<Full<Bytes>>;

/// The future that reads and writes for one connection.
type ConnectionDriver = Pin<Box<http1::Connection<Transport, Full<Bytes>>>>;

pub(super) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    /// Reads and writes while it is polled. `None` once the connection is closed.
    driver: Option<ConnectionDriver>,
}

impl HttpConnection {
    pub(super) async fn open(transport: Transport) -> Result<HttpConnection, ConnectionError> {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_LIMIT).max_header_size(HEAD_LIMIT).max_headers(MAX_HEADERS);
        let (sender, driver) = builder.handshake(transport).await?;
        Ok(HttpConnection { sender, driver: Some(Box::pin(driver)) })
    }

    /// Sends a request and reads the head of its response. The error holds the request if none of it was sent.
    pub(super) async fn send(
        &mut self,
        request: HttpRequest,
    ) -> Result<http::Response<Incoming>, TrySendError<HttpRequest>> {
        let mut response = Box::pin(self.sender.try_send_request(request));
        let driver = &mut self.driver;
        std::future::poll_fn(|cx| {
            poll_driver(driver, cx);
            response.as_mut().poll(cx)
        })
        .await
    }

    /// Reads and writes as much as is possible now.
    pub(super) fn poll_driver(&mut self, cx: &mut Context<'_>) {
        poll_driver(&mut self.driver, cx);
    }

    /// Whether another request can be sent: the last one is finished on both sides, the server has not hung up, and it
    /// sent nothing that was not asked for.
    pub(super) fn is_idle(&mut self) -> bool {
        // No waker: an idle connection must not keep the memory of the task that used it last.
        self.poll_driver(&mut Context::from_waker(Waker::noop()));
        self.driver.is_some() && self.sender.is_ready()
    }
}

fn poll_driver(driver: &mut Option<ConnectionDriver>, cx: &mut Context<'_>) {
    // An error reaches the caller through the response or its body.
    if let Some(connection) = driver
        && let Poll::Ready(_closed) = connection.as_mut().poll(cx)
    {
        *driver = None;
    }
}
