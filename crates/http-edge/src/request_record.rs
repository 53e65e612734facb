//! Metrics of one request: its route, its status and how long it took.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::Method;
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use crate::connection_state::{AnswerGuard, ConnectionState};
use crate::metrics::{GaugeGuard, Metrics, RoutePattern};
use crate::request_id::RequestId;

/// The status of a request whose client disconnected before there was an answer.
const CLIENT_GONE: u16 = 499;

/// One request from its head to its end: answered completely, or abandoned by its client. Counted when dropped.
pub(super) struct RequestRecord {
    id: RequestId,
    started: Instant,
    method: &'static str,
    route: RoutePattern,
    status: u16,
    first_byte_sent: bool,
    metrics: Arc<Metrics>,
    _in_flight: GaugeGuard,
    _answering: AnswerGuard,
}

impl RequestRecord {
    pub(super) fn start(
        metrics: &Arc<Metrics>,
        state: &Arc<ConnectionState>,
        method: &Method,
        no_route: &RoutePattern,
        id: RequestId,
    ) -> RequestRecord {
        RequestRecord {
            id,
            started: Instant::now(),
            method: method_label(method),
            route: no_route.clone(),
            status: CLIENT_GONE,
            first_byte_sent: false,
            metrics: metrics.clone(),
            _in_flight: metrics.request_started(),
            _answering: AnswerGuard::start(state),
        }
    }

    /// Moves the record into the body of the answer, so that it ends with it.
    pub(super) fn follow(
        mut self,
        response: Response,
        route: Option<RoutePattern>,
    ) -> Response<RecordedBody> {
        self.status = response.status().as_u16();
        if let Some(route) = route {
            self.route = route;
        }
        response.map(|body| RecordedBody { body, record: self })
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        self.metrics.answered(self.method, &self.route, self.status, took);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let (method, route, status) = (self.method, &*self.route, self.status);
        tracing::debug!(request = self.id.as_str(), method, route, status, micros, "answered a request");
    }
}

/// The method as a label from a closed list.
fn method_label(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

/// The body of a recorded answer. Dropped when its last byte is handed over, or when the client is gone.
pub(super) struct RecordedBody {
    body: Body,
    record: RequestRecord,
}

impl http_body::Body for RecordedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let record = &mut self.record;
        if polled.is_ready() && !record.first_byte_sent {
            record.first_byte_sent = true;
            record.metrics.first_byte(&record.route, record.started.elapsed());
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
