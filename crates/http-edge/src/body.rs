//! Request bodies, limited in size and in time.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use crate::api_error::{ApiError, ErrorType};

/// The default limit of a body.
pub const BODY_LIMIT: usize = 32 * 1024 * 1024;

/// Allocated before anything has arrived, at most: a length is only what a client claims.
const INITIAL_CAPACITY: usize = 64 * 1024;

/// Returns the whole body. Fails if it is larger than `limit`, too slow or broken off.
pub async fn read_body(mut body: Body, limit: usize) -> Result<Bytes, ApiError> {
    let claimed = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if claimed > limit {
        return Err(too_large(limit));
    }
    let mut whole = BytesMut::with_capacity(claimed.min(INITIAL_CAPACITY));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| body_error(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit - whole.len() {
            return Err(too_large(limit));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

fn too_large(limit: usize) -> ApiError {
    client_error(413, "body_too_large", format!("The body is too large: at most {limit} bytes are taken."))
}

fn body_error(error: &axum::Error) -> ApiError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if let Some(BodyTimeout(limit)) = error.downcast_ref() {
            let seconds = limit.as_secs();
            return client_error(
                408,
                "body_too_slow",
                format!("The body was not complete after {seconds} seconds."),
            );
        }
        cause = error.source();
    }
    client_error(400, "body_broken_off", "The body ended before its end, or its chunks are malformed.")
}

fn client_error(status: u16, code: &'static str, message: impl Into<String>) -> ApiError {
    ApiError { kind: ErrorType::InvalidRequest, ..ApiError::server(status, code, message) }
}

/// A body missed its deadline.
#[derive(Debug, thiserror::Error)]
#[error("the body was not complete after {0:?}")]
struct BodyTimeout(Duration);

/// A body with a deadline, which starts when the body is first polled and not ready.
pub(super) struct DeadlineBody {
    incoming: Incoming,
    limit: Duration,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl DeadlineBody {
    pub(super) fn new(incoming: Incoming, limit: Duration) -> DeadlineBody {
        DeadlineBody { incoming, limit, deadline: None }
    }
}

impl http_body::Body for DeadlineBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(limit)));
        deadline.as_mut().poll(cx).map(|()| Some(Err(BodyTimeout(limit).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
