//! One connection: its requests one after the other, each through the guard and then to the router.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use envelope::ClientId;
use futures_util::FutureExt;
use http::StatusCode;
use http::header::{TRANSFER_ENCODING, UPGRADE};
use http::request::Parts;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tower_service::Service;

use crate::api_error::{ApiError, error_response};
use crate::auth::Admission;
use crate::body::DeadlineBody;
use crate::connection_state::ConnectionState;
use crate::guard::{GuardVerdict, RequestGuard};
use crate::metrics::{Metrics, RoutePattern};
use crate::middleware::{
    matched_route, preflight_response, set_headers, with_error_body, with_matched_route,
};
use crate::origins::{grant_preflight, set_allowed_origin};
use crate::refusal::RefusalReason;
use crate::request_id::{REQUEST_ID, RequestIdGenerator};
use crate::request_record::RequestRecord;
use crate::settings::ConnectionLimits;
use crate::shutdown::ShutdownSignal;
use crate::stream::GuardedStream;

/// The most that hyper buffers in each direction.
const BUFFER: usize = 64 * 1024;

/// Serves connections. Shared by all of them.
pub(super) struct HttpServer {
    guard: RequestGuard,
    pub(super) limits: Arc<ConnectionLimits>,
    pub(super) metrics: Arc<Metrics>,
    router: Router,
    shutdown: ShutdownSignal,
    /// Counted as the route of requests that reached no handler.
    no_route: RoutePattern,
    request_ids: RequestIdGenerator,
}

impl HttpServer {
    pub(super) fn new(
        guard: RequestGuard,
        limits: Arc<ConnectionLimits>,
        metrics: Arc<Metrics>,
        router: Router,
        shutdown: ShutdownSignal,
    ) -> HttpServer {
        let router = with_matched_route(router);
        HttpServer {
            guard,
            limits,
            metrics,
            router,
            shutdown,
            no_route: RoutePattern::from("none"),
            request_ids: RequestIdGenerator::new(),
        }
    }

    pub(super) async fn serve_connection(
        self: Arc<HttpServer>,
        stream: GuardedStream,
        state: Arc<ConnectionState>,
    ) {
        let mut shutdown = self.shutdown.clone();
        let mut hyper = http1::Builder::new();
        // The stream has its own timeouts, and has counted the headers already.
        hyper.header_read_timeout(None).max_headers(self.limits.headers).max_buf_size(BUFFER);
        let service = service_fn(|mut request: http::Request<Incoming>| {
            let (server, state) = (self.clone(), state.clone());
            let id = self.request_ids.next_id();
            request.extensions_mut().insert(id.clone());
            let record =
                RequestRecord::start(&self.metrics, &state, request.method(), &self.no_route, id.clone());
            // Read now: once this request is being answered, the head after it may already be bad.
            let bad_head = state.bad_head();
            async move {
                let (mut response, route) = match bad_head {
                    Some(reason) => (server.refuse(reason), None),
                    None => server.respond(&state, request).await,
                };
                if let Some(id) = id.header() {
                    response.headers_mut().insert(REQUEST_ID, id);
                }
                Ok::<_, Infallible>(record.follow(response, route))
            }
        });
        let mut connection = pin!(hyper.serve_connection(TokioIo::new(stream), service).with_upgrades());
        let mut stopping = false;
        let ended = loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => break ended,
                // Polls hyper once more, which reads on: that starts the idle timeout.
                () = state.answer_ended() => {}
                () = shutdown.started(), if !stopping => {
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        };
        if let Err(error) = ended {
            // The text of the error may quote the client, so it is not logged.
            tracing::debug!(timeout = error.is_timeout(), parse = error.is_parse(), "a connection broke off");
        }
    }

    /// Answers one request. Returns the route too, if the router found one.
    async fn respond(
        &self,
        state: &ConnectionState,
        request: http::Request<Incoming>,
    ) -> (Response, Option<RoutePattern>) {
        let is_last = is_last(request.headers());
        let (parts, incoming) = request.into_parts();
        let (origin, verdict) = self.guard.judge(&parts, !incoming.is_end_stream());
        let (mut response, route) = match verdict {
            GuardVerdict::Pass(client) => self.route(parts, incoming, client).await,
            GuardVerdict::Refused(reason) => (self.refuse(reason), None),
            GuardVerdict::Preflight => (preflight_response(grant_preflight(&parts.headers)), None),
        };
        set_allowed_origin(response.headers_mut(), origin.as_ref());
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            state.upgrade();
        } else {
            set_headers(response.headers_mut(), is_last);
        }
        (response, route)
    }

    async fn route(
        &self,
        mut parts: Parts,
        incoming: Incoming,
        client: Option<ClientId>,
    ) -> (Response, Option<RoutePattern>) {
        // Identities enter here and nowhere else: handlers never read who a client claims to be.
        if let Some(client) = client {
            parts.extensions.insert(Admission::new(client.clone(), self.guard.tokens.clone()));
            parts.extensions.insert(client);
        }
        parts.extensions.insert(self.shutdown.clone());
        let body = Body::new(DeadlineBody::new(incoming, self.limits.body));
        let routed = self.router.clone().call(Request::from_parts(parts, body));
        // The future is never polled again after a panic, so a half-changed state is never seen.
        match AssertUnwindSafe(routed).catch_unwind().await {
            Ok(Ok(response)) => {
                let route = matched_route(&response);
                (with_error_body(response), route)
            }
            Ok(Err(never)) => match never {},
            Err(_panic) => (self.panic_response(), None),
        }
    }

    /// The answer to a request whose handler panicked. The panic's message may hold anything, so it is not used.
    fn panic_response(&self) -> Response {
        tracing::error!("a handler panicked");
        self.metrics.refused("panic");
        let error = ApiError::server(
            500,
            "internal_error",
            "The server made a mistake in answering this request; it is in the server's log.",
        );
        let mut response = error_response(&error);
        set_headers(response.headers_mut(), true);
        response
    }

    fn refuse(&self, reason: RefusalReason) -> Response {
        tracing::info!(reason = reason.code(), "refused a request");
        self.metrics.refused(reason.code());
        let mut response = error_response(&reason.error(&self.limits));
        set_headers(response.headers_mut(), reason.ends_connection());
        response
    }
}

/// Whether the stream reads no other head after this request.
fn is_last(headers: &http::HeaderMap) -> bool {
    headers.contains_key(UPGRADE) || headers.contains_key(TRANSFER_ENCODING)
}
