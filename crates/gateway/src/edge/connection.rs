//! One connection: its requests one after the other, each through the guard and then to its face.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http::header::{TRANSFER_ENCODING, UPGRADE};
use http::request::Parts;
use http::{Method, StatusCode};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::time::Instant;

use crate::api_error::ApiError;
use crate::metrics::{Counted, Metrics, Route};

use super::answer::{error_response, finish, in_our_shape};
use super::body::TimedBody;
use super::catch::{CatchPanic, Panicked};
use super::drain::Drain;
use super::guard::{Guard, Verdict};
use super::origins::{grant, mark};
use super::refusal::Refusal;
use super::settings::Limits;
use super::stream::GuardedStream;
use super::visit::{Answering, Visit};

/// More than this waits in memory for neither side.
const BUFFER: usize = 64 * 1024;

/// What all connections share.
pub(super) struct House {
    pub(super) guard: Guard,
    pub(super) limits: Arc<Limits>,
    pub(super) metrics: Arc<Metrics>,
    faces: TowerToHyperService<Router>,
    drain: Drain,
    /// The route of what was answered by no face.
    no_route: Route,
}

impl House {
    pub(super) fn new(
        guard: Guard,
        limits: Arc<Limits>,
        metrics: Arc<Metrics>,
        router: Router,
        drain: Drain,
    ) -> House {
        let faces = TowerToHyperService::new(router.layer(axum::middleware::from_fn(name_route)));
        House { guard, limits, metrics, faces, drain, no_route: Route::from("none") }
    }

    pub(super) async fn attend(self: Arc<House>, stream: GuardedStream, visit: Arc<Visit>) {
        let mut drain = self.drain.clone();
        let mut hyper = http1::Builder::new();
        // The stream keeps the time, and has had the heads counted already.
        hyper.header_read_timeout(None).max_headers(self.limits.headers).max_buf_size(BUFFER);
        let service = Attendant { house: self, visit };
        let mut connection = pin!(hyper.serve_connection(TokioIo::new(stream), service).with_upgrades());
        let ended = tokio::select! {
            biased;
            ended = &mut connection => ended,
            () = drain.started() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            // Its text may quote what the client sent.
            tracing::debug!(timeout = error.is_timeout(), parse = error.is_parse(), "a connection broke off");
        }
    }

    /// The answer of the guard or of a face.
    async fn answer(&self, visit: &Visit, request: http::Request<Incoming>) -> Response {
        let last = is_last(request.headers());
        let (parts, incoming) = request.into_parts();
        let (origin, verdict) = self.guard.judge(&parts, !incoming.is_end_stream());
        let mut response = match verdict {
            Verdict::Pass => self.pass_on(parts, incoming).await,
            Verdict::Refused(refusal) => self.refuse(refusal),
            Verdict::Preflight => {
                let (status, headers) = grant(&parts.headers);
                let mut response = Response::new(Body::empty());
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                response
            }
        };
        mark(response.headers_mut(), origin.as_ref());
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            visit.upgrade();
        } else {
            finish(response.headers_mut(), last);
        }
        response
    }

    async fn pass_on(&self, mut parts: Parts, incoming: Incoming) -> Response {
        parts.extensions.insert(self.drain.clone());
        let body = Body::new(TimedBody::new(incoming, self.limits.body));
        let answer = CatchPanic::new(self.faces.call(Request::from_parts(parts, body)));
        match answer.await {
            Ok(Ok(response)) => in_our_shape(response),
            Ok(Err(never)) => match never {},
            Err(Panicked) => {
                tracing::error!("a handler panicked");
                self.metrics.refused("panic");
                let error = ApiError::server(
                    500,
                    "internal_error",
                    "The server made a mistake in answering this request; it is in the server's log.",
                );
                let mut response = error_response(&error);
                finish(response.headers_mut(), true);
                response
            }
        }
    }

    fn refuse(&self, refusal: Refusal) -> Response {
        tracing::info!(reason = refusal.code(), "refused a request");
        self.metrics.refused(refusal.code());
        let mut response = error_response(&refusal.error(&self.limits));
        finish(response.headers_mut(), refusal.ends_connection());
        response
    }
}

/// Keeps the route that a request was matched with where it can be counted.
async fn name_route(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Some(route) = route {
        response.extensions_mut().insert(route);
    }
    response
}

/// After such a request the stream does not look for another head.
fn is_last(headers: &http::HeaderMap) -> bool {
    headers.contains_key(UPGRADE) || headers.contains_key(TRANSFER_ENCODING)
}

/// Answers the requests of one connection.
struct Attendant {
    house: Arc<House>,
    visit: Arc<Visit>,
}

impl Service<http::Request<Incoming>> for Attendant {
    type Response = Response<CountedBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: http::Request<Incoming>) -> Self::Future {
        let (house, visit) = (self.house.clone(), self.visit.clone());
        let mut count = Count {
            started: Instant::now(),
            method: method_word(request.method()),
            route: house.no_route.clone(),
            status: 499,
            first_byte_sent: false,
            metrics: house.metrics.clone(),
            _in_flight: house.metrics.request_started(),
            _answering: Answering::start(&self.visit),
        };
        // Asked now: once this request is being answered, the head after it may already turn out bad.
        let bad_head = visit.bad_head();
        Box::pin(async move {
            let response = match bad_head {
                Some(refusal) => house.refuse(refusal),
                None => house.answer(&visit, request).await,
            };
            count.status = response.status().as_u16();
            if let Some(route) = response.extensions().get::<MatchedPath>() {
                count.route = Route::from(route.as_str());
            }
            Ok(response.map(|body| CountedBody { body, count }))
        })
    }
}

/// A method as a word of a closed list.
fn method_word(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

/// Counts one request when it is over: answered to the end, or left by its client (status 499).
struct Count {
    started: Instant,
    method: &'static str,
    route: Route,
    status: u16,
    first_byte_sent: bool,
    metrics: Arc<Metrics>,
    _in_flight: Counted,
    _answering: Answering,
}

impl Drop for Count {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        self.metrics.answered(self.method, &self.route, self.status, took);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(
            method = self.method,
            route = &*self.route,
            status = self.status,
            micros,
            "answered a request"
        );
    }
}

/// The body of an answer, counted. Dropped when its last byte is handed over, or when the client is gone.
struct CountedBody {
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
