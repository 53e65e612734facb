//! Counts requests: how many, on which route, with which end, and how long they took.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::Method;
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use crate::metrics::{Counted, Metrics, Route};

use super::visit::{Answering, Visit};

/// The status of a request whose client went away before there was an answer.
const LEFT: u16 = 499;

/// One request, from its head until it is over: answered to the end, or left by its client.
pub(super) struct Count {
    started: Instant,
    method: &'static str,
    route: Route,
    status: u16,
    first_byte_sent: bool,
    metrics: Arc<Metrics>,
    _in_flight: Counted,
    _answering: Answering,
}

impl Count {
    pub(super) fn start(
        metrics: &Arc<Metrics>,
        visit: &Arc<Visit>,
        method: &Method,
        no_route: &Route,
    ) -> Count {
        Count {
            started: Instant::now(),
            method: method_word(method),
            route: no_route.clone(),
            status: LEFT,
            first_byte_sent: false,
            metrics: metrics.clone(),
            _in_flight: metrics.request_started(),
            _answering: Answering::start(visit),
        }
    }

    /// Goes on counting while the answer of this route is taken, or of none.
    pub(super) fn follow(mut self, response: Response, route: Option<Route>) -> Response<CountedBody> {
        self.status = response.status().as_u16();
        if let Some(route) = route {
            self.route = route;
        }
        response.map(|body| CountedBody { body, count: self })
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        self.metrics.answered(self.method, &self.route, self.status, took);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let (method, route, status) = (self.method, &*self.route, self.status);
        tracing::debug!(method, route, status, micros, "answered a request");
    }
}

/// A method as a word of a closed list.
fn method_word(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

/// The body of an answer, counted. Dropped when its last byte is handed over, or when the client is gone.
pub(super) struct CountedBody {
    body: Body,
    count: Count,
}

impl http_body::Body for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let count = &mut self.count;
        if polled.is_ready() && !count.first_byte_sent {
            count.first_byte_sent = true;
            count.metrics.first_byte(&count.route, count.started.elapsed());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
