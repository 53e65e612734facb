//! The body of a response together with the connection that it arrives on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, RETRY_AFTER, TRANSFER_ENCODING};
use http::{HeaderMap, Response, StatusCode};
use hyper::body::{Body, Incoming};

use super::connection::{ConnectionError, HttpConnection};
use super::connection_pool::ConnectionPool;

/// Dropping it before its end closes the connection, which makes the server stop.
pub(super) struct ResponseBody {
    status: StatusCode,
    retry_after: Option<Duration>,
    body: Incoming,
    /// Another request may follow on the connection.
    reusable: bool,
    /// `None` after the end of the body.
    connection: Option<HttpConnection>,
    pool: Arc<ConnectionPool>,
}

impl ResponseBody {
    /// Fails if the head says more than one thing about where the body ends: a reader that is wrong about it would take
    /// one answer for another.
    pub(super) fn new(
        response: Response<Incoming>,
        connection: HttpConnection,
        pool: Arc<ConnectionPool>,
    ) -> Result<ResponseBody, ConnectionError> {
        let (head, body) = response.into_parts();
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err("the server wants to speak another protocol".into());
        }
        if !has_clear_length(&head.headers) {
            return Err("the answer says in two ways how long it is, or in one that is not known".into());
        }
        // A server that says both may have a proxy in front of it that believed the other.
        let reusable =
            !(head.headers.contains_key(TRANSFER_ENCODING) && head.headers.contains_key(CONTENT_LENGTH));
        Ok(ResponseBody {
            status: head.status,
            retry_after: retry_after(&head.headers),
            body,
            reusable,
            connection: Some(connection),
            pool,
        })
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns how long the server asks clients to wait, if it says so in whole seconds.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns the next chunk, or `None` at the end. Nothing follows an error.
    pub(super) fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        let mut is_driven = false;
        loop {
            let Some(connection) = &mut self.connection else { return Poll::Ready(None) };
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Poll::Ready(Some(Ok(data))),
                    // Trailers mean nothing here.
                    Ok(_) | Err(_) => {}
                },
                Poll::Ready(Some(Err(error))) => {
                    self.connection = None;
                    return Poll::Ready(Some(Err(error.into())));
                }
                Poll::Ready(None) => {
                    self.finish();
                    return Poll::Ready(None);
                }
                Poll::Pending if is_driven => return Poll::Pending,
                Poll::Pending => {
                    connection.poll_driver(cx);
                    is_driven = true;
                }
            }
        }
    }

    fn finish(&mut self) {
        if let Some(mut connection) = self.connection.take()
            && self.reusable
            && connection.is_idle()
        {
            self.pool.give_back(connection);
        }
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u32 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.into()))
}

/// Whether the transfer coding is `chunked` and nothing else, and every length is a plain number. Lengths that differ
/// are an error of hyper's parser already.
fn has_clear_length(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let has_known_coding =
        codings.next().is_none_or(|coding| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"));
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    has_known_coding
        && codings.next().is_none()
        && lengths.all(|length| length.as_bytes().trim_ascii().iter().all(u8::is_ascii_digit))
}
