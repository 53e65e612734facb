//! One connection: its requests one after the other, each through the guard and then to its face.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use envelope::ClientId;
use http::StatusCode;
use http::header::{TRANSFER_ENCODING, UPGRADE};
use http::request::Parts;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;

use crate::api_error::ApiError;
use crate::metrics::{Metrics, Route};

use super::answer::{error_response, finish, in_our_shape};
use super::body::TimedBody;
use super::catch::{Panicked, catch_panic};
use super::client_tokens::Admission;
use super::count::{Count, CountedBody};
use super::drain::Drain;
use super::faces::{Arrival, Faces, OpenFaces};
use super::guard::{Guard, Verdict};
use super::named::route_of;
use super::origins::{grant, mark};
use super::refusal::Refusal;
use super::settings::Limits;
use super::stream::GuardedStream;
use super::visit::{Again, Visit};

/// More than this waits in memory for neither side.
const BUFFER: usize = 64 * 1024;

/// What all connections share.
pub(super) struct House {
    pub(super) guard: Guard,
    pub(super) limits: Arc<Limits>,
    pub(super) metrics: Arc<Metrics>,
    faces: OpenFaces,
    drain: Drain,
    /// The route of what was answered by no face.
    no_route: Route,
}

impl House {
    pub(super) fn new(
        guard: Guard,
        limits: Arc<Limits>,
        metrics: Arc<Metrics>,
        faces: Faces,
        drain: Drain,
    ) -> House {
        House { guard, limits, metrics, faces: faces.open(), drain, no_route: Route::from("none") }
    }

    pub(super) async fn attend(self: Arc<House>, stream: GuardedStream, visit: Arc<Visit>) {
        let mut drain = self.drain.clone();
        let mut hyper = http1::Builder::new();
        // The stream keeps the time, and has had the heads counted already.
        hyper.header_read_timeout(None).max_headers(self.limits.headers).max_buf_size(BUFFER);
        let (house, attended) = (self, visit.clone());
        // Not boxed for each request: the connection has one place for the answer that is being made.
        let service = service_fn(move |request| attended_by(&house, &attended, request));
        let mut connection = pin!(hyper.serve_connection(TokioIo::new(stream), service).with_upgrades());
        let ended = tokio::select! {
            biased;
            ended = to_end(connection.as_mut(), &visit) => ended,
            () = drain.started() => {
                connection.as_mut().graceful_shutdown();
                to_end(connection, &visit).await
            }
        };
        if let Err(error) = ended {
            // Its text may quote what the client sent.
            tracing::debug!(timeout = error.is_timeout(), parse = error.is_parse(), "a connection broke off");
        }
    }

    /// The answer of the guard or of a face, and the route of the latter.
    async fn answer(
        &self,
        visit: &Arc<Visit>,
        request: http::Request<Incoming>,
    ) -> (Response, Option<Route>) {
        let last = is_last(request.headers());
        let (mut parts, incoming) = request.into_parts();
        let (origin, verdict) = self.guard.judge(&parts, !incoming.is_end_stream());
        let (mut response, route) = match verdict {
            Verdict::Pass(client) => {
                // The one place where an identity enters: behind it, nobody reads who a client says it is.
                if let Some(client) = client {
                    parts.extensions.insert(client);
                }
                self.pass_on(visit, parts, incoming).await
            }
            Verdict::Refused(refusal) => (self.refuse(refusal), None),
            Verdict::Preflight => {
                let (status, headers) = grant(&parts.headers);
                let mut response = Response::new(Body::empty());
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                (response, None)
            }
        };
        mark(response.headers_mut(), origin.as_ref());
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            visit.upgrade();
        } else {
            finish(response.headers_mut(), last);
        }
        (response, route)
    }

    async fn pass_on(
        &self,
        visit: &Arc<Visit>,
        mut parts: Parts,
        incoming: Incoming,
    ) -> (Response, Option<Route>) {
        let body = Body::new(TimedBody::new(incoming, self.limits.body));
        let (answered, route) = match self.faces.straight(&parts) {
            Some(straight) => {
                let request = Request::from_parts(parts, body);
                let answered = catch_panic(async { (straight.answer)(request, &Arrival(visit)).await }).await;
                let route = answered.is_ok().then(|| straight.route.clone());
                (answered, route)
            }
            None => {
                if let Some(client) = parts.extensions.get::<ClientId>().cloned() {
                    parts.extensions.insert(Admission::new(client, self.guard.tokens.clone()));
                }
                parts.extensions.insert(Again::new(visit));
                parts.extensions.insert(self.drain.clone());
                match catch_panic(self.faces.router.call(Request::from_parts(parts, body))).await {
                    Ok(Ok(response)) => {
                        let route = route_of(&response);
                        (Ok(response), route)
                    }
                    Ok(Err(never)) => match never {},
                    Err(panicked) => (Err(panicked), None),
                }
            }
        };
        let response = match answered {
            Ok(response) => in_our_shape(response),
            Err(Panicked) => self.apologise(),
        };
        (response, route)
    }

    /// The answer in place of one that a handler panicked over.
    fn apologise(&self) -> Response {
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

    fn refuse(&self, refusal: Refusal) -> Response {
        tracing::info!(reason = refusal.code(), "refused a request");
        self.metrics.refused(refusal.code());
        let mut response = error_response(&refusal.error(&self.limits));
        finish(response.headers_mut(), refusal.ends_connection());
        response
    }
}

/// Drives a connection, and once more at once where its answer asks for that.
async fn to_end<F: Future>(mut connection: Pin<&mut F>, visit: &Visit) -> F::Output {
    std::future::poll_fn(|cx| {
        loop {
            let polled = connection.as_mut().poll(cx);
            visit.drop_spent();
            if polled.is_ready() || !visit.take_again() {
                return polled;
            }
        }
    })
    .await
}

/// After such a request the stream does not look for another head.
fn is_last(headers: &http::HeaderMap) -> bool {
    headers.contains_key(UPGRADE) || headers.contains_key(TRANSFER_ENCODING)
}

/// The answer to one request of a connection.
fn attended_by(
    house: &Arc<House>,
    visit: &Arc<Visit>,
    request: http::Request<Incoming>,
) -> impl Future<Output = Result<Response<CountedBody>, Infallible>> + Send + use<> {
    let (house, visit) = (house.clone(), visit.clone());
    let count = Count::start(&house.metrics, &visit, request.method(), &house.no_route);
    // Asked now: once this request is being answered, the head after it may already turn out bad.
    let bad_head = visit.bad_head();
    async move {
        let (response, route) = match bad_head {
            Some(refusal) => (house.refuse(refusal), None),
            None => house.answer(&visit, request).await,
        };
        Ok(count.follow(response, route))
    }
}
